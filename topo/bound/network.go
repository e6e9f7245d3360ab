package bound

import (
	"math"

	flow "gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/ncclgo/ncclgo/topo"
)

// network has a node for each node of a system and an edge for each link that
// some path goes over. Capacities are whole MB/s, rounded up, as sums of whole
// numbers do not depend on the order in which flows are found.
type network struct {
	*simple.WeightedDirectedGraph
	id map[*topo.Node]int64 // from 0
	// outside stands for all that is beyond the network, around for all GPUs but
	// one: see out.
	outside, around int64
}

const (
	unit      = 1000 // of capacities in GB/s
	unlimited = 1e12
)

func newNetwork(v *topo.System) *network {
	n := &network{WeightedDirectedGraph: simple.NewWeightedDirectedGraph(0, 0), id: map[*topo.Node]int64{}}
	for _, nodes := range v.Nodes {
		for _, node := range nodes {
			n.id[node] = int64(len(n.id))
		}
	}
	n.outside = int64(len(n.id))
	n.around = n.outside + 1
	for id := range n.around + 1 {
		n.AddNode(simple.Node(id))
	}
	gpus, nets := v.Nodes[topo.NodeGPU], v.Nodes[topo.NodeNET]
	l := links{}
	l.addPaths(gpus, gpus)
	if v.Inter {
		l.addPaths(gpus, nets)
		l.addPaths(nets, gpus)
		for _, net := range nets {
			n.add(n.id[net], n.outside, unlimited)
			n.add(n.outside, n.id[net], unlimited)
		}
	}
	for link, use := range l {
		n.add(n.id[use.from], n.id[link.To], math.Ceil(float64(link.BW)/use.cost*unit))
	}
	return n
}

// add gives the edge between two nodes more capacity, and makes it if there is
// none.
func (n *network) add(from, to int64, capacity float64) {
	if old, ok := n.Weight(from, to); ok {
		capacity += old
	}
	n.SetWeightedEdge(n.NewWeightedEdge(simple.Node(from), simple.Node(to), capacity))
}

// bothWays returns the network in which each edge has the capacity of both
// directions.
func (n *network) bothWays() *network {
	both := &network{WeightedDirectedGraph: simple.NewWeightedDirectedGraph(0, 0), id: n.id, outside: n.outside, around: n.around}
	for id := range n.around + 1 {
		both.AddNode(simple.Node(id))
	}
	edges := n.WeightedEdges()
	for edges.Next() {
		e := edges.WeightedEdge()
		both.add(e.From().ID(), e.To().ID(), e.Weight())
		both.add(e.To().ID(), e.From().ID(), e.Weight())
	}
	return both
}

// max returns the largest flow from one node to another, GB/s.
func (n *network) max(from, to int64) float64 {
	return flow.MaxFlowDinic(n, simple.Node(from), simple.Node(to), 0) / unit
}

// narrowest returns the least capacity of a cut, in either direction, that some of
// the nodes lie on each side of. A cut has the first of them on one side and some
// other on the other, so the flows between the first and each other are enough.
func (n *network) narrowest(ends []int64) float64 {
	least := math.Inf(1)
	for _, end := range ends[1:] {
		least = min(least, n.max(ends[0], end), n.max(end, ends[0]))
	}
	return least
}

// total returns the sum of what each of some nodes exchanges with the others.
func (n *network) total(ends []int64, exchange func(end int64, others []int64) float64) float64 {
	sum := 0.0
	for i, end := range ends {
		others := append(append([]int64{}, ends[:i]...), ends[i+1:]...)
		sum += exchange(end, others)
	}
	return sum
}

// out returns the largest flow from a node to others together.
func (n *network) out(end int64, others []int64) float64 {
	for _, other := range others {
		n.SetWeightedEdge(n.NewWeightedEdge(simple.Node(other), simple.Node(n.around), unlimited))
	}
	most := n.max(end, n.around)
	for _, other := range others {
		n.RemoveEdge(other, n.around)
	}
	return most
}

// in returns the largest flow to a node from others together.
func (n *network) in(end int64, others []int64) float64 {
	for _, other := range others {
		n.SetWeightedEdge(n.NewWeightedEdge(simple.Node(n.around), simple.Node(other), unlimited))
	}
	most := n.max(n.around, end)
	for _, other := range others {
		n.RemoveEdge(n.around, other)
	}
	return most
}

// links are the links that paths go over, with the node that each leaves and the
// least that a path pays for each GB/s on it.
type links map[*topo.Link]use

type use struct {
	from *topo.Node
	cost float64
}

func (l links) addPaths(from, to []*topo.Node) {
	for _, a := range from {
		for _, b := range to {
			p := a.Path(b)
			at := a
			for _, link := range p.Links {
				cost := cost(a, p, link)
				if old, ok := l[link]; ok {
					cost = min(cost, old.cost)
				}
				l[link] = use{at, cost}
				at = link.To
			}
		}
	}
}

// intelOverhead is what PCIe pays for traffic of GPUs through an Intel CPU, which
// cuts it into packets of 64 bytes (INTEL_P2P_OVERHEAD, NCCL v2.30
// src/graph/topo.h).
const intelOverhead = 6. / 5

// cost returns what a path from a node pays for each GB/s on one of its links. What
// comes back the other way is left out: a bound may be too high.
func cost(from *topo.Node, p *topo.Path, l *topo.Link) float64 {
	if l.Type != topo.LinkPCI || p.Type != topo.PathPHB || from.Type != topo.NodeGPU {
		return 1
	}
	for _, l := range p.Links {
		if l.To.CPU != nil && l.To.CPU.Vendor == topo.VendorIntel {
			return intelOverhead
		}
	}
	return 1
}
