package topo_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/bound"
)

// requireBound fails if rings or trees of a view were found to carry more than
// is possible. Books are kept in thousandths, so each channel may have taken half
// of one too little at each GPU, which trees count twice.
func requireBound(t *testing.T, v *topo.System, g *topo.Graphs, name string) {
	b := bound.Of(v)
	for id, most := range map[topo.GraphID]float64{topo.GraphRing: b.Ring, topo.GraphTree: b.Tree} {
		if g[id].Simple {
			continue // nobody looked at links
		}
		rounding := .0005 * float64(len(g[id].Channels)*(len(v.Nodes[topo.NodeGPU])+2))
		require.LessOrEqual(t, bound.Carried(g[id]), most+2*rounding, "%s: %v graph", name, id)
	}
}

func TestBoundOfRandomMachines(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for i := range 200 {
		s := topo.RandomSystem(t, r, 1+r.IntN(8))
		v, err := s.View(topo.Params{NRanks: s.NRanks() * (1 + r.IntN(2))})
		require.NoError(t, err)
		p := topo.SearchParams{CrossNIC: topo.CrossNICPairs, Better: i%5 == 0}
		requireBound(t, v, topo.Search(v, p), v.String())
	}
}

func TestBoundOfReferenceMachines(t *testing.T) {
	for _, r := range parity.Runs(t) {
		v, p := viewOf(t, r)
		requireBound(t, v, topo.Search(v, p), r.Name)
	}
}
