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

// Graph is what the search found for one pattern: channels over the GPUs of
// one host, all of the same bandwidth.
type Graph struct {
	Pattern  Pattern
	NRanks   int
	Channels []Channel
	// BWIntra is what a channel carries between GPUs, GB/s.
	BWIntra float32
	// TypeIntra is the worst path between neighbours in any channel.
	TypeIntra PathType
	// SameChannels says that all channels have the same order.
	SameChannels bool
	// MinSM and MaxSM are the lowest and highest compute capability times 10
	// among the GPUs.
	MinSM, MaxSM int
	// RanksPerGPU is the largest number of ranks that share a GPU.
	RanksPerGPU int
}

// Channel is one channel of a [Graph].
type Channel struct {
	// Ranks are the ranks in order. In a ring the last is followed by the
	// first.
	Ranks []int
}

// Ring returns the ring of channel c >= 0. A communicator may have more
// channels than the graph: they repeat its rings, as NCCL's do.
func (g *Graph) Ring(c int) []int {
	return g.Channels[c%len(g.Channels)].Ranks
}

// BW returns what all channels carry together, GB/s.
func (g *Graph) BW() float32 {
	return float32(float32(len(g.Channels)) * g.BWIntra)
}
