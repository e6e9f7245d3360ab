package topo

// binaryTree is a node's place in a binary tree of nodes; -1 stands for none.
type binaryTree struct {
	up   int
	down [2]int
	// second says that the node is the second child of its parent.
	second bool
}

// newBinaryTree returns the place of node in a tree over n nodes in which leaves
// and inner nodes alternate (NCCL v2.30 src/graph/trees.cc). The root is 0. The
// lowest bit set of another number is its height: the nodes below it differ in
// lower bits, and its parent has the next bit set instead, or, if there is no
// such node, just lacks this one.
func newBinaryTree(n, node int) binaryTree {
	t := binaryTree{up: -1, down: [2]int{-1, -1}}
	if node == 0 {
		height := 1
		for height < n {
			height <<= 1
		}
		if n > 1 {
			t.down[1] = height >> 1
		}
		return t
	}
	bit := node & -node
	t.up = node&^bit | bit<<1
	if t.up >= n {
		t.up = node &^ bit
	}
	t.second = node > t.up
	if half := bit >> 1; half > 0 {
		t.down[0] = node - half
		for ; half > 0; half >>= 1 {
			if node+half < n {
				t.down[1] = node + half
				break
			}
		}
	}
	return t
}

// newBinaryTrees returns the place of node in two trees over n nodes, in one of
// which most nodes are leaves, so that what one does not send the other does: the
// second is the first mirrored if n is even, shifted by one if it is odd.
func newBinaryTrees(n, node int) [2]binaryTree {
	other := func(at int) int { return n - 1 - at }
	back := other
	if n%2 == 1 {
		other = func(at int) int { return (at - 1 + n) % n }
		back = func(at int) int { return (at + 1) % n }
	}
	second := newBinaryTree(n, other(node))
	for _, at := range []*int{&second.up, &second.down[0], &second.down[1]} {
		if *at >= 0 {
			*at = back(*at)
		}
	}
	return [2]binaryTree{newBinaryTree(n, node), second}
}
