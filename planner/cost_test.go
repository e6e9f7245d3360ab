package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// nodesWithCollNet returns the configuration of a communicator over so many nodes
// whose network reduces.
func nodesWithCollNet(t testing.TB, nodes int) *Config {
	s, err := topo.Builtin("dgx-h100")
	require.NoError(t, err)
	members, err := topo.Members(s, topo.HostParams{
		Hosts: nodes, Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true, CollNet: true},
	})
	require.NoError(t, err)
	l, err := topo.Connect(members, topo.LayoutParams{CollNet: true, CollNetNodes: 1})
	require.NoError(t, err)
	return &Config{Facts: FactsOf(l), Kernel: allKernels, Limits: DefaultLimits()}
}

// TestReasons: why an algorithm is out, or that it is not, by what is changed of two
// nodes whose network reduces.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(c *Config)
		f      coll.Func
		a      coll.Algo
		p      coll.Proto
		want   string
	}{
		{"as it is", func(*Config) {}, coll.AllReduce, coll.CollNetDirect, coll.Simple, ""},
		{"as it is", func(*Config) {}, coll.AllGather, coll.CollNetDirect, coll.Simple, ""},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.CollNetChain, coll.Simple, ""},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.NVLS, coll.Simple, ""},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.NVLSTree, coll.Simple, ""},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.PAT, coll.Simple, "not defined for AllReduce"},
		{"as it is", func(*Config) {}, coll.Broadcast, coll.Tree, coll.LL, "not defined for Broadcast"},
		{"as it is", func(*Config) {}, coll.AllGather, coll.PAT, coll.Simple, "needs one rank a node, or NCCL_PAT_ENABLE=1"},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.NVLS, coll.LL, "NVLS has Simple only"},
		{"as it is", func(*Config) {}, coll.AllReduce, coll.OneShot, coll.LL, "needs one node"},
		{"few heads", func(c *Config) { c.Facts.CollNetHeads = 4 }, coll.AllGather, coll.CollNetDirect, coll.Simple, "needs a network card for each rank"},
		{"few heads", func(c *Config) { c.Facts.CollNetHeads = 4 }, coll.ReduceScatter, coll.NVLS, coll.Simple, "needs a network card for each rank"},
		{"few heads", func(c *Config) { c.Facts.CollNetHeads = 4 }, coll.AllReduce, coll.CollNetDirect, coll.Simple, ""},
		{"few heads on one node", func(c *Config) { c.Facts = nodesWithCollNet(t, 1).Facts; c.Facts.CollNetHeads = 4 }, coll.AllGather, coll.CollNetDirect, coll.Simple, ""},
		{"one node", func(c *Config) { c.Facts = nodesWithCollNet(t, 1).Facts }, coll.AllReduce, coll.NVLSTree, coll.Simple, "needs two nodes"},
		{"chains from elsewhere", func(c *Config) { c.Facts.CollNetChains = false }, coll.AllReduce, coll.CollNetChain, coll.Simple, "needs chains that begin at CollNet's heads"},
		{"no CollNet", func(c *Config) { c.Facts.CollNet = false }, coll.AllReduce, coll.NVLS, coll.Simple, "needs CollNet"},
		{"no CollNet", func(c *Config) { c.Facts.CollNet = false }, coll.AllReduce, coll.NVLSTree, coll.Simple, ""},
		{"no NVSwitch", func(c *Config) { c.Facts.Hardware.NVSwitch = false }, coll.AllReduce, coll.CollNetDirect, coll.Simple, "needs an NVSwitch"},
		{"no multicast", func(c *Config) { c.Facts.Graphs[topo.GraphNVLS].Channels = 0 }, coll.AllReduce, coll.NVLSTree, coll.Simple, "needs multicast"},
		{"one NVLS channel", func(c *Config) { c.Facts.Graphs[topo.GraphNVLS].Channels = 1 }, coll.AllReduce, coll.NVLSTree, coll.Simple, "needs two channels of NVLS"},
		{"old GPUs", func(c *Config) { c.Facts.MinSM = 70 }, coll.AllReduce, coll.NVLSTree, coll.Simple, "carries nothing on these GPUs and links"},
		{"large nodes", func(c *Config) { c.Facts.MaxLocalRanks = 9 }, coll.AllReduce, coll.CollNetDirect, coll.Simple, "serves up to 8 ranks a node"},
		{"larger nodes", func(c *Config) { c.Facts.MaxLocalRanks, c.Facts.CollNetHeads = 33, 33 }, coll.AllGather, coll.NVLS, coll.Simple, "serves up to 32 ranks a node"},
		{"larger nodes", func(c *Config) { c.Facts.MaxLocalRanks = 33 }, coll.AllReduce, coll.NVLS, coll.Simple, ""},
		{"PAT everywhere", func(c *Config) { c.Settings.PAT = PATOn }, coll.AllGather, coll.PAT, coll.Simple, ""},
		{"NVLS off", func(c *Config) { c.Settings.NoNVLS = true }, coll.AllReduce, coll.NVLSTree, coll.Simple, "disabled by NCCL_NVLS_ENABLE"},
		{"NVLS off where it is not", func(c *Config) { c.Facts.MinSM, c.Settings.NoNVLS = 80, true }, coll.AllReduce, coll.NVLS, coll.Simple, "needs multicast"},
		{"PAT nowhere", func(c *Config) { c.Settings.PAT = PATOff }, coll.AllGather, coll.PAT, coll.Simple, "disabled by NCCL_PAT_ENABLE"},
		{"cards through a GPU", func(c *Config) { c.Facts.Graphs[topo.GraphRing].TypeInter = topo.PathPXN }, coll.AllReduce, coll.Ring, coll.LL128, ""},
		{"... with C2C off", func(c *Config) {
			c.Facts.Graphs[topo.GraphRing].TypeInter = topo.PathPXN
			c.Settings.NoLL128C2C = true
		}, coll.AllReduce, coll.Ring, coll.LL128, "needs network cards no farther than PXB, the channels have PXN"},
		{"cards through a CPU", func(c *Config) { c.Facts.Graphs[topo.GraphTree].TypeInter = topo.PathPHB }, coll.AllReduce, coll.Tree, coll.LL128, "needs network cards no farther than PXN, the channels have PHB"},
		{"NCCL's own", func(c *Config) { c.AsNCCL = true }, coll.AllReduce, coll.Ring, coll.LL, ""},
		{"not NCCL's", func(c *Config) { c.AsNCCL = true }, coll.AllReduce, coll.TwoShot, coll.LL, "not one of NCCL's"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := nodesWithCollNet(t, 2)
			test.change(c)
			m := model(t, c)
			why, kind := m.reason(Call{Func: test.f, Op: coll.Sum, Type: coll.Float32, Count: 1}, Options{}, test.a, test.p)
			require.Equal(t, test.want, why)
			require.Equal(t, why == "", kind == open)
		})
	}
}

// TestLossyRings: rings of more than 8 ranks round 8-bit floats too often to be
// preferred to anything.
func TestLossyRings(t *testing.T) {
	cfg := nodesWithCollNet(t, 2)
	var err error
	cfg.Settings.Algos, err = ParseAlgos("tree,ring")
	require.NoError(t, err)
	m := model(t, cfg)
	for _, typ := range []coll.DataType{coll.F8E4M3, coll.F8E5M2, coll.Uint8} {
		e, err := m.Explain(Call{Func: coll.AllReduce, Type: typ, Count: 1 << 31}, Options{})
		require.NoError(t, err)
		want := coll.Tree
		if typ == coll.Uint8 {
			want = coll.Ring
		}
		require.Equal(t, want, e.Choice.Variant.Algo, "%v", typ)
	}
}

// TestDirectModel: the direct algorithms take what was measured of two H200s.
func TestDirectModel(t *testing.T) {
	m := model(t, config(t, "h200x2", 2, allKernels))
	for _, row := range []struct {
		bytes            int64
		oneShot, twoShot float32 // µs, measured
	}{
		{8, 1.88, 5.25}, {64 << 10, 2.60, 5.49}, {256 << 10, 3.67, 5.97}, {1 << 20, 8.80, 8.22}, {64 << 20, 0, 193}, {1 << 30, 0, 2959},
	} {
		one := timeOf(m, coll.AllReduce, coll.OneShot, coll.LL, row.bytes)
		two := timeOf(m, coll.AllReduce, coll.TwoShot, coll.Simple, row.bytes)
		if row.oneShot > 0 {
			require.InEpsilon(t, row.oneShot, one, 0.12, "%d bytes", row.bytes)
		}
		require.InEpsilon(t, row.twoShot, two, 0.05, "%d bytes", row.bytes)
	}
	// A rank of 8 writes to 7 peers over the same links.
	eight := model(t, config(t, "dgx-h100", 8, allKernels))
	require.InEpsilon(t, m.Bandwidth(coll.AllReduce, coll.OneShot, coll.LL)/7, eight.Bandwidth(coll.AllReduce, coll.OneShot, coll.LL), 1e-6)
}
