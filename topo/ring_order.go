package topo

// ringChannel returns a node's part of a ring. Nodes of odd number exchange the
// channels of each pair where the search went from one network card to another:
// the ring that leaves a node by the second card of a pair enters the next there,
// on the same rail. NCCL lets each node decide by what it found itself.
func (l *Layout) ringChannel(node, c int) *nodeChannel {
	pairs := l.members[node].Graphs[GraphRing].CrossNIC == CrossNICPairs
	if pairs && l.counts[GraphRing]%2 == 0 && node%2 == 1 {
		c ^= 1
	}
	return &l.nodes[node].ring[c]
}

// RingNeighbors returns the ranks before and after a rank in the ring of a
// channel. Within a node the ring is that of the search; its last rank is
// followed by the first rank of the next node.
func (l *Layout) RingNeighbors(channel, rank int) (prev, next int) {
	c, _ := l.searched(channel)
	n := l.node[rank]
	part := l.ringChannel(n, c)
	at := part.position[l.local[rank]]
	if at > 0 {
		prev = l.rank(n, part.order[at-1])
	} else {
		before := (n - 1 + l.NNodes()) % l.NNodes()
		prev = l.rank(before, l.ringChannel(before, c).last())
	}
	if at < len(part.order)-1 {
		next = l.rank(n, part.order[at+1])
	} else {
		after := (n + 1) % l.NNodes()
		next = l.rank(after, l.ringChannel(after, c).first())
	}
	return prev, next
}

// Ring returns the ring of a channel, from rank on.
func (l *Layout) Ring(channel, rank int) []int {
	c, _ := l.searched(channel)
	ring := make([]int, 0, l.NRanks())
	home := l.node[rank]
	part := l.ringChannel(home, c)
	at := part.position[l.local[rank]]
	for _, local := range part.order[at:] {
		ring = append(ring, l.rank(home, local))
	}
	for i := 1; i < l.NNodes(); i++ {
		n := (home + i) % l.NNodes()
		for _, local := range l.ringChannel(n, c).order {
			ring = append(ring, l.rank(n, local))
		}
	}
	for _, local := range part.order[:at] {
		ring = append(ring, l.rank(home, local))
	}
	return ring
}
