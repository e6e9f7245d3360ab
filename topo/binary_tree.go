package topo

// binaryTree is a node's place in a binary tree of nodes; -1 stands for none.
type binaryTree struct {
	up   int
	down [2]int
	// second says that the node is the second child of its parent.
	second bool
}

// newBinaryTree returns the place of node in NCCL's tree over n nodes (NCCL v2.30
// src/graph/trees.cc). But for the root, which is 0, it is a search tree of the
// numbers 1, 2 and so on: all odd ones are leaves, and what lies less than 2^h from
// an odd multiple of 2^h is below it, its reach. Where n ends the numbers those
// above are missing, and whom they leave goes up to the number before instead.
func newBinaryTree(n, node int) binaryTree {
	t := binaryTree{up: -1, down: [2]int{-1, -1}}
	reach := n
	if node > 0 {
		reach = node & -node
		// Of the two numbers that far away one has the next greater reach.
		t.up = node + reach
		if left := node - reach; left&(2*reach) != 0 || t.up >= n {
			t.up = left
		}
		t.second = node > t.up
		if reach > 1 {
			t.down[0] = node - reach/2
		}
	}
	// To the right are fewer where n ends them.
	if right := min(reach, n-node) - 1; right > 0 {
		t.down[1] = node + 1<<log2(right)
	}
	return t
}

// newBinaryTrees returns the place of node in two trees over n nodes. The second
// is the first with other numbers, in which leaves of the first are above others
// and the other way round, so that what one tree does not send the other does:
// counted from the end if n is even, from 1 on if it is odd.
func newBinaryTrees(n, node int) [2]binaryTree {
	number := func(at int) int { return n - 1 - at } // in the second tree, and back
	back := number
	if n%2 == 1 {
		number = func(at int) int { return (at + n - 1) % n }
		back = func(at int) int { return (at + 1) % n }
	}
	second := newBinaryTree(n, number(node))
	for _, at := range []*int{&second.up, &second.down[0], &second.down[1]} {
		if *at >= 0 {
			*at = back(*at)
		}
	}
	return [2]binaryTree{newBinaryTree(n, node), second}
}
