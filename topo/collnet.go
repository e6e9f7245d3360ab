package topo

import "slices"

// CollNetChain is a rank's place in a CollNet channel of chains: each node's first
// rank talks to the network, which counts as the rank after the last. -1 stands
// for none.
type CollNetChain struct {
	Up, Down int
	// Depth is the number of ranks of a chain, on average.
	Depth int
}

// CollNetChain returns a rank's place in the chain of a channel, and false if no
// channel has chains.
func (l *Layout) CollNetChain(channel, rank int) (CollNetChain, bool) {
	if !l.CollNet {
		return CollNetChain{}, false
	}
	c, _ := l.searched(channel)
	n := l.node[rank]
	ranks := l.members[n].Ranks
	part := &l.nodes[n].chain[c%l.counts[GraphCollNetChain]]
	at := part.position[l.local[rank]]
	chain := CollNetChain{Up: l.NRanks(), Down: -1, Depth: l.NRanks() / l.NNodes()}
	if at > 0 {
		chain.Up = ranks[part.order[at-1]]
	}
	if at < len(part.order)-1 {
		chain.Down = ranks[part.order[at+1]]
	}
	return chain, true
}

// CollNetDirect is a rank's place in a CollNet channel without chains: every rank
// sends to all heads of its node, and heads to the network.
type CollNetDirect struct {
	// HeadRank is the position of the rank among the heads, -1 if it is none.
	HeadRank int
	// Out is the network, which counts as the rank after the last; -1 if the rank
	// is no head.
	Out int
	// Heads are the heads in the order in which the rank takes them, itself first.
	Heads []int
	// Up are the heads but the rank itself, Down the ranks that send to it.
	Up, Down []int
	// Shift is the position of the head that a rank begins with, so that not all
	// begin with the same.
	Shift int
	// Depth is 1 if there is nothing but the rank and the network, else 2.
	Depth int
}

// CollNetDirect returns a rank's place in every CollNet channel without chains,
// and false if there is none: CollNet is off, or a node has more ranks than may be
// connected to one another.
func (l *Layout) CollNetDirect(rank int) (CollNetDirect, bool) {
	if !l.CollNet || l.MaxLocalRanks > maxDirectRanks || l.counts[GraphCollNetDirect] == 0 {
		return CollNetDirect{}, false
	}
	n := l.node[rank]
	ranks, local := l.members[n].Ranks, l.local[rank]
	channels := l.nodes[n].direct[:l.counts[GraphCollNetDirect]]
	heads := l.directHeads(n)
	d := CollNetDirect{HeadRank: slices.Index(heads, local), Out: -1, Depth: 1}
	if d.HeadRank >= 0 {
		d.Out = l.NRanks()
		for _, other := range channels[d.HeadRank].order {
			if other != local {
				d.Down = append(d.Down, ranks[other])
			}
		}
	}
	for i, head := range heads {
		if head != local {
			d.Up = append(d.Up, ranks[head])
		}
		d.Heads = append(d.Heads, ranks[heads[(max(d.HeadRank, 0)+i)%len(heads)]])
	}
	// NCCL takes the rank of the communicator, not the local rank.
	d.Shift = rank % len(ranks) % len(heads)
	if len(d.Up) > 0 || len(d.Down) > 0 {
		d.Depth = 2
	}
	return d, true
}

// directHeads returns the local ranks at the head of the channels, each once.
func (l *Layout) directHeads(node int) []int {
	return heads(l.members[node].Graphs[GraphCollNetDirect].Channels[:l.counts[GraphCollNetDirect]])
}

// CollNetHeads returns the ranks of a node that talk to the network for CollNet,
// none if CollNet is off. Where there is NVLS they are its heads.
func (l *Layout) CollNetHeads(node int) []int {
	var locals []int
	switch {
	case !l.CollNet:
	case l.NVLSChannels > 0:
		locals = l.nodes[node].heads[:l.nvlsHeads()]
	case l.counts[GraphCollNetDirect] > 0:
		locals = l.directHeads(node)
	}
	var ranks []int
	for _, local := range locals {
		ranks = append(ranks, l.members[node].Ranks[local])
	}
	return ranks
}

// CollNetHeadCount returns how many heads every node has at least, 0 if CollNet is
// off.
func (l *Layout) CollNetHeadCount() int {
	n := MaxChannels
	for node := range l.members {
		n = min(n, len(l.CollNetHeads(node)))
	}
	return n
}

// CollNetChains reports whether chains may be used: CollNet is in use, and the
// heads of chains are heads for CollNet on every node (isCollNetChainHeadsSubset,
// NCCL v2.30 src/transport/coll_net.cc).
func (l *Layout) CollNetChains() bool {
	if !l.CollNet {
		return false
	}
	for n, node := range l.nodes {
		heads := l.CollNetHeads(n)
		for _, c := range node.chain[:l.counts[GraphCollNetChain]] {
			if !slices.Contains(heads, l.rank(n, c.first())) {
				return false
			}
		}
	}
	return true
}

// CollNetDirectHeads returns how many heads a channel without chains has at least,
// 0 if there is none.
func (l *Layout) CollNetDirectHeads() int {
	if _, ok := l.CollNetDirect(0); !ok {
		return 0
	}
	n := MaxChannels
	for node := range l.members {
		n = min(n, len(l.directHeads(node)))
	}
	return n
}
