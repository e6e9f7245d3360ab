package topo_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
)

// referenceMembers returns the nodes of a run, all with the graphs of rank 0's
// node: the reference has no other's.
func referenceMembers(t *testing.T, r *parity.Run) []topo.Member {
	graphs, err := r.Graphs()
	require.NoError(t, err, r.Name)
	nodes := r.NodeRanks()
	for _, g := range graphs {
		if g == nil {
			continue
		}
		for c := range g.Channels {
			for i, rank := range g.Channels[c].Ranks {
				g.Channels[c].Ranks[i] = slices.Index(nodes[0], rank)
			}
		}
	}
	var members []topo.Member
	for _, ranks := range nodes {
		members = append(members, topo.Member{Ranks: ranks, Graphs: graphs, MinNetBW: r.MinNetBW, P2PChannels: 1})
	}
	return members
}

// TestParityLayout compares what NCCL made of the graphs it had found: final
// figures, rings, trees and the number of channels.
func TestParityLayout(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		_, settings := hostsOf(t, r)
		l, err := topo.Connect(referenceMembers(t, r), settings.Layout)
		require.NoError(t, err, r.Name)
		compareLayout(t, &tally, r, l)
		// The reference has the graphs of rank 0's node. Where those of other nodes of
		// a host are worse the final figures are not in it (docs/RATIONALE.md).
		var skip [topo.NumGraphs]bool
		if r.Nodes > r.HostNodes {
			skip = othersAreWorse(hostLayout(t, r))
		}
		compareFinal(&tally, r, l, skip)
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

// TestParityHosts goes all the way from topologies to channels: each node's own
// view and search, then what they agree on.
func TestParityHosts(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		_, l := hostLayout(t, r)
		compareLayout(t, &tally, r, l)
		compareFinal(&tally, r, l, [topo.NumGraphs]bool{})
		tally.Compare("P2P channels", r.Name, [2]int{r.P2PChannels, r.P2PChannelsPerPeer}, [2]int{l.P2PChannels, l.P2PChannelsPerPeer})
		tally.Compare("least bandwidth of networks", r.Name, r.MinNetBW, l.MinNetBW)
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

// hostLayout returns what the nodes of a run find, and what they agree on.
func hostLayout(t *testing.T, r *parity.Run) ([]topo.Member, *topo.Layout) {
	s, settings := hostsOf(t, r)
	members, err := topo.Members(s, settings.Hosts)
	require.NoError(t, err, r.Name)
	l, err := topo.Connect(members, settings.Layout)
	require.NoError(t, err, r.Name)
	return members, l
}

// othersAreWorse says which graphs of the first node have other figures once all
// nodes have agreed.
func othersAreWorse(members []topo.Member, l *topo.Layout) [topo.NumGraphs]bool {
	var worse [topo.NumGraphs]bool
	for id, g := range l.Graphs(0) {
		worse[id] = g != nil && !reflect.DeepEqual(facts(members[0].Graphs[id]), facts(g))
	}
	return worse
}

// facts is a graph as the tuning file has it after the merge.
func facts(g *topo.Graph) parity.Graph {
	f := parity.Graph{
		Pattern: int(g.Pattern), CrossNIC: int(g.CrossNIC), NChannels: len(g.Channels), BWIntra: g.BWIntra, BWInter: g.BWInter,
		LatencyInter: g.LatencyInter, TypeIntra: g.TypeIntra.String(), TypeInter: g.TypeInter.String(),
	}
	if g.SameChannels {
		f.SameChannels = 1
	}
	return f
}

// compareFinal compares the figures that nodes agreed on with NCCL's, but for those
// of graphs to skip.
func compareFinal(tally *parity.Tally, r *parity.Run, l *topo.Layout, skip [topo.NumGraphs]bool) {
	for id, g := range l.Graphs(0) {
		if skip[id] {
			continue
		}
		name := topo.GraphID(id).String()
		want, got := finals(r.Final[name]), parity.Graph{}
		if g != nil {
			got = facts(g)
		}
		tally.Compare("final graph", r.Name+" "+name, want, got)
	}
}

// compareLayout compares nodes and channels with NCCL's.
func compareLayout(t *testing.T, tally *parity.Tally, r *parity.Run, l *topo.Layout) {
	require.Equal(t, r.NRanks, l.NRanks(), r.Name)
	for rank := range r.NRanks {
		require.Equal(t, r.RankToNode[rank], l.Node(rank), r.Name)
	}
	tally.Compare("channels", r.Name, []int{r.Channels, r.CollChannels}, []int{l.Channels, l.Channels})
	tally.Compare("NVLS channels", r.Name, [3]int{r.NVLSChannels, r.NVLSChunkBytes, r.NVLSTreeChunkBytes}, [3]int{l.NVLSChannels, l.NVLSChunkBytes, l.NVLSTreeChunkBytes})
	tally.Compare("largest tree pattern", r.Name, r.MaxTreePattern, int(l.MaxTreePattern))
	tally.Compare("CollNet", r.Name, r.CollNet != 0, l.CollNet)
	if l.Channels == r.Channels {
		for c := range r.Channels {
			tally.Compare("ring", r.Name, r.Rings[c], l.Ring(c, 0))
			for rank, want := range r.Trees[c] {
				tree := l.Tree(c, rank)
				tally.Compare("tree row", r.Name, want, [5]int{tree.Up, tree.Down[0], tree.Down[1], tree.Down[2], tree.Depth})
			}
		}
	}
	compareNVLS(tally, r, l)
	compareCollNet(tally, r, l)
}

// finals is what ranks agree on of a graph, nothing if they have none.
func finals(g parity.Graph) parity.Graph {
	if g.NChannels == 0 {
		return parity.Graph{}
	}
	g.ID, g.MinChannels, g.MaxChannels, g.Hops, g.Channels = 0, 0, 0, 0, nil
	return g
}

func compareNVLS(tally *parity.Tally, r *parity.Run, l *topo.Layout) {
	for rank, channels := range r.NVLS {
		for c, want := range channels {
			n, ok := l.NVLS(c, rank)
			got := parity.NVLS{HeadRank: n.HeadRank, Heads: len(n.Up), Down: n.Down, Out: n.Out, TreeUp: n.TreeUp, TreeDown: n.TreeDown, Up: n.Up}
			tally.Compare("NVLS row", r.Name, want, got)
			tally.Compare("NVLS", r.Name, true, ok)
		}
	}
}

func compareCollNet(tally *parity.Tally, r *parity.Run, l *topo.Layout) {
	if r.CollNet == 0 {
		return
	}
	tally.Compare("CollNet heads", r.Name, r.CollNetHeads, l.CollNetHeads(0))
	for c := range r.CollNetChain {
		for rank, want := range r.CollNetChain[c] {
			chain, _ := l.CollNetChain(c, rank)
			tally.Compare("CollNet chain", r.Name, want, [2]int{chain.Up, chain.Down})
		}
	}
	for rank, want := range r.CollNetDirect {
		d, ok := l.CollNetDirect(rank)
		got := parity.CollNetDirect{HeadRank: d.HeadRank, NHeads: len(d.Heads), Shift: d.Shift, Out: d.Out, Heads: d.Heads, Up: d.Up, Down: d.Down}
		if !ok {
			got = parity.CollNetDirect{}
		}
		for _, list := range []*[]int{&want.Heads, &want.Up, &want.Down} {
			*list = slices.DeleteFunc(*list, func(rank int) bool { return rank < 0 })
			if len(*list) == 0 {
				*list = nil
			}
		}
		tally.Compare("CollNet direct", r.Name, want, got)
	}
}
