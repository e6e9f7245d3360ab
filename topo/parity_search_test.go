package topo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// hostsOf returns the system of a run's host, and the settings of the run as
// variables say them.
func hostsOf(t testing.TB, r *parity.Run) (*topo.System, *nccl.GraphSettings) {
	s, err := topo.Load(r.TopoFile(), os.ReadFile)
	require.NoError(t, err)
	settings, err := nccl.ReadGraphSettings(r.Lookup)
	require.NoError(t, err, r.Name)
	settings.Hosts.Hosts = r.NRanks / s.NRanks()
	settings.Hosts.Search.Better = false
	return s, settings
}

// viewOf returns the system of a run as its rank 0 sees it, and the choices of
// its search.
func viewOf(t testing.TB, r *parity.Run) (*topo.System, topo.SearchParams) {
	s, settings := hostsOf(t, r)
	p := settings.Hosts.Params
	p.NRanks, p.CollNet = r.NRanks, settings.Hosts.Search.CollNet
	v, err := s.View(p)
	require.NoError(t, err)
	return v, settings.Hosts.Search
}

// graphFacts are what a graph says beside its channels.
type graphFacts struct {
	pattern               topo.Pattern
	channels, least, most int
	bwIntra, bwInter      float32
	latency               float32
	typeIntra, typeInter  topo.PathType
	crossNIC              topo.CrossNIC
	sameChannels          bool
	hops                  int
}

func factsOf(g *topo.Graph) graphFacts {
	return graphFacts{
		g.Pattern, len(g.Channels), g.MinChannels, g.MaxChannels, g.BWIntra, g.BWInter, g.LatencyInter,
		g.TypeIntra, g.TypeInter, g.CrossNIC, g.SameChannels, g.Hops,
	}
}

// TestParitySearch compares the graphs of every reference run with NCCL's: what
// they say, and their channels in order.
func TestParitySearch(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		v, p := viewOf(t, r)
		graphs := topo.Search(v, p)
		want, err := r.Graphs()
		require.NoError(t, err)
		for id, w := range want {
			if w == nil {
				continue
			}
			name := topo.GraphID(id).String()
			tally.Compare(name+" graph", r.Name, factsOf(w), factsOf(graphs[id]))
			tally.Compare(name+" channels", r.Name, w.Channels, graphs[id].Channels)
		}
		if r.Hosts == 1 && r.Option == "" && r.Nodes == 1 {
			s, _ := hostsOf(t, r)
			ring, err := topo.SearchRing(s)
			require.NoError(t, err)
			tally.Compare("ring without a network", r.Name, want[topo.GraphRing].Channels, ring.Channels)
		}
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}
