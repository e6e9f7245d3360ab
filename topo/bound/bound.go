package bound

import (
	"math"

	"github.com/ncclgo/ncclgo/topo"
)

// Bounds are the most that all channels of a node carry together, GB/s, as [Carried]
// counts it. Both are infinite where one GPU is all there is of a communicator.
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
// each but its first. What it carries for the network it exchanges there, so it is also
// bound to twice what all GPUs together can: see [Carried].
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
		receive, send := n.out(n.outside, ends), n.in(n.outside, ends)
		if len(ranks) == 1 {
			send *= 2 // the search charges it for the first of two GPUs that share a tree's
		}
		b.Tree = min(b.Tree, 2*receive, 2*send)
		ends = append(ends, n.outside)
	}
	b.Ring = n.narrowest(ends)
	return b
}

// Carried returns what the channels of a ring or tree graph carry together, GB/s. Of
// trees that is no more than twice what they exchange with the network, half of it
// upward and half downward; NCCL's search stops at the first of its speeds that is no
// less, which may be far more (ncclTopoCompute, NCCL v2.30 src/graph/search.cc).
func Carried(g *topo.Graph) float64 {
	if g.Pattern == topo.PatternRing || len(g.Channels[0].Nets) == 0 {
		return float64(g.BW())
	}
	return float64(len(g.Channels)) * float64(min(g.BWIntra, 2*g.BWInter))
}
