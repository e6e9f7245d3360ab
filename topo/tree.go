package topo

// treeArity is the most children of a rank in a tree: two nodes below, and the
// next rank of the same node (NCCL_MAX_TREE_ARITY, NCCL v2.30
// src/include/device.h).
const treeArity = 3

// Tree is a rank's place in the tree of a channel. -1 stands for none.
type Tree struct {
	Up   int
	Down [treeArity]int
	// Depth is about how many hops the farthest rank is from the root.
	Depth int
}

// toChild returns the positions in a node's tree channels of the ranks that talk
// to the first and the second node below; the first rank talks to the node above.
// Balanced trees give one child to the second rank and split trees give it both,
// so that not all traffic goes through one network card.
func (m *Member) toChild() [2]int {
	switch p := m.Graphs[GraphTree].Pattern; {
	case len(m.Ranks) == 1 || p == PatternTree:
		return [2]int{0, 0}
	case p == PatternSplitTree:
		return [2]int{1, 1}
	default:
		return [2]int{1, 0}
	}
}

// Tree returns a rank's place in the tree of a channel. The tree is a chain within
// each node, in the order of the search, and a binary tree of nodes.
func (l *Layout) Tree(channel, rank int) Tree {
	c, second := l.searched(channel)
	n := l.node[rank]
	m := &l.members[n]
	order := l.nodes[n].tree[c].order
	at := l.nodes[n].tree[c].position[l.local[rank]]

	t := Tree{Up: -1, Down: [treeArity]int{-1, -1, -1}}
	t.Depth = l.NRanks()/l.NNodes() - 1 + log2(l.NNodes())
	children := 0
	down := func(rank int) {
		t.Down[children] = rank
		children++
	}
	if at < len(order)-1 {
		down(m.Ranks[order[at+1]])
	}
	nodes := newBinaryTrees(l.NNodes(), n)[second]
	switch {
	case at > 0:
		t.Up = m.Ranks[order[at-1]]
	case nodes.up >= 0:
		child := 0
		if nodes.second {
			child = 1
		}
		t.Up = l.rank(nodes.up, l.nodes[nodes.up].tree[c].order[l.members[nodes.up].toChild()[child]])
	}
	for i, position := range m.toChild() {
		if child := nodes.down[i]; at == position && child >= 0 {
			down(l.rank(child, l.nodes[child].tree[c].first()))
		}
	}
	return t
}
