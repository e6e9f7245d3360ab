package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// TestChunks: chunks of NCCL's algorithms by the bytes of a channel. Expectations are
// what calcCollChunking of NCCL v2.30 gives for the same figures.
func TestChunks(t *testing.T) {
	const k, m, g = 1 << 10, 1 << 20, 1 << 30
	limits := DefaultLimits()
	two := Facts{
		NRanks: 16, NNodes: 2, MaxLocalRanks: 8, NVLSHeads: 8, NVLSChunkBytes: 128 * k, NVLSTreeChunkBytes: 128 * k, DirectHeads: 8,
	}
	four := two
	four.NNodes, four.NVLSTreeChunkBytes = 4, 64*k
	model := func(f Facts, nvls float32) *Model {
		m := &Model{facts: f}
		m.costs[coll.AllReduce][coll.NVLS][coll.Simple].bw = nvls
		return m
	}
	g2, slow, wide := model(two, 300), model(two, 149), model(four, 300)
	type sizes map[int64]int // of chunks, by bytes
	for _, test := range []struct {
		name string
		m    *Model
		f    coll.Func
		a    coll.Algo
		p    coll.Proto
		want sizes
	}{
		{"tree, LL", g2, coll.AllReduce, coll.Tree, coll.LL, sizes{8: 32 * k, g: 32 * k}},
		{"tree, LL128", g2, coll.AllReduce, coll.Tree, coll.LL128, sizes{8: 17280, 256 * k: 34560, 512 * k: 71040, 4 * m: 144000, g: 576000}},
		{"tree, Simple", g2, coll.AllReduce, coll.Tree, coll.Simple, sizes{8: 512 * k, g: 512 * k}},
		{"CollNet", g2, coll.AllReduce, coll.CollNetDirect, coll.Simple, sizes{8: 32 * k, 8 * m: 64 * k, 64 * m: 128 * k, 256 * m: 256 * k, g: 512 * k}},
		{"CollNet chain", g2, coll.AllReduce, coll.CollNetChain, coll.Simple, sizes{8: 32 * k, 512 * k: 64 * k, 8 * m: 128 * k, g: 256 * k}},
		{"NVLS", g2, coll.AllReduce, coll.NVLS, coll.Simple, sizes{8: 16 * k, 512 * k: 32 * k, 8 * m: 64 * k, 64 * m: 128 * k}},
		{"NVLS, slow network", slow, coll.AllReduce, coll.NVLS, coll.Simple, sizes{8: 16 * k, 512 * k: 32 * k, g: 32 * k}},
		{"NVLS tree", g2, coll.AllReduce, coll.NVLSTree, coll.Simple, sizes{8: 32 * k, 512 * k: 64 * k, 4 * m: 128 * k, g: 128 * k}},
		{"NVLS tree, four nodes", wide, coll.AllReduce, coll.NVLSTree, coll.Simple, sizes{8: 32 * k, 512 * k: 64 * k, g: 64 * k}},
		{"PAT, all-gather", g2, coll.AllGather, coll.PAT, coll.Simple, sizes{8: 64 * k, 4 * m: 128 * k, 8 * m: 256 * k, 16 * m: 512 * k}},
		{"PAT, reduce-scatter", g2, coll.ReduceScatter, coll.PAT, coll.Simple, sizes{8: 64 * k, 2 * m: 128 * k, 8 * m: 512 * k}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := coll.Variant{Func: test.f, Algo: test.a, Proto: test.p}
			for bytes, want := range test.want {
				got := test.m.chunkAsNCCL(v, bytes, limits.slotData(test.p)) / grain[test.p] * grain[test.p]
				require.Equal(t, want, got, "%d bytes", bytes)
			}
		})
	}
}

// TestSteps: how many slots chunks and slices take.
func TestSteps(t *testing.T) {
	l := DefaultLimits()
	for _, test := range []struct {
		f            coll.Func
		a            coll.Algo
		p            coll.Proto
		chunk, slice int
	}{
		{coll.AllReduce, coll.Ring, coll.Simple, 4, 2},
		{coll.AllGather, coll.Ring, coll.Simple, 4, 2},
		{coll.ReduceScatter, coll.Ring, coll.Simple, 4, 2},
		{coll.Broadcast, coll.Ring, coll.Simple, 1, 1},
		{coll.Reduce, coll.Ring, coll.Simple, 1, 1},
		{coll.AllGatherV, coll.Ring, coll.Simple, 1, 1},
		{coll.AllReduce, coll.Ring, coll.LL, 1, 1},
		{coll.AllReduce, coll.Ring, coll.LL128, 1, 1},
		{coll.AllReduce, coll.Tree, coll.Simple, 1, 1},
		{coll.AllReduce, coll.NVLS, coll.Simple, 1, 1},
		{coll.AllGather, coll.PAT, coll.Simple, 1, 1},
	} {
		chunk, slice := l.steps(coll.Variant{Func: test.f, Algo: test.a, Proto: test.p})
		require.Equal(t, [2]int{test.chunk, test.slice}, [2]int{chunk, slice}, "%v %v %v", test.f, test.a, test.p)
	}
}

// TestRingChunks: a ring moves its part in as few chunks as fit, all of about one
// size; what goes through all ranks in turn goes in chunks of one slot.
func TestRingChunks(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, allKernels))
	for _, test := range []struct {
		f     coll.Func
		p     coll.Proto
		bytes int64
		want  int
	}{
		{coll.AllReduce, coll.Simple, 100, 16},
		{coll.AllReduce, coll.Simple, 16 << 20, 2 << 20},
		{coll.AllReduce, coll.Simple, 16<<20 + 1, 1<<20 + 16},
		{coll.AllGather, coll.Simple, 2 << 20, 2 << 20},
		{coll.AllGather, coll.Simple, 3 << 20, 3 << 19},
		{coll.Broadcast, coll.Simple, 3 << 20, 512 << 10},
		{coll.Reduce, coll.Simple, 600 << 10, 300 << 10},
		{coll.AllReduce, coll.LL, 256 << 10, 32 << 10},
		{coll.AllReduce, coll.LL128, 8 * 576000, 576000},
	} {
		v := coll.Variant{Func: test.f, Algo: coll.Ring, Proto: test.p}
		require.Equal(t, test.want, m.chunk(v, test.bytes), "%v %v %d bytes", test.f, test.p, test.bytes)
	}
}

// TestPlansOfEveryAlgorithm: calls of all functions with all algorithms and protocols
// that there are costs of are planned, on one node and on several, whatever is built.
func TestPlansOfEveryAlgorithm(t *testing.T) {
	for _, cfg := range []*Config{
		nodesConfig(t, "dgx-h100", 1), nodesConfig(t, "dgx-h100", 2), nodesConfig(t, "dgx-h100", 4),
		nodesWithCollNet(t, 1), nodesWithCollNet(t, 2),
	} {
		m := model(t, cfg)
		for f := range coll.Func(coll.NumFuncs) {
			for _, w := range m.ways[f] {
				for _, count := range []int64{1, 1000, 1 << 20, 1<<28 + 5} {
					c := Call{Func: f, Op: coll.Sum, Type: coll.Float32, Count: count}
					choice, err := m.Choose(c, Options{Algos: Algos(w.algo), Protos: Protos(w.proto)})
					require.NoError(t, err)
					tasks := []Task{{c, choice}, {c, choice}}
					p := m.Plan(tasks)
					require.Len(t, p.Launches, 1)
					var bytes [2]int64
					for move := range p.Moves() {
						require.Equal(t, bytes[move.Task], move.First, "%v: %v", choice, &p)
						bytes[move.Task] += move.Bytes
						require.Less(t, move.Channel, p.Launches[0].Channels)
						require.LessOrEqual(t, move.Work.ChunkBytes, m.limits.slotData(w.proto)*move.Work.ChunkSteps)
						require.Zero(t, move.Work.ChunkSteps%move.Work.SliceSteps)
					}
					require.Equal(t, [2]int64{4 * count, 4 * count}, bytes, "%v", &p)
					if w := p.Launches[0].Works; m.apart(p.Launches[0].Variant) {
						require.Equal(t, [2]int{0, w[0].ChannelHi}, [2]int{w[1].ChannelLo, w[1].ChannelHi}, "%v", &p)
					}
					require.LessOrEqual(t, p.Launches[0].Channels, max(m.channels, m.nvlsChannels))
				}
			}
		}
	}
}

// nodesConfig returns the configuration of a communicator over so many hosts, all
// kernels built.
func nodesConfig(t testing.TB, machine string, hosts int) *Config {
	l, err := topo.Connect(membersOf(t, machine, hosts), topo.LayoutParams{})
	require.NoError(t, err)
	return &Config{Facts: FactsOf(l), Kernel: allKernels, Limits: DefaultLimits()}
}

// membersOf returns the nodes of a communicator over so many hosts.
func membersOf(t testing.TB, machine string, hosts int) []topo.Member {
	s, err := topo.Builtin(machine)
	require.NoError(t, err)
	members, err := topo.Members(s, topo.HostParams{Hosts: hosts, Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true}})
	require.NoError(t, err)
	return members
}
