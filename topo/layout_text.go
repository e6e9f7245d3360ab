package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the layout for people: its size, each different ring on a line
// from rank 0 on, and each different tree as its edges between nodes.
func (l *Layout) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s", plural(l.NRanks(), "rank"), plural(l.NNodes(), "node"), plural(l.Channels, "channel"))
	if l.NVLSChannels > 0 {
		fmt.Fprintf(&b, ", %d of NVLS", l.NVLSChannels)
	}
	if l.CollNet {
		b.WriteString(", CollNet")
	}
	fmt.Fprintf(&b, "; sends and receives: %s, %d to each peer\n", plural(l.P2PChannels, "channel"), l.P2PChannelsPerPeer)
	b.WriteString("rings\n")
	writeChannels(&b, l.Channels, func(c int) string { return ranks(l.Ring(c, 0)) })
	b.WriteString("trees: rank<-children\n")
	writeChannels(&b, l.Channels, l.treeText)
	return b.String()
}

// NodeString returns a node for people: its ranks, and the channels that its search
// found and that all nodes have.
func (l *Layout) NodeString(node int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %d: %s\n", node, rankSpans(l.NodeRanks(node)))
	for _, g := range l.Graphs(node) {
		if g != nil {
			b.WriteString(g.String())
		}
	}
	return b.String()
}

// treeText returns the ranks of a tree that have children, with these.
func (l *Layout) treeText(channel int) string {
	var words []string
	for rank := range l.NRanks() {
		var children []string
		for _, child := range l.Tree(channel, rank).Down {
			if child >= 0 {
				children = append(children, strconv.Itoa(child))
			}
		}
		if children != nil {
			words = append(words, fmt.Sprintf("%d<-%s", rank, strings.Join(children, ",")))
		}
	}
	return strings.Join(words, " ")
}

// rankSpans names rising ranks.
func rankSpans(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + Spans(ranks)
	}
	return "ranks " + Spans(ranks)
}

func ranks(list []int) string {
	words := make([]string, len(list))
	for i, rank := range list {
		words[i] = strconv.Itoa(rank)
	}
	return strings.Join(words, " ")
}
