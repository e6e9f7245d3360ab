package topo

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/golden"
)

func TestBuiltins(t *testing.T) {
	require.Equal(t, []string{"dgx-a100", "dgx-h100", "h200x2", "pcie8"}, Builtins())
	for _, name := range Builtins() {
		s, err := Builtin(name)
		require.NoError(t, err)
		require.Empty(t, s.Notes, name)
		for n := 1; n <= s.NRanks(); n++ {
			first, err := s.FirstGPUs(n)
			require.NoError(t, err)
			require.Equal(t, n, first.NRanks())
			g, err := searchRing(first)
			require.NoError(t, err)
			checkRings(t, first, g)
		}
		_, err = s.FirstGPUs(s.NRanks() + 1)
		require.ErrorContains(t, err, strconv.Itoa(s.NRanks()+1)+" GPUs of "+name+"; it has")
	}
}

// TestScript runs the commands of golden/topo/*.txt: "tree" prints a system,
// "rings" the rings of its first GPUs, "place" those of ranks placed on GPUs,
// "paths" the type and bandwidth between each two ranks, "matrix" what a rank sees
// on so many hosts.
func TestScript(t *testing.T) {
	for _, file := range []string{"topo/machines.txt", "topo/rings.txt"} {
		golden.Script(t, file, func(input string) string { return runCommand(t, input) })
	}
}

func runCommand(t *testing.T, input string) string {
	words := strings.Fields(input)
	require.GreaterOrEqual(t, len(words), 2, "%q", input)
	s, err := scriptMachine(words[1])
	if err != nil {
		return err.Error()
	}
	switch words[0] {
	case "tree":
		return s.String()
	case "rings":
		n, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		if s, err = s.FirstGPUs(n); err != nil {
			return err.Error()
		}
	case "place":
		var buses []BusID
		for _, word := range words[2:] {
			rank, err := strconv.Atoi(word)
			require.NoError(t, err)
			buses = append(buses, s.RankGPU(rank).GPU.BusID)
		}
		if s, err = s.Place(buses); err != nil {
			return err.Error()
		}
	case "matrix":
		hosts, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		v, err := s.View(Params{NRanks: hosts * s.NRanks()})
		require.NoError(t, err)
		return v.Matrix()
	case "paths":
		var b strings.Builder
		for from := range s.NRanks() {
			for to := range s.NRanks() {
				p := s.Path(from, to)
				b.WriteString(" " + p.Type.String() + "/" + gbs(p.BW))
			}
			b.WriteString("\n")
		}
		return b.String()
	default:
		t.Fatalf("unknown command %q", input)
	}
	g, err := searchRing(s)
	if err != nil {
		return err.Error()
	}
	return g.String()
}

// scriptMachine returns a machine of golden/topo/machines or a built-in one.
func scriptMachine(name string) (*System, error) {
	own := golden.Path("topo/machines/" + name + ".xml")
	if _, err := os.Stat(own); err != nil {
		return Builtin(name)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return nil, err
	}
	return parseSystem(name, data)
}

func TestLoad(t *testing.T) {
	files := fstest.MapFS{
		"dir/box.xml": {Data: []byte(oneGPU)}, "box": {Data: []byte(oneGPU)}, "bad.xml": {Data: []byte("{}")},
	}
	read := func(name string) ([]byte, error) { return fs.ReadFile(files, name) }
	for _, name := range []string{"dgx-h100", "dir/box.xml", "box"} {
		s, err := Load(name, read)
		require.NoError(t, err, name)
		require.Equal(t, name, s.Name)
	}
	_, err := Load("dgx_h10", read)
	require.EqualError(t, err, `unknown topology "dgx_h10"; did you mean "dgx-h100"? (allowed: dgx-a100 dgx-h100 h200x2 pcie8), and there is no file of that name`)
	var parse *coll.ParseError
	require.ErrorAs(t, err, &parse)
	_, err = Load("dir/none.xml", read)
	require.True(t, errors.Is(err, fs.ErrNotExist), "%v", err)
	_, err = Load("bad.xml", read)
	require.ErrorContains(t, err, "bad.xml:1:1: ")
}
