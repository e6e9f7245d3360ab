package topo

import "slices"

// NVLS is a rank's place in an NVLS channel. Heads of multicast groups count as
// the ranks from NRanks+1 on, the network as NRanks; -1 stands for none.
type NVLS struct {
	// HeadRank is the position of the rank among its node's heads, -1 if it is
	// none.
	HeadRank int
	// Up are the multicast groups, one of each head. Down is the rank's own.
	Up   []int
	Down int
	// Out is the network for a head if CollNet is in use.
	Out int
	// TreeUp and TreeDown are the rank's place in the tree of heads between nodes;
	// the first of TreeDown is the rank's own multicast group.
	TreeUp   int
	TreeDown [treeArity]int
}

// nvlsHeads returns how many heads every node has.
func (l *Layout) nvlsHeads() int {
	n := len(l.nodes[0].heads)
	for _, channels := range l.nodes {
		n = min(n, len(channels.heads))
	}
	return n
}

// NVLSHeads returns how many multicast groups every node has for NVLS, 0 if it is
// not in use.
func (l *Layout) NVLSHeads() int {
	if l.NVLSChannels == 0 {
		return 0
	}
	return l.nvlsHeads()
}

// NVLS returns a rank's place in an NVLS channel, and false if there is none.
func (l *Layout) NVLS(channel, rank int) (NVLS, bool) {
	if l.NVLSChannels == 0 {
		return NVLS{}, false
	}
	n := l.node[rank]
	count := l.nvlsHeads()
	group := l.NRanks() + 1
	p := NVLS{
		HeadRank: slices.Index(l.nodes[n].heads[:count], l.local[rank]),
		Out:      -1, TreeUp: -1, TreeDown: [treeArity]int{-1, -1, -1},
	}
	for head := range count {
		p.Up = append(p.Up, group+head)
	}
	p.Down = group + p.HeadRank
	if l.CollNet && p.HeadRank >= 0 {
		p.Out = l.NRanks()
	}
	if l.NNodes() == 1 {
		return p, true
	}
	p.TreeDown[0] = p.Down
	if p.HeadRank < 0 {
		return p, true
	}
	// Channels take the two trees in turn.
	nodes := newBinaryTrees(l.NNodes(), n)[channel%2]
	head := func(node int) int { return l.rank(node, l.nodes[node].heads[p.HeadRank]) }
	if nodes.up >= 0 {
		p.TreeUp = head(nodes.up)
	}
	children := 1
	for _, child := range nodes.down {
		if child >= 0 {
			p.TreeDown[children] = head(child)
			children++
		}
	}
	return p, true
}
