package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkGraph checks what every graph must satisfy.
func checkGraph(t *testing.T, v *System, g *Graph) {
	var all []int
	for _, n := range v.Nodes[NodeGPU] {
		all = append(all, n.GPU.Rank)
	}
	slices.Sort(all)
	heads := map[int]bool{}
	for _, ch := range g.Channels {
		if g.ID == GraphNVLS {
			require.False(t, heads[ch.Ranks[0]], "a head twice")
			heads[ch.Ranks[0]] = true
		} else {
			require.Equal(t, all, slices.Sorted(slices.Values(ch.Ranks)))
		}
		require.Equal(t, v.Inter, len(ch.Nets) == 2)
		if v.Inter && !g.Simple {
			checkPorts(t, v, g, ch.Nets)
		}
		for i, from := range ch.Ranks {
			if g.Simple || i == 0 || g.Pattern == PatternCollNetDirect {
				continue
			}
			require.LessOrEqual(t, v.Path(ch.Ranks[i-1], from).Type, g.TypeIntra)
		}
	}
	require.LessOrEqual(t, len(g.Channels), g.MaxChannels)
	if g.Pattern == PatternRing && g.CrossNIC == CrossNICPairs {
		for c := 1; c < len(g.Channels); c += 2 {
			a, b := g.Channels[c-1].Nets, g.Channels[c].Nets
			require.Equal(t, []int64{a[1], a[0]}, b, "a pair that does not swap ports")
		}
	}
	if g.Simple {
		return
	}
	// The ledger rounds what is left of a link to thousandths each time.
	for l, load := range loadsOf(v, g) {
		require.LessOrEqual(t, load.bw, float64(l.BW)+0.001*float64(load.times+1), "%v takes more than a link of %v has", g, l)
	}
}

// checkPorts checks the ports by which a channel comes in and goes out.
func checkPorts(t *testing.T, v *System, g *Graph, ports []int64) {
	var ends []*Net
	for _, key := range ports {
		i := slices.IndexFunc(v.Nodes[NodeNET], func(n *Node) bool { return n.key() == key })
		ends = append(ends, v.Nodes[NodeNET][i].Net)
	}
	in, out := ends[0], ends[1]
	require.True(t, in.Plane < 0 || out.Plane < 0 || in.Plane == out.Plane, "from one plane to another")
	if g.Pattern == PatternTree || g.Pattern == PatternNVLS || g.Pattern == PatternCollNetDirect {
		require.True(t, g.Pattern != PatternTree || in == out)
		require.True(t, g.ID == GraphNVLS || g.ID == GraphTree || in.Coll, "a port that cannot reduce")
	}
	if g.CrossNIC == CrossNICNever {
		if in.Rail >= 0 && out.Rail >= 0 {
			require.Equal(t, in.Rail, out.Rail, "from one rail to another")
		} else {
			require.Equal(t, [2]uint64{in.GUID, uint64(in.Port)}, [2]uint64{out.GUID, uint64(out.Port)}, "from one port to another")
		}
	}
}

// TestSearchInvariants searches random machines, alone and among others.
func TestSearchInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 80
	if testing.Short() {
		rounds = 8
	}
	found, pairs := map[GraphID]int{}, 0
	for range rounds {
		n := 1 + r.IntN(8)
		s := randomSystem(t, r, n)
		n = s.NRanks()
		v, err := s.View(Params{NRanks: n * (1 + r.IntN(2))})
		require.NoError(t, err)
		p := SearchParams{CrossNIC: CrossNIC(r.IntN(3)), CollNet: v.Inter, NVLS: true}
		graphs := Search(v, p)
		for id, g := range graphs {
			require.Equal(t, GraphID(id), g.ID)
			checkGraph(t, v, g)
			if len(g.Channels) > 0 && !g.Simple {
				found[g.ID]++
			}
		}
		if ring := graphs[GraphRing]; ring.CrossNIC == CrossNICPairs && len(ring.Channels) > 1 {
			pairs++
		}
		require.NotEmpty(t, graphs[GraphRing].Channels)
		require.NotEmpty(t, graphs[GraphTree].Channels)
		require.Equal(t, graphs, Search(v, p), "the same again")

		// Other numbers for the ranks give the same graphs with those numbers.
		numbers := r.Perm(n)
		for _, gpu := range v.Nodes[NodeGPU] {
			gpu.GPU.Rank = numbers[gpu.GPU.Rank]
		}
		for id, g := range Search(v, p) {
			for c, ch := range g.Channels {
				for i, rank := range graphs[id].Channels[c].Ranks {
					require.Equal(t, numbers[rank], ch.Ranks[i])
				}
			}
		}
	}
	if testing.Short() {
		// Few rounds need not come by every kind of graph.
		return
	}
	for id := range GraphID(NumGraphs) {
		require.Positive(t, found[id], "no graph for %s", id)
	}
	require.Positive(t, pairs, "no ring across network cards")
}

// searchRing returns NCCL's rings of all GPUs of a host that needs no network.
func searchRing(s *System) (*Graph, error) {
	l, err := ConnectHost(s, false)
	if err != nil {
		return nil, err
	}
	return l.Graphs(0)[GraphRing], nil
}

// checkRings checks what every ring graph of a system that is alone satisfies.
func checkRings(t *testing.T, s *System, g *Graph) {
	v, err := s.View(Params{NoIntraNet: true})
	require.NoError(t, err)
	require.Equal(t, PatternRing, g.Pattern)
	require.Equal(t, s.NRanks(), g.NRanks)
	require.NotEmpty(t, g.Channels)
	require.Positive(t, g.BWIntra)
	checkGraph(t, v, g)
	for c := range g.Channels {
		require.Equal(t, g.Channels[c].Ranks, g.Ring(c+len(g.Channels)))
	}
}

// twoGPUs returns a machine of two GPUs, each below its own CPU, with that many
// links to an NVSwitch.
func twoGPUs(t *testing.T, sm, nvlinks int, cpu string) *System {
	var file strings.Builder
	file.WriteString(`<system version="1">`)
	for i := range 2 {
		fmt.Fprintf(&file, `<cpu numaid="%d" arch="x86_64" %s><pci busid="0:%d:0.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="%d" rank="%d" gdr="1">`, i, cpu, i, i, sm, i)
		if nvlinks > 0 {
			fmt.Fprintf(&file, `<nvlink target="0:f0:0.0" count="%d" tclass="0x068000"/>`, nvlinks)
		}
		file.WriteString(`</gpu></pci></cpu>`)
	}
	file.WriteString(`</system>`)
	s, err := parseSystem("two", []byte(file.String()))
	require.NoError(t, err)
	return s
}

// TestChannels: the expected channels and speeds are those of NCCL for links
// that carry that much (NCCL v2.30, graph dumps of such machines).
func TestChannels(t *testing.T) {
	const (
		skylake = `vendor="GenuineIntel" familyid="6" modelid="85"`
		epyc    = `vendor="AuthenticAMD"`
	)
	for _, c := range []struct {
		name        string
		sm, nvlinks int
		cpu         string
		channels    int
		bw          float32
		hop         PathType
	}{
		{"H100", 90, 18, skylake, 12, 30, PathNVL},
		{"H800", 90, 8, skylake, 8, 20, PathNVL},
		{"A100", 80, 12, epyc, 12, 20, PathNVL},
		{"B200", 100, 18, skylake, 16, 45, PathNVL},
		{"A6000 with a bridge", 86, 4, skylake, 2, 20, PathNVL},
		{"between Skylake sockets", 80, 0, skylake, 1, 10, PathSYS},
		{"between EPYC sockets", 89, 0, epyc, 1, 15, PathSYS},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGPUs(t, c.sm, c.nvlinks, c.cpu)
			g, err := searchRing(s)
			require.NoError(t, err)
			checkRings(t, s, g)
			require.Len(t, g.Channels, c.channels)
			require.Equal(t, c.bw, g.BWIntra)
			require.Equal(t, c.hop, g.TypeIntra)
		})
	}
}

// TestPairs: where each GPU has a port beside it and the way to the others' is
// slow, rings go out by another port than they came in, and the next comes in there.
func TestPairs(t *testing.T) {
	node := func(i int) string {
		return bridge(i, card(i, 90, toGPU((i+1)%3), toGPU((i+2)%3)), port(i))
	}
	s, err := parseSystem("three", []byte(file(arm, node(0), node(1), node(2))))
	require.NoError(t, err)
	v, err := s.View(Params{NRanks: 6, NoPXN: true})
	require.NoError(t, err)
	g := Search(v, SearchParams{CrossNIC: CrossNICPairs})[GraphRing]
	checkGraph(t, v, g)
	require.Equal(t, CrossNICPairs, g.CrossNIC)
	require.Greater(t, len(g.Channels), 1)
	require.NotEqual(t, g.Channels[0].Nets[0], g.Channels[0].Nets[1])
}

// TestNVLSHead: a head takes from the NVSwitch what every GPU does and as much
// again, so four channels take five shares of 82.4 GB/s.
func TestNVLSHead(t *testing.T) {
	link := strings.Replace(toSwitch, `count="12"`, `count="4"`, 1)
	s, err := parseSystem("four", []byte(file(intel, card(0, 90, link)+card(1, 90, link)+card(2, 90, link)+card(3, 90, link))))
	require.NoError(t, err)
	v, err := s.View(Params{})
	require.NoError(t, err)
	g := Search(v, SearchParams{NVLS: true})[GraphNVLS]
	checkGraph(t, v, g)
	require.Len(t, g.Channels, 4)
	require.EqualValues(t, 15, g.BWIntra)
}

// TestSlowLink: where links carry less than any channel speed there is one
// channel in the order of the system.
func TestSlowLink(t *testing.T) {
	file := strings.Replace(oneGPU, "</cpu>", `<pci busid="0:2:0.0" class="0x030200" link_speed="2.5 GT/s PCIe" link_width="1"><gpu dev="1" sm="90" rank="1" gdr="1"/></pci></cpu>`, 1)
	s, err := parseSystem("slow", []byte(file))
	require.NoError(t, err)
	g, err := searchRing(s)
	require.NoError(t, err)
	require.True(t, g.Simple)
	require.Equal(t, "ring: 1 channel of 0.1 GB/s, SYS\n  channel 0: 0 1\n", g.String())
}

// TestConnectHost: the ranks of a host are one node, whatever the network could do.
func TestConnectHost(t *testing.T) {
	for _, name := range Builtins() {
		s, err := Builtin(name)
		require.NoError(t, err)
		v, err := s.View(Params{NoIntraNet: true})
		require.NoError(t, err)
		for _, better := range []bool{false, true} {
			want := Search(v, SearchParams{CrossNIC: CrossNICPairs, Better: better})
			l, err := ConnectHost(s, better)
			require.NoError(t, err)
			require.Equal(t, 1, l.NNodes())
			require.Equal(t, want[GraphRing], l.Graphs(0)[GraphRing], name)
			require.Equal(t, min(2*len(want[GraphRing].Channels), MaxChannels), l.Channels)
		}
	}
}

func TestNoRingAcrossHosts(t *testing.T) {
	two := strings.Replace(oneGPU, "</system>", strings.NewReplacer("numaid", `host_hash="0x2" numaid`, `rank="0"`, `rank="1"`).Replace(
		oneGPU[strings.Index(oneGPU, "  <cpu"):]), 1)
	s, err := parseSystem("two", []byte(two))
	require.NoError(t, err)
	require.Len(t, s.Hosts, 2)
	// Both are on one NVLink fabric.
	g, err := searchRing(s)
	require.NoError(t, err)
	require.Equal(t, PathNVL, g.TypeIntra)

	s, err = parseSystem("two", []byte(strings.ReplaceAll(two, `tclass="0x068000"`, `tclass="0x030200"`)))
	require.NoError(t, err)
	_, err = ConnectHost(s, false)
	require.EqualError(t, err, "two: no path between the GPUs of ranks 0 and 1: a ring needs one host, or one NVLink fabric")
}
