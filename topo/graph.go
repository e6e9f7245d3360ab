package topo

// Pattern is what a channel of a [Graph] looks like. Values are NCCL's
// NCCL_TOPO_PATTERN_* (NCCL v2.30 src/include/graph.h), which graph files use.
type Pattern uint8

const (
	PatternBalancedTree  Pattern = 1 // balanced tree
	PatternSplitTree     Pattern = 2 // split tree
	PatternTree          Pattern = 3 // tree
	PatternRing          Pattern = 4 // ring
	PatternNVLS          Pattern = 5 // nvls
	PatternCollNetDirect Pattern = 6 // collnet direct
)

// PlainTreeShare is the part of its bandwidth that a tree of [PatternTree] is counted with
// (ncclTopoTuneModel, NCCL v2.30 src/graph/tuning.cc).
const PlainTreeShare = .85

// GraphID says what a [Graph] is for. Values are those by which graph files name
// graphs (NCCL v2.30 src/init.cc).
type GraphID uint8

const (
	GraphRing          GraphID = 0 // ring
	GraphTree          GraphID = 1 // tree
	GraphCollNetChain  GraphID = 2 // collnetChain
	GraphNVLS          GraphID = 3 // nvls
	GraphCollNetDirect GraphID = 4 // collnetDirect

	// NumGraphs is the number of graphs of a node.
	NumGraphs = iota
)

// CrossNIC says whether the ends of a channel may be at network cards of
// different rails (NCCL_CROSS_NIC). In a [Graph] it is what the search settled
// for.
type CrossNIC int8

const (
	CrossNICNever CrossNIC = 0
	CrossNICAll   CrossNIC = 1
	// CrossNICPairs is the search's choice of cards that differ, which nodes
	// make up for by exchanging the channels of each pair.
	CrossNICPairs CrossNIC = 2
)

// Graph is what the search found for one pattern: channels over the GPUs of
// one node, all of the same bandwidth.
type Graph struct {
	ID       GraphID
	Pattern  Pattern
	NRanks   int
	Channels []Channel
	// BWIntra is what a channel carries between GPUs, BWInter what it carries
	// between a GPU and a network card, GB/s.
	BWIntra, BWInter float32
	// LatencyInter is that of the network card, µs.
	LatencyInter float32
	// TypeIntra is the worst path between neighbours in any channel, TypeInter
	// that between a GPU and its network card.
	TypeIntra, TypeInter PathType
	CrossNIC             CrossNIC
	// SameChannels says that all channels have the same order.
	SameChannels bool
	// MinChannels and MaxChannels are the bounds of the search.
	MinChannels, MaxChannels int
	// Hops is the number of links that all channels go over, by which the search
	// prefers the shorter of two graphs that are equally fast.
	Hops int
	// Simple says that the search found no path and the only channel takes the
	// GPUs as they come.
	Simple bool
	// Instead is what the channels carry together that NCCL's search finds, GB/s, if
	// these are better; 0 if they are NCCL's.
	Instead float32
	// MinSM and MaxSM are the lowest and highest compute capability times 10
	// among the GPUs.
	MinSM, MaxSM int
	// RanksPerGPU is the largest number of ranks that share a GPU.
	RanksPerGPU int
}

// Channel is one channel of a [Graph].
type Channel struct {
	// Ranks are the ranks in order. In a ring the last is followed by the
	// first. A channel of an NVLS graph has its head alone.
	Ranks []int
	// Nets are the network cards at the first and at the last rank, as [Node.ID]
	// has them; empty if the node is all there is, {-1, -1} if no card was found.
	Nets []int64
}

// Graphs are the graphs of one node by [GraphID]. Those that were not searched
// for are nil.
type Graphs [NumGraphs]*Graph

// Ring returns the ring of channel c >= 0. A communicator may have more
// channels than the graph: they repeat its rings, as NCCL's do.
func (g *Graph) Ring(c int) []int {
	return g.Channels[c%len(g.Channels)].Ranks
}

// BW returns what all channels carry together, GB/s.
func (g *Graph) BW() float32 {
	return float32(float32(len(g.Channels)) * g.BWIntra)
}
