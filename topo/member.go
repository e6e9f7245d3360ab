package topo

import (
	"slices"

	"github.com/ncclgo/ncclgo/internal/result"
)

// Member is one node of a communicator as its ranks bring it along: what they
// found by themselves. A node is what shares memory or NVLink: a host can be
// several nodes, and several hosts one.
type Member struct {
	// Ranks are the node's ranks, rising. The position of a rank is its local
	// rank.
	Ranks []int
	// Graphs are what the search found, over local ranks. Equal nodes may share
	// them.
	Graphs *Graphs
	// MinNetBW is the least bandwidth between a rank and one of the network cards
	// it uses, GB/s; 0 without a network.
	MinNetBW float32
	// P2PChannels is the least number of channels over which any rank talks to
	// any other.
	P2PChannels int
	// Hardware is what the node has.
	Hardware Hardware
}

// nodeChannels are the channels of a node's graphs with the position of each
// local rank: what connecting needs, found once for all nodes that share graphs.
type nodeChannels struct {
	ring, tree, chain []nodeChannel
	direct            []nodeChannel
	heads             []int // local ranks at the head of NVLS channels, each once
}

// nodeChannel is a channel over the local ranks of a node.
type nodeChannel struct {
	order    []int // local ranks
	position []int // [local rank]: where it is in order
}

func (c *nodeChannel) first() int { return c.order[0] }
func (c *nodeChannel) last() int  { return c.order[len(c.order)-1] }

// channels checks a member's graphs and returns their channels.
func (m *Member) channels() (*nodeChannels, error) {
	n := new(nodeChannels)
	for _, part := range []struct {
		id    GraphID
		into  *[]nodeChannel
		most  int
		needs bool
	}{
		{GraphRing, &n.ring, maxSearchChannels, true},
		{GraphTree, &n.tree, maxSearchChannels, true},
		{GraphCollNetChain, &n.chain, maxSearchChannels, false},
		{GraphCollNetDirect, &n.direct, MaxChannels, false},
	} {
		g := m.Graphs[part.id]
		if g == nil || len(g.Channels) == 0 {
			if part.needs {
				return nil, result.New(result.InvalidArgument, "connect", "the node of rank %d has no channel in its %v graph; search again, or correct the graph file", m.Ranks[0], part.id)
			}
			continue
		}
		if len(g.Channels) > part.most {
			return nil, result.New(result.InvalidArgument, "connect", "the node of rank %d has %d channels in its %v graph; at most %d are allowed", m.Ranks[0], len(g.Channels), part.id, part.most)
		}
		for c := range g.Channels {
			order := g.Channels[c].Ranks
			position, ok := positions(order, len(m.Ranks))
			if !ok {
				return nil, result.New(result.InvalidArgument, "connect", "channel %d of the %v graph of rank %d's node is %v; it must have each of the local ranks 0 to %d once", c, part.id, m.Ranks[0], order, len(m.Ranks)-1)
			}
			*part.into = append(*part.into, nodeChannel{order, position})
		}
	}
	if g := m.Graphs[GraphNVLS]; g != nil {
		for c := range g.Channels {
			ranks := g.Channels[c].Ranks
			if len(ranks) == 0 || ranks[0] < 0 || ranks[0] >= len(m.Ranks) {
				return nil, result.New(result.InvalidArgument, "connect", "channel %d of the %v graph of rank %d's node is %v; it must begin with one of the local ranks 0 to %d", c, GraphNVLS, m.Ranks[0], ranks, len(m.Ranks)-1)
			}
		}
		n.heads = heads(g.Channels)
	}
	return n, nil
}

// positions returns the inverse of a permutation of 0 to n-1, and whether order
// is one.
func positions(order []int, n int) ([]int, bool) {
	if len(order) != n {
		return nil, false
	}
	position := make([]int, n)
	for i := range position {
		position[i] = -1
	}
	for i, rank := range order {
		if rank < 0 || rank >= n || position[rank] >= 0 {
			return nil, false
		}
		position[rank] = i
	}
	return position, true
}

// heads returns the first rank of each channel, each rank once.
func heads(channels []Channel) []int {
	var list []int
	for _, c := range channels {
		if !slices.Contains(list, c.Ranks[0]) {
			list = append(list, c.Ranks[0])
		}
	}
	return list
}
