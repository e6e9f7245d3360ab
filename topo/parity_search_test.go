package topo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
)

// hostsOf returns the system of a run's host and the settings of the run.
func hostsOf(t testing.TB, r *parity.Run) (*topo.System, topo.HostParams) {
	s, err := topo.Load(r.TopoFile(), os.ReadFile)
	require.NoError(t, err)
	p := topo.HostParams{
		Hosts:  r.NRanks / s.NRanks(),
		Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, CollNet: r.CollNetAsked != 0, NVLS: r.Option != "nvls0"},
	}
	switch r.Variable + "=" + r.Value {
	case "NCCL_CROSS_NIC=0":
		p.Search.CrossNIC = topo.CrossNICNever
	case "NCCL_P2P_LEVEL=SYS":
		p.Params.P2PLevel = new(topo.PathSYS)
	case "NCCL_P2P_DISABLE=1":
		p.Params.P2PLevel = new(topo.PathLOC)
	case "NCCL_NET_GDR_LEVEL=SYS":
		p.Params.GDRLevel = new(topo.PathSYS)
	case "NCCL_PXN_DISABLE=1":
		p.Params.NoPXN = true
	case "NCCL_NVB_DISABLE=1":
		p.Params.NoNVB = true
	case "NCCL_SHM_DISABLE=1":
		p.Params.NoSHM = true
	case "NCCL_NETDEVS_POLICY=ALL":
		p.Params.NetDevs.All = true
	case "=", "NCCL_MIN_NCHANNELS=32", "NCCL_ALGO=Ring", "NCCL_PROTO=Simple":
		// Nothing that a search depends on.
	default:
		t.Fatalf("%s: nothing is known of %s", r.Name, r.Variable)
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
