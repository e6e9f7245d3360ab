package topo

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/ncclgo/ncclgo/internal/result"
)

// MaxChannels is the most channels of a communicator (MAXCHANNELS, NCCL v2.30
// src/include/device.h).
const MaxChannels = 64

// maxDirectRanks is the most ranks of a node that CollNet without chains takes:
// each is connected to all others (NCCL_MAX_DIRECT_ARITY + 1, NCCL v2.30
// src/include/device.h).
const maxDirectRanks = 8

// Layout is how the channels of a communicator run over its ranks: what all of
// them know once each has seen what the others found. It answers for any rank,
// each question in time that does not depend on the number of ranks, but for
// whole rings.
type Layout struct {
	// Channels is how many channels rings and trees have, NVLSChannels those of
	// NVLS: 0 if not all nodes have it.
	Channels, NVLSChannels int
	// NVLSChunkBytes and NVLSTreeChunkBytes are the chunk of NVLS, and the largest
	// one of NVLS between nodes.
	NVLSChunkBytes, NVLSTreeChunkBytes int
	// P2PChannels is how many channels sends and receives have together,
	// P2PChannelsPerPeer how many of them serve one peer. Both are powers of 2.
	P2PChannels, P2PChannelsPerPeer int
	// CollNet says whether CollNet is in use.
	CollNet bool
	// MaxTreePattern is the largest pattern of any node's tree graph.
	MaxTreePattern Pattern
	// MinNetBW is the least of the members', GB/s.
	MinNetBW float32
	// MinLocalRanks and MaxLocalRanks are the numbers of ranks of the smallest and
	// the largest node.
	MinLocalRanks, MaxLocalRanks int

	members  []Member
	nodes    []*nodeChannels // [node]
	node     []int           // [rank]
	local    []int           // [rank]: local rank
	merged   Graphs          // what the nodes agreed on, without channels
	hardware Hardware        // that all nodes have
	counts   [NumGraphs]int  // channels that all nodes have
	// source[channel] is the channel of which a channel is a copy. The rings of
	// the search come first, then the same again, with the second trees.
	source []int
}

// Connect makes a layout of what the nodes of a communicator found. Nodes are
// numbered by their lowest rank, whatever the order of members is. Members that do
// not have each rank once, or lack a ring or a tree, and numbers of channels that no
// communicator has are invalid arguments.
func Connect(members []Member, p LayoutParams) (*Layout, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	l := &Layout{members: slices.Clone(members)}
	if err := l.number(); err != nil {
		return nil, err
	}
	if err := l.readChannels(); err != nil {
		return nil, err
	}
	l.merge()
	l.CollNet = p.CollNet && l.counts[GraphCollNetChain] > 0 && len(members) >= p.collNetNodes()
	l.countChannels(p)
	l.countNVLSChannels(p)
	l.countP2PChannels(p)
	return l, nil
}

// number gives each rank its node and local rank.
func (l *Layout) number() error {
	total := 0
	l.MinLocalRanks = math.MaxInt
	for i := range l.members {
		m := &l.members[i]
		if len(m.Ranks) == 0 || m.Graphs == nil {
			return result.New(result.InvalidArgument, "connect", "member %d has no ranks or no graphs; each node has both", i)
		}
		if !slices.IsSorted(m.Ranks) {
			return result.New(result.InvalidArgument, "connect", "the ranks of member %d are %v; they must rise", i, m.Ranks)
		}
		total += len(m.Ranks)
		l.MinLocalRanks = min(l.MinLocalRanks, len(m.Ranks))
		l.MaxLocalRanks = max(l.MaxLocalRanks, len(m.Ranks))
	}
	if total == 0 {
		return result.New(result.InvalidArgument, "connect", "no members; a communicator has at least one node")
	}
	slices.SortStableFunc(l.members, func(a, b Member) int { return cmp.Compare(a.Ranks[0], b.Ranks[0]) })
	l.node = make([]int, total)
	l.local = make([]int, total)
	for rank := range l.node {
		l.node[rank] = -1
	}
	for n := range l.members {
		for local, rank := range l.members[n].Ranks {
			if rank < 0 || rank >= total || l.node[rank] >= 0 {
				return result.New(result.InvalidArgument, "connect", "rank %d of %d is out of range or on two nodes; each rank is on one", rank, total)
			}
			l.node[rank], l.local[rank] = n, local
		}
	}
	return nil
}

// readChannels checks every node's graphs, those that nodes share once.
func (l *Layout) readChannels() error {
	type key struct {
		graphs *Graphs
		ranks  int
	}
	read := map[key]*nodeChannels{}
	l.nodes = make([]*nodeChannels, len(l.members))
	for n := range l.members {
		m := &l.members[n]
		k := key{m.Graphs, len(m.Ranks)}
		if read[k] == nil {
			channels, err := m.channels()
			if err != nil {
				return err
			}
			read[k] = channels
		}
		l.nodes[n] = read[k]
	}
	return nil
}

// NRanks returns the number of ranks.
func (l *Layout) NRanks() int { return len(l.node) }

// NNodes returns the number of nodes.
func (l *Layout) NNodes() int { return len(l.members) }

// Node returns the node of a rank, from 0 in order of lowest ranks.
func (l *Layout) Node(rank int) int { return l.node[rank] }

// LocalRank returns the position of a rank among those of its node.
func (l *Layout) LocalRank(rank int) int { return l.local[rank] }

// NodeRanks returns the ranks of a node, rising.
func (l *Layout) NodeRanks(node int) []int { return l.members[node].Ranks }

// rank returns the rank at a position of a node's channel.
func (l *Layout) rank(node, local int) int { return l.members[node].Ranks[local] }

// searched returns the channel of the search that a channel repeats, and whether
// it has the second tree.
func (l *Layout) searched(channel int) (c, tree int) {
	n := l.counts[GraphRing]
	return l.source[channel] % n, l.source[channel] / n
}

// log2 returns the logarithm of n >= 1, rounded down.
func log2(n int) int { return bits.Len(uint(n)) - 1 }
