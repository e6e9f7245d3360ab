package bound

import (
	"math"

	"github.com/ncclgo/ncclgo/topo"
)

// Bounds are the most that all channels of a node carry together, GB/s, as
// [topo.Graph.BW] counts it. Both are infinite where one GPU is all there is of a
// communicator.
type Bounds struct {
	Ring, Tree float64
}

// Of returns the bounds of a view.
//
// A ring that carries B leaves every set of nodes with some, but not all, of its
// GPUs, and comes back. So B is no more than the narrowest cut between two GPUs
// in either direction, which is the largest flow between them. What is beyond
// the network counts as another GPU where rings go there.
//
// A tree is a chain within a node and is charged in one direction, as by NCCL's
// search, though reductions go up where results come down. A chain crosses each
// such cut, one way or the other; and it leaves each GPU but its last and enters
// each but its first. NCCL's search lets it carry twice what it exchanges with the
// network, so it is also bound to twice what all GPUs together can.
func Of(v *topo.System) Bounds {
	ranks := v.Nodes[topo.NodeGPU]
	n := newNetwork(v)
	ends := make([]int64, 0, len(ranks)+1)
	for _, rank := range ranks {
		ends = append(ends, n.id[rank])
	}
	b := Bounds{Ring: math.Inf(1), Tree: math.Inf(1)}
	if len(ranks) > 1 {
		b.Tree = n.bothWays().narrowest(ends)
		hops := float64(len(ranks) - 1)
		b.Tree = min(b.Tree, n.total(ends, n.out)/hops, n.total(ends, n.in)/hops)
	}
	if v.Inter {
		b.Tree = min(b.Tree, 2*n.out(n.outside, ends), 2*n.in(n.outside, ends))
		ends = append(ends, n.outside)
	}
	b.Ring = n.narrowest(ends)
	return b
}
