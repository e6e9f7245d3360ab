package topo

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// graphsOfTwo is a graph file of the built-in machine h200x2.
const graphsOfTwo = `<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="30" speedinter="1.2" latencyinter="0" typeintra="NVL" typeinter="PHB" samechannels="1">
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="0"/>
      <gpu dev="0x1" rank="1"/>
      <net dev="0"/>
    </channel>
    <channel>
      <net dev="0"/>
      <gpu dev="0" rank="0"/>
      <gpu dev="0x1" rank="1"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="1" pattern="1" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="4" pattern="6" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="2" pattern="3" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="3" pattern="5" crossnic="0" nchannels="1" speedintra="60" speedinter="60" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="0">
    <channel>
      <gpu dev="0x1" rank="1"/>
    </channel>
  </graph>
</graphs>
`

func TestParseGraphs(t *testing.T) {
	s, err := Builtin("h200x2")
	require.NoError(t, err)
	graphs, err := ParseGraphs("g.xml", []byte(graphsOfTwo), s)
	require.NoError(t, err)
	channel := Channel{Ranks: []int{0, 1}, Nets: []int64{0, 0}}
	require.Equal(t, &Graph{
		ID: GraphRing, Pattern: PatternRing, NRanks: 2, Channels: []Channel{channel, channel}, BWIntra: 30, BWInter: 1.2,
		TypeIntra: PathNVL, TypeInter: PathPHB, SameChannels: true, MinChannels: 2, MaxChannels: 2, MinSM: 90, MaxSM: 90, RanksPerGPU: 1,
	}, graphs[GraphRing])
	require.Equal(t, []Channel{{Ranks: []int{1}}}, graphs[GraphNVLS].Channels)
	require.Nil(t, graphs[GraphTree])
	var b bytes.Buffer
	require.NoError(t, WriteGraphs(&b, graphs, s))
	require.Equal(t, graphsOfTwo, b.String())

	// Without ranks GPUs are known by their device.
	byDev, err := ParseGraphs("g.xml", []byte(strings.NewReplacer(` rank="0"`, "", ` rank="1"`, "").Replace(graphsOfTwo)), s)
	require.NoError(t, err)
	require.Equal(t, graphs, byDev)
}

func TestParseGraphsErrors(t *testing.T) {
	s, err := Builtin("h200x2")
	require.NoError(t, err)
	for _, c := range []struct{ name, old, new, want string }{
		{"a topology", graphsOfTwo, oneGPU, `g.xml:1:1: the root element is <system>; a graph file is XML with the root element <graphs version="1">`},
		{"version", `version="1"`, `version="2"`, `g.xml:1:9: version 2; version 1 is allowed`},
		{"id", `id="1"`, `id="5"`, `g.xml:16:10: <graph> id="5" is out of range; 0 to 4 is allowed`},
		{"graph twice", `id="1" pattern="1"`, `id="0" pattern="4"`, `g.xml:16:3: graph 0 (ring) again; it is at line 2; each graph is described once`},
		{"pattern", `id="0" pattern="4"`, `id="0" pattern="3"`, `g.xml:2:3: pattern 3 (tree) of graph 0 (ring); pattern 4 is allowed`},
		{"pattern of one GPU", `id="3" pattern="5"`, `id="3" pattern="3"`, `g.xml:19:3: pattern 3 (tree) of graph 3 (nvls) with 2 GPUs; pattern 5 is allowed`},
		{"path type", `"PHB"`, `"FAR"`, `g.xml:2:3: unknown path type "FAR" (allowed: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS); correct typeinter`},
		{"speed", `speedintra="30"`, `speedintra="-1"`, `g.xml:2:56: <graph> speedintra="-1" is out of range; a finite number, not below 0, is allowed`},
		{"no speed", `speedintra="30"`, `speedintra="NaN"`, `g.xml:2:56: <graph> speedintra="NaN" is out of range; a finite number, not below 0, is allowed`},
		{"count", `nchannels="2"`, `nchannels="3"`, `g.xml:2:3: nchannels=3, and 2 <channel>; the two must agree`},
		{"GPU twice", `<gpu dev="0x1" rank="1"/>`, `<gpu dev="0" rank="0"/>`, `g.xml:6:7: the GPU of rank 0 again; it is at line 5; a channel has each GPU once`},
		{"GPU missing", `<gpu dev="0x1" rank="1"/>`, ``, `g.xml:3:5: a channel of 1 GPUs; a channel of graph 0 (ring) has 2 here; was the file written for another machine?`},
		{"rank", `rank="1"`, `rank="7"`, `g.xml:6:7: rank 7 is not on the node that reads the file; h200x2 has ranks 0-1`},
		{"device", `dev="0x1" rank="1"`, `dev="0x9"`, `g.xml:6:7: h200x2 has no GPU 0x9; was the file written for another machine?`},
		{"port", `<net dev="0"/>`, `<net dev="0x63"/>`, `g.xml:4:7: h200x2 has no network port 0x63; was the file written for another machine?`},
		{"one card", `<net dev="0"/>`, ``, `g.xml:3:5: a channel of 1 network cards; a channel has two, the first and the last, or none`},
		{"truncated", `  </graph>`, ``, `g.xml:16:3: <graph> in <graph>; <graph> holds <channel>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, graphsOfTwo, c.old)
			_, err := ParseGraphs("g.xml", []byte(strings.Replace(graphsOfTwo, c.old, c.new, 1)), s)
			require.EqualError(t, err, c.want)
			var fileError *FileError
			require.ErrorAs(t, err, &fileError)
		})
	}
}

// TestGraphFileOfOneNode: a file that was written for one node says nothing of how
// several are joined.
func TestGraphFileOfOneNode(t *testing.T) {
	s, err := Builtin("h200x2")
	require.NoError(t, err)
	alone := strings.ReplaceAll(graphsOfTwo, "      <net dev=\"0\"/>\n", "")
	for nodes, want := range map[int]string{
		1: "",
		2: "g.xml:3:5: a channel of 0 network cards; channels that lead to other nodes have two; was the file written for one node alone?",
	} {
		v, err := s.View(Params{NRanks: nodes * s.NRanks()})
		require.NoError(t, err)
		_, err = ParseGraphs("g.xml", []byte(alone), v)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
}

// TestPortNames: graphs name ports with their hosts, of which the last are negative
// numbers.
func TestPortNames(t *testing.T) {
	for host, want := range map[int]string{0: "7", 1: "7 of host 1", maxHosts - 1: "7 of host 255"} {
		require.Equal(t, want, netName((&Node{Host: host, ID: 7}).key()))
	}
	require.Equal(t, "none", netName(none))
}

// TestGraphChannelLimits: a ring has half the channels of a communicator, which
// runs each twice.
func TestGraphChannelLimits(t *testing.T) {
	s, err := Builtin("h200x2")
	require.NoError(t, err)
	channel := `<channel><gpu dev="0"/><gpu dev="1"/></channel>`
	many := strings.Replace(graphsOfTwo, `nchannels="2"`, `nchannels="33"`, 1)
	many = strings.Replace(many, "<channel>", strings.Repeat(channel, 31)+"<channel>", 1)
	_, err = ParseGraphs("g.xml", []byte(many), s)
	require.EqualError(t, err, `g.xml:2:3: 33 channels of graph 0 (ring); at most 32 are allowed`)
}

func TestWriteGraphsRefuses(t *testing.T) {
	s, err := Builtin("h200x2")
	require.NoError(t, err)
	graphs := Graphs{GraphRing: {Pattern: PatternRing, Channels: []Channel{{Ranks: []int{0, 2}}}}}
	var b bytes.Buffer
	require.ErrorContains(t, WriteGraphs(&b, &graphs, s), "the ring graph has rank 2, which the system lacks")
	require.Zero(t, b.Len())
}

// FuzzParseGraphs: whatever the bytes, no panic; what is read is written and read
// to the same.
func FuzzParseGraphs(f *testing.F) {
	f.Add([]byte(graphsOfTwo))
	f.Add([]byte(strings.ReplaceAll(graphsOfTwo, ` rank="1"`, "")))
	f.Add([]byte(`<graphs version="1"/>`))
	s, err := Builtin("h200x2")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		graphs, err := ParseGraphs("g.xml", data, s)
		if err != nil {
			var fileError *FileError
			require.ErrorAs(t, err, &fileError)
			return
		}
		var once, twice bytes.Buffer
		require.NoError(t, WriteGraphs(&once, graphs, s))
		again, err := ParseGraphs("g.xml", once.Bytes(), s)
		require.NoError(t, err, once.String())
		require.NoError(t, WriteGraphs(&twice, again, s))
		require.Equal(t, once.String(), twice.String())
	})
}
