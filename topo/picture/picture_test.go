package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/picture"
)

// rings returns what a host sees of a system beside others, and its rings, as nccl-run
// graph shows them.
func rings(t *testing.T, s *topo.System, hosts int) (*topo.System, *topo.Graph) {
	v, err := s.View(topo.Params{NRanks: hosts * s.NRanks()})
	require.NoError(t, err)
	return v, topo.Search(v, topo.SearchParams{CrossNIC: topo.CrossNICPairs, Better: true})[topo.GraphRing]
}

// TestPictures: the pictures in docs are what is drawn.
func TestPictures(t *testing.T) {
	for _, name := range []string{"dgx-h100", "pcie4-intel"} {
		s := machine(t, name)
		var b bytes.Buffer
		require.NoError(t, picture.Machine(&b, s))
		golden.Check(t, "../docs/pictures/"+name+".svg", b.Bytes())
		b.Reset()
		v, g := rings(t, s, 2)
		require.NoError(t, picture.Channels(&b, v, g))
		golden.Check(t, "../docs/pictures/"+name+"-rings.svg", b.Bytes())
	}
}

func machine(t *testing.T, name string) *topo.System {
	file := golden.Path("topo/machines/" + name + ".xml")
	if data, err := os.ReadFile(file); err == nil {
		s, err := topo.Load(name, func(string) ([]byte, error) { return data, nil })
		require.NoError(t, err)
		return s
	}
	s, err := topo.Builtin(name)
	require.NoError(t, err)
	return s
}

// TestEveryMachine draws all that there is, each twice: the same well-formed text,
// with each GPU, port and rank in it.
func TestEveryMachine(t *testing.T) {
	files, err := filepath.Glob(golden.Path("topo/machines/*.xml"))
	require.NoError(t, err)
	names := append(topo.Builtins(), files...)
	t.Run("reference", func(t *testing.T) {
		more, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference/machines"), "*.xml"))
		require.NoError(t, err)
		names = append(names, more...)
	})
	draw := func(t *testing.T, f func(io.Writer) error) string {
		var a, b bytes.Buffer
		require.NoError(t, f(&a))
		require.NoError(t, f(&b))
		require.Equal(t, a.String(), b.String())
		requireWellFormed(t, a.String())
		requireApart(t, a.String())
		return a.String()
	}
	for _, name := range names {
		s, err := topo.Load(name, os.ReadFile)
		require.NoError(t, err)
		text := draw(t, func(w io.Writer) error { return picture.Machine(w, s) })
		require.Equal(t, len(s.Nodes[topo.NodeDEV]), strings.Count(text, ">GPU "), name)
		require.Equal(t, len(s.Nodes[topo.NodeNET]), strings.Count(text, ">NET "), name)
		for hosts := 1; hosts <= 2; hosts++ {
			v, g := rings(t, s, hosts)
			text := draw(t, func(w io.Writer) error { return picture.Channels(w, v, g) })
			require.Equal(t, len(v.Nodes[topo.NodeGPU]), strings.Count(text, "<circle"), name)
		}
	}
}

// requireApart fails if boxes overlap: all but the ground and that of texts.
func requireApart(t *testing.T, text string) {
	type rect struct {
		Class  string  `xml:"class,attr"`
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
	}
	var picture struct {
		Groups []struct {
			Rect []rect `xml:"rect"`
		} `xml:"g"`
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &picture))
	var boxes []rect
	for _, g := range picture.Groups {
		for _, r := range g.Rect {
			if r.Class == "ground" {
				continue
			}
			for _, o := range boxes {
				require.False(t, r.X < o.X+o.Width && o.X < r.X+r.Width && r.Y < o.Y+o.Height && o.Y < r.Y+r.Height, "%+v over %+v", r, o)
			}
			boxes = append(boxes, r)
		}
	}
}

func requireWellFormed(t *testing.T, text string) {
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// TestOddNames: names come from files, and are text.
func TestOddNames(t *testing.T) {
	s, err := topo.Load(`</svg>&"<script>.xml`, func(string) ([]byte, error) {
		return []byte(`<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"><pci busid="0:1:0.0" class="0x030200" link_speed="" link_width="16"><gpu dev="0" sm="90" rank="0"/></pci>
			<pci busid="0:2:0.0" class="0x020000" link_speed="" link_width="0"><nic><net name="&lt;/text&gt;" dev="0"/><net name="a port of a very long name" dev="1" port="2"/></nic></pci></cpu></system>`), nil
	})
	require.NoError(t, err)
	for hosts := 1; hosts <= 2; hosts++ {
		v, g := rings(t, s, hosts)
		for _, f := range []func(io.Writer) error{
			func(w io.Writer) error { return picture.Machine(w, s) },
			func(w io.Writer) error { return picture.Channels(w, v, g) },
		} {
			var b bytes.Buffer
			require.NoError(t, f(&b))
			requireWellFormed(t, b.String())
			require.Equal(t, 1, strings.Count(b.String(), "</svg>"))
			require.NotContains(t, b.String(), "<script")
		}
	}
}

// TestForeignRank: a graph of another system is refused.
func TestForeignRank(t *testing.T) {
	s := machine(t, "dgx-h100")
	_, g := rings(t, s, 1)
	few, err := s.FirstGPUs(2)
	require.NoError(t, err)
	require.ErrorContains(t, picture.Channels(io.Discard, few, g), "rank 2")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestNoRoom: what a writer says is passed on.
func TestNoRoom(t *testing.T) {
	s := machine(t, "pcie4-intel")
	require.ErrorIs(t, picture.Machine(full{}, s), io.ErrShortWrite)
}
