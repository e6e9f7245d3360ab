package topo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// fastGraphs returns graphs of so many ranks and channels whose ring carries bw
// GB/s between GPUs of compute capability sm/10.
func fastGraphs(ranks, channels, sm int, bw float32) *Graphs {
	graphs := randomGraphs(rand.New(rand.NewPCG(4, 4)), ranks, channels, PatternTree)
	for _, g := range graphs {
		g.MinSM, g.MaxSM, g.BWIntra = sm, sm, bw
	}
	return graphs
}

// TestChannelCounts: what makes channels more or fewer, in NCCL's order.
func TestChannelCounts(t *testing.T) {
	for _, c := range []struct {
		name            string
		nodes, channels int
		sm              int
		bw              float32
		params          LayoutParams
		want            int
	}{
		{"two of each", 1, 4, 80, 20, LayoutParams{}, 8},
		{"as many as there may be", 1, 32, 80, 20, LayoutParams{}, 64},
		{"fast between nodes", 2, 4, 90, 48, LayoutParams{}, 16},
		{"fast, but enough", 2, 8, 90, 48, LayoutParams{}, 16},
		{"fast on one node", 1, 4, 90, 48, LayoutParams{}, 8},
		{"not fast", 2, 4, 90, 45, LayoutParams{}, 8},
		{"older GPUs", 2, 4, 80, 48, LayoutParams{}, 8},
		{"CollNet with more inside than outside", 2, 4, 80, 24, LayoutParams{CollNet: true}, 12},
		{"CollNet on too few nodes", 2, 4, 80, 24, LayoutParams{CollNet: true, CollNetNodes: 3}, 8},
		{"at most", 1, 4, 80, 20, LayoutParams{MaxChannels: 3}, 3},
		{"at most CTAs", 1, 4, 80, 20, LayoutParams{MaxChannels: 7, MaxCTAs: 2}, 2},
		{"at least", 1, 4, 80, 20, LayoutParams{MinChannels: 21}, 21},
		{"several of the first", 1, 4, 80, 20, LayoutParams{MaxChannels: 2, MinCTAs: 6}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Connect(equalNodes(c.nodes, 4, fastGraphs(4, c.channels, c.sm, c.bw)), c.params)
			require.NoError(t, err)
			require.Equal(t, c.want, l.Channels)
			checkLayout(t, l)
		})
	}
	l, err := Connect(equalNodes(1, 4, fastGraphs(4, 4, 80, 20)), LayoutParams{MaxChannels: 2, MinChannels: 6})
	require.NoError(t, err)
	require.Equal(t, l.Ring(0, 0), l.Ring(2, 0))
	require.Equal(t, l.Ring(1, 0), l.Ring(5, 0))
}

// TestNVLSChannels: channels, and KiB of chunks, by GPU, nodes, ranks of a node,
// bandwidth of the network and distance to it.
func TestNVLSChannels(t *testing.T) {
	for _, c := range []struct {
		sm, nodes, ranks int
		net              float32
		inter            PathType
		params           LayoutParams
		want             [3]int
	}{
		{90, 1, 8, 0, PathLOC, LayoutParams{}, [3]int{16, 128, 128}},
		{90, 4, 8, 48, PathPIX, LayoutParams{}, [3]int{16, 128, 64}},
		{100, 1, 8, 0, PathLOC, LayoutParams{}, [3]int{24, 128, 128}},
		{100, 2, 4, 48, PathPIX, LayoutParams{}, [3]int{32, 256, 256}},
		{100, 2, 8, 48, PathPXB, LayoutParams{}, [3]int{32, 128, 64}},
		{100, 2, 8, 48, PathPXN, LayoutParams{}, [3]int{32, 128, 128}},
		{100, 2, 8, 96, PathPIX, LayoutParams{}, [3]int{32, 128, 128}},
		{100, 2, 16, 96, PathPIX, LayoutParams{}, [3]int{32, 128, 64}},
		{100, 2, 8, 25, PathPIX, LayoutParams{}, [3]int{32, 128, 128}},
		{100, 3, 8, 96, PathPIX, LayoutParams{}, [3]int{24, 256, 256}},
		{100, 3, 16, 96, PathPIX, LayoutParams{}, [3]int{32, 128, 128}},
		{100, 3, 32, 96, PathPIX, LayoutParams{}, [3]int{32, 128, 64}},
		{100, 3, 8, 48, PathPIX, LayoutParams{}, [3]int{24, 128, 64}},
		{100, 3, 8, 48, PathSYS, LayoutParams{}, [3]int{24, 128, 128}},
		{100, 4, 8, 25, PathSYS, LayoutParams{}, [3]int{32, 128, 64}},
		{90, 1, 8, 0, PathLOC, LayoutParams{NVLSChannels: 20}, [3]int{20, 128, 128}},
		{90, 1, 8, 0, PathLOC, LayoutParams{MaxCTAs: 6}, [3]int{6, 128, 128}},
		{90, 1, 8, 0, PathLOC, LayoutParams{MinCTAs: 40}, [3]int{40, 128, 128}},
	} {
		t.Run(fmt.Sprintf("sm_%d %dx%d %v %v %+v", c.sm, c.nodes, c.ranks, c.net, c.inter, c.params), func(t *testing.T) {
			graphs := fastGraphs(c.ranks, 2, c.sm, 20)
			graphs[GraphNVLS].TypeInter = c.inter
			members := equalNodes(c.nodes, c.ranks, graphs)
			for i := range members {
				members[i].MinNetBW = c.net
			}
			l, err := Connect(members, c.params)
			require.NoError(t, err)
			require.Equal(t, c.want, [3]int{l.NVLSChannels, l.NVLSChunkBytes >> 10, l.NVLSTreeChunkBytes >> 10})
		})
	}
}

// TestP2PChannels: powers of 2, and between nodes no more for each peer than leave
// room for all.
func TestP2PChannels(t *testing.T) {
	for _, c := range []struct {
		nodes, perPeer int
		params         LayoutParams
		want           [2]int
	}{
		{1, 3, LayoutParams{}, [2]int{8, 4}},
		{1, 32, LayoutParams{}, [2]int{8, 8}},
		{2, 3, LayoutParams{}, [2]int{8, 4}},
		{8, 3, LayoutParams{}, [2]int{8, 2}},
		{64, 3, LayoutParams{}, [2]int{8, 1}},
		{64, 3, LayoutParams{P2PPeers: 8}, [2]int{8, 4}},
		{64, 3, LayoutParams{FixedNetChannels: true}, [2]int{8, 4}},
		{1, 3, LayoutParams{MinP2PChannels: 9}, [2]int{16, 4}},
		{1, 3, LayoutParams{MaxP2PChannels: 2}, [2]int{2, 2}},
	} {
		members := equalNodes(c.nodes, 4, fastGraphs(4, 4, 80, 20))
		for i := range members {
			members[i].P2PChannels = c.perPeer
		}
		l, err := Connect(members, c.params)
		require.NoError(t, err)
		require.Equal(t, c.want, [2]int{l.P2PChannels, l.P2PChannelsPerPeer}, "%+v", c)
	}
}

// TestCollNetLimits: without chains CollNet connects the ranks of a node to one
// another, so there may not be many.
func TestCollNetLimits(t *testing.T) {
	for ranks, want := range map[int]bool{1: true, 8: true, 9: false} {
		l, err := Connect(equalNodes(2, ranks, fastGraphs(ranks, 2, 80, 20)), LayoutParams{CollNet: true})
		require.NoError(t, err)
		_, ok := l.CollNetDirect(0)
		require.Equal(t, want, ok, "%d ranks", ranks)
		chain, ok := l.CollNetChain(0, 0)
		require.True(t, ok)
		require.Equal(t, ranks, chain.Depth)
		require.NotEmpty(t, l.CollNetHeads(1))
	}
	l, err := Connect(equalNodes(1, 4, fastGraphs(4, 2, 80, 20)), LayoutParams{CollNet: true})
	require.NoError(t, err)
	_, ok := l.CollNetChain(0, 0)
	require.False(t, ok)
	require.Empty(t, l.CollNetHeads(0))
}
