package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// firstKernels is the kernel lookup of a build with ring all-reduces of some
// operators.
func firstKernels(v coll.Variant) error {
	switch {
	case v.Func == coll.Broadcast && v.Algo != coll.Ring:
		return result.New(result.InvalidArgument, "find kernel", "Broadcast runs as Ring only")
	case v.Func == coll.AllReduce && v.Algo == coll.Ring && v.Op < coll.PreMulSum:
		return nil
	}
	return result.New(result.InvalidUsage, "find kernel", "%v: %w", v, result.ErrNotBuilt)
}

// allKernels is the kernel lookup of a build with everything.
func allKernels(coll.Variant) error { return nil }

// config returns the configuration of a communicator of n ranks on a built-in
// machine whose GPUs have 132 SMs.
func config(t testing.TB, machine string, n int, kernel func(coll.Variant) error) *Config {
	t.Helper()
	s, err := topo.Builtin(machine)
	require.NoError(t, err)
	s, err = s.FirstGPUs(n)
	require.NoError(t, err)
	members, err := topo.Members(s, topo.HostParams{
		Params: topo.Params{NoIntraNet: true},
		Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true},
	})
	require.NoError(t, err)
	l, err := topo.Connect(members, topo.LayoutParams{})
	require.NoError(t, err)
	return &Config{Facts: FactsOf(l), NumSMs: 132, CTAsPerSM: 1, Kernel: kernel, Limits: DefaultLimits()}
}

func model(t testing.TB, c *Config) *Model {
	t.Helper()
	m, err := New(c)
	require.NoError(t, err)
	return m
}

// timeOf returns the µs predicted for a call of f32 of n bytes.
func timeOf(m *Model, f coll.Func, a coll.Algo, p coll.Proto, n int64) float32 {
	l := m.load(Call{Func: f, Type: coll.Float32}, n, 1)
	return m.time(&l, &m.costs[f][a][p], a, p)
}
