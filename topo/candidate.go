package topo

import "slices"

// candidate is a [Graph] during the search, GPUs and ports by position. Its
// slices have room for max channels.
type candidate struct {
	pattern              Pattern
	gpus                 int
	n                    int // channels
	min, max             int // channels wanted
	collNet              bool
	bwIntra, bwInter     float32
	latency              float32
	typeIntra, typeInter PathType
	crossNIC             CrossNIC
	same                 bool
	simple               bool // made by simpleOrder
	hops                 int
	intra                []int32 // [channel*gpus+position]: GPU
	inter                []int32 // [channel*2]: port in, port out
}

func newCandidate(pattern Pattern, gpus, minimum, maximum int) candidate {
	return candidate{
		pattern: pattern, gpus: gpus, min: minimum, max: maximum,
		intra: make([]int32, max(maximum, 1)*gpus), inter: make([]int32, max(maximum, 1)*2),
	}
}

// set makes c equal to other, in storage of its own.
func (c *candidate) set(other *candidate) {
	intra, inter := c.intra, c.inter
	*c = *other
	c.intra, c.inter = intra, inter
	copy(c.intra, other.intra[:other.n*other.gpus])
	copy(c.inter, other.inter[:other.n*2])
}

// clone returns a copy of c in storage of its own.
func (c *candidate) clone() candidate {
	other := newCandidate(c.pattern, c.gpus, c.min, c.max)
	other.set(c)
	return other
}

func (c *candidate) isTree() bool {
	return c.pattern == PatternBalancedTree || c.pattern == PatternSplitTree || c.pattern == PatternTree
}

// heads reports whether a channel is no more than a GPU, its head, and the port
// it uses.
func (c *candidate) heads() bool {
	return c.pattern == PatternNVLS || c.pattern == PatternCollNetDirect
}

// times returns n*bw as NCCL computes it.
func times(n int, bw float32) float32 { return float32(float32(n) * bw) }

// betterThan reports whether c is to replace best (ncclTopoCompareGraphs, NCCL
// v2.30 src/graph/search.cc).
func (c *candidate) betterThan(best *candidate) bool {
	if c.n < c.min {
		return false
	}
	if c.pattern == PatternNVLS {
		// A channel is a GPU that pulls: the more the better.
		return c.n > best.n && c.n <= c.gpus || times(c.n, c.bwInter) > times(best.n, best.bwInter)
	}
	mine, other := times(c.n, c.bwIntra), times(best.n, best.bwIntra)
	if mine != other {
		return mine > other
	}
	return c.pattern == best.pattern && c.crossNIC == best.crossNIC && c.hops < best.hops
}

// duplicate halves fast channels into twice as many, which one CTA each can
// drive (ncclTopoDupChannels, NCCL v2.30 src/graph/search.cc).
func (c *candidate) duplicate(minSM int) {
	if c.n == 0 || c.pattern == PatternNVLS || c.bwIntra < 25 || minSM > 80 && c.bwIntra < 50 && c.n > 4 {
		return
	}
	n := min(2*c.n, c.max)
	copy(c.intra[c.n*c.gpus:], c.intra[:(n-c.n)*c.gpus])
	copy(c.inter[c.n*2:], c.inter[:(n-c.n)*2])
	parts := float32((n + c.n - 1) / c.n)
	c.bwIntra /= parts
	c.bwInter /= parts
	c.n = n
}

// graph returns the result with ranks and ports by name.
func (c *candidate) graph(s *System, id GraphID) *Graph {
	g := &Graph{
		ID: id, Pattern: c.pattern, NRanks: len(s.Nodes[NodeGPU]),
		BWIntra: c.bwIntra, BWInter: c.bwInter, LatencyInter: c.latency,
		TypeIntra: c.typeIntra, TypeInter: c.typeInter,
		MinChannels: c.min, MaxChannels: c.max, SameChannels: c.same, CrossNIC: c.crossNIC, Hops: c.hops, Simple: c.simple,
	}
	g.setGPUs(s)
	g.Channels = c.channels(s)
	return g
}

// channels returns the channels with ranks and ports by name.
func (c *candidate) channels(s *System) []Channel {
	members := c.gpus
	if c.pattern == PatternNVLS {
		members = 1
	}
	var channels []Channel
	for i := range c.n {
		var ch Channel
		for _, gpu := range c.intra[i*c.gpus : i*c.gpus+members] {
			ch.Ranks = append(ch.Ranks, s.Nodes[NodeGPU][gpu].GPU.Rank)
		}
		if s.Inter {
			for _, net := range c.inter[i*2 : i*2+2] {
				key := int64(none)
				if net != none {
					key = s.Nodes[NodeNET][net].key()
				}
				ch.Nets = append(ch.Nets, key)
			}
		}
		channels = append(channels, ch)
	}
	return slices.Clip(channels)
}

// key returns the name of a network port in graphs.
func (n *Node) key() int64 { return int64(hostID(n.Host, n.ID)) }

// Port returns the network port that a [Channel] has a name of, nil if the system
// has none of that name.
func (s *System) Port(name int64) *Node {
	for _, net := range s.Nodes[NodeNET] {
		if net.key() == name {
			return net
		}
	}
	return nil
}
