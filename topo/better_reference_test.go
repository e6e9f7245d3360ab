package topo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/bound"
)

// TestBetterOfReferenceMachines holds beside one another what NCCL's rings and trees
// carry on each reference machine, what better ones do, and what nothing can exceed
// (docs/CHANNELS.md). With -v it prints them.
func TestBetterOfReferenceMachines(t *testing.T) {
	t.Logf("GB/s %36s %26s", "ring: NCCL, ours, at most", "tree: NCCL, ours, at most")
	rings, trees, all := 0, 0, 0
	for _, r := range parity.Runs(t) {
		if r.Option != "" || r.Hosts > 2 {
			continue
		}
		all++
		v, p := viewOf(t, r)
		nccl := topo.Search(v, p)
		p.Better = true
		ours := topo.Search(v, p)
		requireBound(t, v, ours, r.Name)
		b := bound.Of(v)
		row := fmt.Sprintf("%-30s", r.Name)
		for id, most := range []float64{topo.GraphRing: b.Ring, topo.GraphTree: b.Tree} {
			require.GreaterOrEqual(t, ours[id].BW(), nccl[id].BW(), r.Name)
			mine, theirs := bound.Carried(ours[id]), bound.Carried(nccl[id])
			row += fmt.Sprintf(" %8.4g %8.4g %8.4g", theirs, mine, most)
		}
		switch {
		case ours[topo.GraphRing].Instead > 0:
			rings++
			row += "  better rings"
		case ours[topo.GraphTree].Instead > 0:
			trees++
			row += "  better trees"
		default:
			require.Equal(t, nccl, ours, r.Name)
		}
		t.Log(row)
	}
	t.Logf("better rings on %d of %d, better trees alone on %d", rings, all, trees)
	require.Greater(t, rings, all/5)
	require.Greater(t, trees, 0)
}
