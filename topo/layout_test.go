package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/result"
)

// equalNodes returns members of n nodes that share graphs of so many ranks.
func equalNodes(n, ranks int, graphs *Graphs) []Member {
	var members []Member
	for node := range n {
		m := Member{Graphs: graphs, MinNetBW: 48, P2PChannels: 4}
		for local := range ranks {
			m.Ranks = append(m.Ranks, node*ranks+local)
		}
		members = append(members, m)
	}
	return members
}

// randomGraphs returns graphs over so many local ranks with channels in random
// order.
func randomGraphs(r *rand.Rand, ranks, channels int, pattern Pattern) *Graphs {
	graph := func(id GraphID, p Pattern) *Graph {
		g := &Graph{ID: id, Pattern: p, NRanks: ranks, BWIntra: 20, BWInter: 20, TypeIntra: PathNVL, TypeInter: PathPXB, MinSM: 80, MaxSM: 80}
		for range channels {
			g.Channels = append(g.Channels, Channel{Ranks: r.Perm(ranks), Nets: []int64{0, 0}})
		}
		return g
	}
	graphs := &Graphs{
		GraphRing: graph(GraphRing, PatternRing), GraphTree: graph(GraphTree, pattern), GraphCollNetChain: graph(GraphCollNetChain, PatternTree),
		GraphNVLS: graph(GraphNVLS, PatternNVLS), GraphCollNetDirect: graph(GraphCollNetDirect, PatternCollNetDirect),
	}
	graphs[GraphRing].CrossNIC = CrossNIC(r.IntN(2) * 2)
	return graphs
}

// randomMembers returns nodes of different sizes, patterns and channels, whose
// ranks are dealt out at random.
func randomMembers(r *rand.Rand) []Member {
	var members []Member
	total := 0
	for range 1 + r.IntN(9) {
		ranks := 1 + r.IntN(8)
		pattern := []Pattern{PatternTree, PatternBalancedTree, PatternSplitTree}[r.IntN(3)]
		members = append(members, Member{Ranks: make([]int, ranks), Graphs: randomGraphs(r, ranks, 1+r.IntN(32), pattern), MinNetBW: 24, P2PChannels: 1 + r.IntN(4)})
		total += ranks
	}
	order := r.Perm(total)
	for i := range members {
		n := copy(members[i].Ranks, order)
		order = order[n:]
		slices.Sort(members[i].Ranks)
	}
	return members
}

// checkLayout checks what holds of any layout: rings are permutations, trees span
// all ranks from one root, and neighbours agree that they are.
func checkLayout(t *testing.T, l *Layout) {
	n := l.NRanks()
	require.Positive(t, l.Channels)
	require.LessOrEqual(t, l.Channels, MaxChannels)
	for c := range l.Channels {
		ring := l.Ring(c, 0)
		require.Equal(t, 0, ring[0])
		for i, rank := range ring {
			prev, next := l.RingNeighbors(c, rank)
			require.Equal(t, ring[(i+n-1)%n], prev, "channel %d rank %d", c, rank)
			require.Equal(t, ring[(i+1)%n], next, "channel %d rank %d", c, rank)
		}
		_, ok := positions(ring, n)
		require.True(t, ok, "channel %d: %v", c, ring)

		root := -1
		for rank := range n {
			tree := l.Tree(c, rank)
			if tree.Up < 0 {
				require.Equal(t, -1, root, "channel %d: second root %d", c, rank)
				root = rank
			} else {
				parent := l.Tree(c, tree.Up)
				require.Contains(t, parent.Down, rank, "channel %d", c)
			}
			for _, child := range tree.Down {
				if child >= 0 {
					require.Equal(t, rank, l.Tree(c, child).Up, "channel %d", c)
				}
			}
		}
		reached := 0
		var visit func(int)
		visit = func(rank int) {
			reached++
			require.LessOrEqual(t, reached, n)
			for _, child := range l.Tree(c, rank).Down {
				if child >= 0 {
					visit(child)
				}
			}
		}
		visit(root)
		require.Equal(t, n, reached, "channel %d", c)
	}
}

func TestLayoutInvariants(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		members := randomMembers(r)
		p := LayoutParams{CollNet: seed%2 == 0, MinChannels: r.IntN(65)}
		l, err := Connect(members, p)
		require.NoError(t, err, "seed %d", seed)
		checkLayout(t, l)
		require.GreaterOrEqual(t, l.Channels, min(p.MinChannels, MaxChannels))

		// The order of members is no fact of the communicator.
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		again, err := Connect(members, p)
		require.NoError(t, err)
		for c := range l.Channels {
			require.Equal(t, l.Ring(c, 0), again.Ring(c, 0))
		}
	}
}

// TestBinaryTrees: of any number of nodes, both trees span them with no more hops
// than the logarithm and one, and parents and children agree.
func TestBinaryTrees(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 31, 33, 100, 127, 128, 129, 1000, 2048, 2049} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for tree := range 2 {
				roots := 0
				for node := range n {
					at, hops := node, 0
					for newBinaryTrees(n, at)[tree].up >= 0 {
						place := newBinaryTrees(n, at)[tree]
						parent := newBinaryTrees(n, place.up)[tree]
						child := 0
						if place.second {
							child = 1
						}
						require.Equal(t, at, parent.down[child], "tree %d", tree)
						at = place.up
						hops++
						require.LessOrEqual(t, hops, log2(n)+1, "tree %d node %d", tree, node)
					}
					if newBinaryTrees(n, node)[tree].up < 0 {
						roots++
					}
				}
				require.Equal(t, 1, roots, "tree %d", tree)
			}
		})
	}
}

// TestTreeParents: the two trees of NCCL over an even and an odd number of nodes.
func TestTreeParents(t *testing.T) {
	for n, want := range map[int][2][]int{
		6: {{-1, 2, 4, 2, 0, 4}, {1, 5, 3, 1, 3, -1}},
		7: {{-1, 2, 4, 2, 0, 6, 4}, {5, -1, 3, 5, 3, 1, 0}},
	} {
		for node := range n {
			trees := newBinaryTrees(n, node)
			require.Equal(t, [2]int{want[0][node], want[1][node]}, [2]int{trees[0].up, trees[1].up}, "node %d of %d", node, n)
		}
	}
}

// ordered returns graphs of so many ranks whose two channels have them rising and
// falling.
func ordered(ranks int, tree Pattern, cross CrossNIC) *Graphs {
	graphs := randomGraphs(rand.New(rand.NewPCG(1, 1)), ranks, 2, tree)
	for _, g := range graphs {
		for i := range ranks {
			g.Channels[0].Ranks[i], g.Channels[1].Ranks[i] = i, ranks-1-i
		}
	}
	graphs[GraphRing].CrossNIC = cross
	return graphs
}

// TestTreePatterns: to whom the children of a node are given. In the first tree
// over seven nodes the fifth has the third and the last below it.
func TestTreePatterns(t *testing.T) {
	for pattern, want := range map[Pattern][2][treeArity]int{
		PatternTree:         {{9, 4, 12}, {-1, -1, -1}},
		PatternBalancedTree: {{9, 12, -1}, {4, -1, -1}},
		PatternSplitTree:    {{9, -1, -1}, {4, 12, -1}},
	} {
		l, err := Connect(equalNodes(7, 2, ordered(2, pattern, CrossNICNever)), LayoutParams{})
		require.NoError(t, err)
		require.Equal(t, want, [2][treeArity]int{l.Tree(0, 8).Down, l.Tree(0, 9).Down}, "%v", pattern)
	}
}

// TestRingExchange: nodes of odd number take the other channel of a pair where the
// search went across network cards.
func TestRingExchange(t *testing.T) {
	for cross, want := range map[CrossNIC][]int{
		CrossNICNever: {0, 1, 2, 3, 4, 5, 6, 7, 8},
		CrossNICAll:   {0, 1, 2, 3, 4, 5, 6, 7, 8},
		CrossNICPairs: {0, 1, 2, 5, 4, 3, 6, 7, 8},
	} {
		l, err := Connect(equalNodes(3, 3, ordered(3, PatternTree, cross)), LayoutParams{})
		require.NoError(t, err)
		require.Equal(t, want, l.Ring(0, 0), "cross %d", cross)
	}
}

func TestConnectErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name   string
		change func([]Member) []Member
		params LayoutParams
		want   string
	}{
		{"no members", func([]Member) []Member { return nil }, LayoutParams{}, "no members"},
		{"no ranks", func(m []Member) []Member { m[1].Ranks = nil; return m }, LayoutParams{}, "member 1 has no ranks or no graphs"},
		{"no graphs", func(m []Member) []Member { m[0].Graphs = nil; return m }, LayoutParams{}, "member 0 has no ranks or no graphs"},
		{"falling ranks", func(m []Member) []Member { slices.Reverse(m[1].Ranks); return m }, LayoutParams{}, "the ranks of member 1 are [7 6 5 4]; they must rise"},
		{"rank twice", func(m []Member) []Member { m[1].Ranks[0] = 3; return m }, LayoutParams{}, "rank 3 of 8 is out of range or on two nodes"},
		{"rank missing", func(m []Member) []Member { m[1].Ranks[3] = 9; return m }, LayoutParams{}, "rank 9 of 8 is out of range or on two nodes"},
		{"no ring", func(m []Member) []Member { m[1].Graphs[GraphRing] = nil; return m }, LayoutParams{}, "the node of rank 4 has no channel in its ring graph"},
		{"too many channels", func(m []Member) []Member {
			g := m[0].Graphs[GraphTree]
			for range maxSearchChannels {
				g.Channels = append(g.Channels, g.Channels[0])
			}
			return m
		}, LayoutParams{}, "the node of rank 0 has 34 channels in its tree graph; at most 32 are allowed"},
		{"GPU twice", func(m []Member) []Member { m[0].Graphs[GraphRing].Channels[1].Ranks = []int{0, 1, 1, 2}; return m }, LayoutParams{},
			"channel 1 of the ring graph of rank 0's node is [0 1 1 2]; it must have each of the local ranks 0 to 3 once"},
		{"NVLS head", func(m []Member) []Member { m[0].Graphs[GraphNVLS].Channels[0].Ranks = []int{4}; return m }, LayoutParams{},
			"channel 0 of the nvls graph of rank 0's node is [4]; it must begin with one of the local ranks 0 to 3"},
		{"channels", nil, LayoutParams{MinChannels: 65}, "the least number of channels is 65; 1 to 64 are allowed"},
		{"peers", nil, LayoutParams{P2PPeers: -1}, "the number of peers is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := equalNodes(2, 4, nil)
			for i := range members {
				members[i].Graphs = randomGraphs(r, 4, 2, PatternBalancedTree)
			}
			if c.change != nil {
				members = c.change(members)
			}
			_, err := Connect(members, c.params)
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, err, result.ErrInvalidArgument)
		})
	}
}

// TestMixedNodes: what one node lacks nobody has.
func TestMixedNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	big, small := randomGraphs(r, 4, 8, PatternBalancedTree), randomGraphs(r, 2, 3, PatternTree)
	small[GraphRing].BWInter, small[GraphRing].TypeInter, small[GraphNVLS] = 12, PathSYS, nil
	small[GraphTree].MinSM, small[GraphRing].MinSM = 70, 70
	l, err := Connect([]Member{
		{Ranks: []int{0, 2, 4, 6}, Graphs: big, MinNetBW: 48, P2PChannels: 4},
		{Ranks: []int{1, 3}, Graphs: small, MinNetBW: 12, P2PChannels: 2},
		{Ranks: []int{5, 7}, Graphs: small, MinNetBW: 12, P2PChannels: 2},
	}, LayoutParams{})
	require.NoError(t, err)
	checkLayout(t, l)
	require.Equal(t, 6, l.Channels)
	require.Zero(t, l.NVLSChannels)
	require.Equal(t, PatternTree, l.MaxTreePattern)
	require.EqualValues(t, 12, l.MinNetBW)
	require.Equal(t, [2]int{2, 4}, [2]int{l.MinLocalRanks, l.MaxLocalRanks})
	ring := l.Graphs(0)[GraphRing]
	require.Equal(t, []any{float32(20), float32(12), PathNVL, PathSYS, 70, 80, 4}, []any{ring.BWIntra, ring.BWInter, ring.TypeIntra, ring.TypeInter, ring.MinSM, ring.MaxSM, ring.NRanks})
	require.Len(t, ring.Channels, 3)
	require.Equal(t, []int{5, 7}, slices.Sorted(slices.Values(l.Graphs(2)[GraphTree].Channels[0].Ranks)))
	require.Nil(t, l.Graphs(0)[GraphNVLS])
	require.Equal(t, []int{5, 7}, l.NodeRanks(2))
	require.Equal(t, [2]int{2, 1}, [2]int{l.Node(7), l.LocalRank(7)})
}

// BenchmarkConnect connects nodes of 8 GPUs and asks for every rank's place in
// every ring and tree.
func BenchmarkConnect(b *testing.B) {
	for _, nodes := range []int{1024, 2048} {
		b.Run(fmt.Sprintf("%dx8", nodes), func(b *testing.B) {
			graphs := randomGraphs(rand.New(rand.NewPCG(3, 3)), 8, 8, PatternBalancedTree)
			members := equalNodes(nodes, 8, graphs)
			b.ReportAllocs()
			for b.Loop() {
				l, err := Connect(members, LayoutParams{})
				if err != nil {
					b.Fatal(err)
				}
				for rank := range l.NRanks() {
					for c := range l.Channels {
						l.RingNeighbors(c, rank)
						l.Tree(c, rank)
					}
				}
			}
		})
	}
}

// BenchmarkConnectOneRank connects nodes of 8 GPUs as one rank does: its place in
// every channel, and its rings.
func BenchmarkConnectOneRank(b *testing.B) {
	graphs := randomGraphs(rand.New(rand.NewPCG(3, 3)), 8, 8, PatternBalancedTree)
	members := equalNodes(2048, 8, graphs)
	b.ReportAllocs()
	for b.Loop() {
		l, err := Connect(members, LayoutParams{})
		if err != nil {
			b.Fatal(err)
		}
		for c := range l.Channels {
			l.RingNeighbors(c, 5)
			l.Tree(c, 5)
		}
	}
}

// TestLayouts runs the commands of golden/topo/layouts.txt: "layout MACHINE HOSTS"
// prints what the ranks of so many hosts agree on.
func TestLayouts(t *testing.T) {
	golden.Script(t, "topo/layouts.txt", func(input string) string {
		words := strings.Fields(input)
		require.Len(t, words, 3, "%q", input)
		hosts, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		members, err := Members(ownMachine(t, words[1]), HostParams{Hosts: hosts, Search: SearchParams{CrossNIC: CrossNICPairs, NVLS: true}})
		require.NoError(t, err)
		l, err := Connect(members, LayoutParams{})
		require.NoError(t, err)
		checkLayout(t, l)
		return l.String()
	})
}
