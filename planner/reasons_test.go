package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// TestVerdict: of reasons the highest is told, but not one of several.
func TestVerdict(t *testing.T) {
	type reason struct {
		why  string
		kind barrier
	}
	for _, test := range []struct {
		reasons []reason
		want    string
		kind    barrier
	}{
		{nil, "", open},
		{[]reason{{"", open}, {"", open}}, "", open},
		{[]reason{{"a", nature}, {"b", machine}, {"c", nature}}, ": b", machine},
		{[]reason{{"a", machine}, {"b", machine}}, "", machine},
		{[]reason{{"a", machine}, {"a", machine}, {"b", nature}}, ": a", machine},
		{[]reason{{"a", machine}, {"b", machine}, {"c", build}}, ": c", build},
	} {
		var v verdict
		for _, r := range test.reasons {
			v.add(r.why, r.kind)
		}
		require.Equal(t, test.want, v.clause(), "%v", test.reasons)
		require.Equal(t, test.kind, v.barrier, "%v", test.reasons)
	}
}

// TestTellingReasons: what refusals say where algorithms are out for several reasons.
func TestTellingReasons(t *testing.T) {
	rule := func(v coll.Variant) error {
		if v.Func.Reduces() && v.Type == coll.F8E4M3 {
			return result.New(result.InvalidArgument, "find kernel", "%v: no sums of f8e4m3 here", v)
		}
		return nil
	}
	for _, test := range []struct {
		name   string
		change func(c *Config)
		call   Call
		o      Options
		want   string
	}{
		{
			"by operator", func(*Config) {}, Call{Func: coll.AllReduce, Op: coll.Prod, Type: coll.Float32, Count: 1}, Options{Algos: Algos(coll.NVLS)},
			"AllReduce: Prod of f32 with NVLS and any protocol is not possible: switches do not reduce Prod of f32; possible: ",
		},
		{
			"by a rule of kernels", func(c *Config) { c.Kernel = rule }, Call{Func: coll.AllReduce, Op: coll.Sum, Type: coll.F8E4M3, Count: 1}, Options{Algos: Algos(coll.Ring)},
			"AllReduce: Sum of f8e4m3 with Ring and any protocol is not possible: no sums of f8e4m3 here; nothing else is possible",
		},
		{
			"by a setting", func(*Config) {}, Call{Func: coll.AllGather, Type: coll.Float32, Count: 1}, Options{Algos: Algos(coll.PAT)},
			"AllGather: with PAT and any protocol is not possible: needs one rank a node, or NCCL_PAT_ENABLE=1; possible: ",
		},
		{
			"not NCCL's", func(c *Config) { c.AsNCCL = true }, sum(1), Options{Algos: Algos(coll.OneShot, coll.TwoShot)},
			"AllReduce: Sum of f32 with OneShot or TwoShot and any protocol is not possible: not one of NCCL's; possible: Tree LL, Tree LL128, Tree Simple, Ring LL, Ring LL128, Ring Simple, NVLS Simple",
		},
		{
			"for several reasons", func(*Config) {}, sum(1), Options{Algos: Algos(coll.CollNetDirect, coll.NVLSTree)},
			"AllReduce: Sum of f32 with CollNetDirect or NVLSTree and any protocol is not possible; possible: ",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t, "dgx-h100", 8, allKernels)
			test.change(c)
			_, err := model(t, c).Choose(test.call, test.o)
			require.ErrorIs(t, err, result.ErrInvalidArgument)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestUnsafe: LL128 needs links that do not tear its lines, the others need nothing.
func TestUnsafe(t *testing.T) {
	for machine, want := range map[string]string{"dgx-h100": "", "dgx-a100": "", "pcie8": "needs NVLink between neighbours, the channels have SYS"} {
		f := config(t, machine, 8, allKernels).Facts
		require.Equal(t, want, Unsafe(coll.LL128, &f), machine)
		f.Graphs[topo.GraphRing].TypeIntra = topo.PathPHB
		require.NotEmpty(t, Unsafe(coll.LL128, &f), machine)
		require.Empty(t, Unsafe(coll.LL, &f), machine)
		require.Empty(t, Unsafe(coll.Simple, &f), machine)
	}
}
