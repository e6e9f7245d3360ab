package planner

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// TestChooseGroup looks at which calls of a group are decided together: those get
// what one call of their sum gets.
func TestChooseGroup(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, allKernels))
	call := func(f coll.Func, op coll.RedOp, typ coll.DataType, count int64) Call {
		return Call{Func: f, Op: op, Type: typ, Count: count}
	}
	gather := func(typ coll.DataType, count int64) Call { return call(coll.AllGather, 0, typ, count) }
	for _, test := range []struct {
		name  string
		calls []Call
		// sums are the calls that decide, by call.
		sums []Call
	}{
		{"alone", []Call{sum(1000)}, []Call{sum(1000)}},
		{"within four times", []Call{sum(1000), sum(3999)}, []Call{sum(4999), sum(4999)}},
		{"four times", []Call{sum(4000), sum(1000)}, []Call{sum(4000), sum(1000)}},
		{
			"from the smallest on", []Call{sum(16000), sum(1000), sum(4000), sum(3000)},
			[]Call{sum(16000), sum(4000), sum(4000), sum(4000)},
		},
		{"nothing is with nothing", []Call{sum(0), sum(1 << 20), sum(0)}, []Call{sum(0), sum(1 << 20), sum(0)}},
		{
			"by operator", []Call{sum(1000), call(coll.AllReduce, coll.Prod, coll.Float32, 1000), sum(1000)},
			[]Call{sum(2000), call(coll.AllReduce, coll.Prod, coll.Float32, 1000), sum(2000)},
		},
		{
			"by type", []Call{sum(1000), call(coll.AllReduce, coll.Sum, coll.Float64, 1000)},
			[]Call{sum(1000), call(coll.AllReduce, coll.Sum, coll.Float64, 1000)},
		},
		{
			"bytes of what only copies", []Call{gather(coll.Float64, 1000), gather(coll.Float32, 3000), sum(5000)},
			[]Call{gather(coll.Uint8, 20000), gather(coll.Uint8, 20000), sum(5000)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tasks, err := m.ChooseGroup(test.calls, Options{})
			require.NoError(t, err)
			require.Len(t, tasks, len(test.calls))
			for i, task := range tasks {
				want, err := m.Choose(test.sums[i], Options{})
				require.NoError(t, err)
				want.Bytes = m.Bytes(test.calls[i])
				want.ChunkBytes = task.Choice.ChunkBytes
				require.Equal(t, test.calls[i], task.Call)
				require.Equal(t, want, task.Choice, "call %d", i)
			}
		})
	}
}

// TestLargeGroup: sums of calls stay in range, and refusals name what is wrong.
func TestLargeGroup(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, firstKernels))
	tasks, err := m.ChooseGroup([]Call{sum(m.maxCount), sum(m.maxCount), sum(m.maxCount)}, Options{})
	require.NoError(t, err)
	p := m.Plan(tasks)
	require.Len(t, p.Launches, 1)
	require.Len(t, p.Launches[0].Works, 3)

	_, err = m.ChooseGroup([]Call{sum(1), sum(-1)}, Options{})
	require.ErrorIs(t, err, result.ErrInvalidArgument)
	require.ErrorContains(t, err, "count -1")
	_, err = m.ChooseGroup([]Call{sum(1), {Func: coll.AllReduce, Op: coll.PreMulSum, Type: coll.Float32, Count: 4}}, Options{})
	require.ErrorIs(t, err, result.ErrNotBuilt)
}

// TestGroupsAgree: whatever else is different, ranks that give the same calls get
// the same plan, also from another model of the same facts.
func TestGroupsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		cfg := config(t, "dgx-h100", 2+r.IntN(7), firstKernels)
		a, b := model(t, cfg), model(t, cfg)
		calls := make([]Call, 1+r.IntN(40))
		for i := range calls {
			calls[i] = Call{Func: coll.AllReduce, Op: coll.RedOp(r.IntN(3)), Type: coll.DataType(r.IntN(3)), Count: r.Int64N(1 << r.IntN(26))}
		}
		x, err := a.ChooseGroup(calls, Options{})
		require.NoError(t, err)
		y, err := b.ChooseGroup(calls, Options{})
		require.NoError(t, err)
		require.Equal(t, a.Plan(x), b.Plan(y))
		p := a.Plan(x)
		checkPlan(t, cfg, a, x, &p)
	}
}

// TestRoundings: rings of many ranks are the last choice to reduce 8-bit floats, and
// as good as for bytes where they are only copied.
func TestRoundings(t *testing.T) {
	m := model(t, nodesConfig(t, "dgx-h100", 2))
	for _, f := range []coll.Func{coll.AllReduce, coll.ReduceScatter, coll.Reduce, coll.AllGather, coll.Broadcast} {
		of := func(typ coll.DataType) float32 {
			choice, err := m.Choose(Call{Func: f, Type: typ, Count: 1 << 20}, Options{Algos: Algos(coll.Ring)})
			require.NoError(t, err)
			return choice.Time
		}
		require.Equal(t, f.Reduces(), of(coll.F8E4M3) > 100*of(coll.Uint8), "%v", f)
	}
}
