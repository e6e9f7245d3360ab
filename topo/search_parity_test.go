package topo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/internal/parity"
)

// hostsOf returns the system of a run's host and the settings of the run.
func hostsOf(t testing.TB, r *parity.Run) (*topo.System, topo.HostParams) {
	s, err := topo.Load(r.TopoFile(), os.ReadFile)
	require.NoError(t, err)
	p := topo.HostParams{
		Hosts:  r.NRanks / s.NRanks(),
		Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, CollNet: r.CollNetAsked != 0, NVLS: r.Option != "nvls0"},
	}
	level := func(l topo.PathType) *topo.PathType { return &l }
	switch r.Option {
	case "crossnic0":
		p.Search.CrossNIC = topo.CrossNICNever
	case "p2plevelSYS":
		p.Params.P2PLevel = level(topo.PathSYS)
	case "p2pdisable":
		p.Params.P2PLevel = level(topo.PathLOC)
	case "gdrlevelSYS":
		p.Params.GDRLevel = level(topo.PathSYS)
	case "pxndisable":
		p.Params.NoPXN = true
	case "nvbdisable":
		p.Params.NoNVB = true
	case "shmdisable":
		p.Params.NoSHM = true
	case "netdevsALL":
		p.Params.NetDevs.All = true
	}
	return s, p
}

// viewOf returns the system of a run as its rank 0 sees it, and the choices of
// its search.
func viewOf(t testing.TB, r *parity.Run) (*topo.System, topo.SearchParams) {
	s, p := hostsOf(t, r)
	p.Params.NRanks = r.NRanks
	v, err := s.View(p.Params)
	require.NoError(t, err)
	return v, p.Search
}

// TestSearchParity compares the graphs of every reference run with NCCL's.
func TestSearchParity(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		if only := os.Getenv("ONLY"); only != "" && !strings.Contains(r.Name, only) {
			continue
		}
		v, sp := viewOf(t, r)
		want, err := r.Graphs()
		require.NoError(t, err)
		got := topo.Search(v, sp)
		for id, w := range want {
			if w == nil {
				continue
			}
			g := got[id]
			type attrs struct {
				p                     topo.Pattern
				cross                 topo.CrossNIC
				n, min, max           int
				intra, inter, latency float32
				typeIntra, typeInter  topo.PathType
				same                  bool
				hops                  int
			}
			of := func(g *topo.Graph) attrs {
				return attrs{g.Pattern, g.CrossNIC, len(g.Channels), g.MinChannels, g.MaxChannels, g.BWIntra, g.BWInter, g.LatencyInter, g.TypeIntra, g.TypeInter, g.SameChannels, g.Hops}
			}
			name := topo.GraphID(id).String()
			tally.Compare(name+" attributes", r.Name, of(w), of(g))
			tally.Compare(name+" channels", r.Name, w.Channels, g.Channels)
		}
	}
	tally.Log(t)
}
