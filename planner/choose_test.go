package planner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

func sum(count int64) Call {
	return Call{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Count: count}
}

func TestRefusedCalls(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, firstKernels))
	for _, c := range []struct {
		name string
		call Call
		o    Options
		kind error
		want string
	}{
		{
			"protocol not built", sum(1), Options{Algos: Algos(coll.Tree), Protos: Protos(coll.LL128)}, result.ErrNotBuilt,
			"AllReduce: Sum of f32 with Tree and LL128: not in this build; possible: Ring LL, Ring LL128, Ring Simple",
		},
		{
			"algorithm not built", sum(1), Options{Algos: Algos(coll.Tree, coll.PAT)}, result.ErrNotBuilt,
			"AllReduce: Sum of f32 with Tree or PAT and any protocol: not in this build; possible: Ring LL, Ring LL128, Ring Simple",
		},
		{
			"operator not built", Call{Func: coll.AllReduce, Op: coll.PreMulSum, Count: 1}, Options{}, result.ErrNotBuilt,
			"AllReduce: PreMulSum of i8 with any algorithm and any protocol: not in this build; nothing else is possible",
		},
		{
			"excluded by a rule", Call{Func: coll.Broadcast, Count: 1},
			Options{Algos: Algos(coll.Tree), Protos: Protos(coll.LL)}, result.ErrInvalidArgument,
			"Broadcast: with Tree and LL is not possible: not defined for Broadcast; nothing else is possible",
		},
		{"count", sum(-1), Options{}, result.ErrInvalidArgument, "AllReduce: count -1 is out of range"},
		{"large count", sum(math.MaxInt64 / 8), Options{}, result.ErrInvalidArgument, "AllReduce: count 1152921504606846975 is out of range"},
		{"channels", sum(1), Options{Channels: 25}, result.ErrInvalidArgument, "AllReduce: 25 channels; the communicator has 24, 1 to that are allowed"},
		{"threads", sum(1), Options{Threads: 65}, result.ErrInvalidArgument, "AllReduce: 65 threads; a multiple of 32 from 64 to 640 is allowed"},
		{"type", Call{Func: coll.AllReduce, Type: coll.NumDataTypes}, Options{}, result.ErrInvalidArgument, "AllReduce: function, op or type is none: {5 0 12}"},
		{"function", Call{Func: coll.NumFuncs}, Options{}, result.ErrInvalidArgument, "plan: function, op or type is none: {7 0 0}"},
		{
			"no algorithm", Call{Func: coll.SendRecv, Count: 1}, Options{}, result.ErrInvalidArgument,
			"SendRecv: sends and receives are scheduled in rounds; they have no algorithm to choose",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := m.Choose(c.call, c.o)
			require.ErrorIs(t, err, c.kind)
			require.EqualError(t, err, c.want)
			require.Equal(t, c.kind == result.ErrNotBuilt, result.CodeOf(err) == result.InvalidUsage)
			_, err = m.Explain(c.call, c.o)
			require.EqualError(t, err, c.want)
		})
	}
}

// TestUnsafeLL128: over links that tear lines LL128 is neither chosen nor to be
// had, whatever else is asked for.
func TestUnsafeLL128(t *testing.T) {
	graph := func(change func(*Facts)) *Model {
		cfg := config(t, "dgx-a100", 8, firstKernels)
		change(&cfg.Facts)
		return model(t, cfg)
	}
	for _, test := range []struct {
		name     string
		m        *Model
		why      string
		possible string
	}{
		{"PCIe", model(t, config(t, "pcie8", 8, firstKernels)), "needs NVLink between neighbours, the channels have SYS", "Ring LL, Ring Simple"},
		{"PCIe, all built", model(t, config(t, "pcie8", 8, allKernels)), "needs NVLink between neighbours, the channels have SYS", "Tree LL, Tree Simple, Ring LL, Ring Simple"},
		{"one hop by PCIe", graph(func(f *Facts) { f.Graphs[topo.GraphRing].TypeIntra = topo.PathPIX }), "needs NVLink between neighbours, the channels have PIX", "Ring LL, Ring Simple"},
		{"old GPU", graph(func(f *Facts) { f.MinSM, f.MaxSM = 60, 60 }), "needs sm_70", "Ring LL, Ring Simple"},
		{"different GPUs", graph(func(f *Facts) { f.MinSM = 70 }), "needs sm_90 between different GPUs", "Ring LL, Ring Simple"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, algos := range []AlgoSet{0, Algos(coll.Ring)} {
				_, err := test.m.Choose(sum(1), Options{Algos: algos, Protos: Protos(coll.LL128)})
				require.ErrorIs(t, err, result.ErrInvalidArgument)
				require.EqualError(t, err, fmt.Sprintf("AllReduce: Sum of f32 with %v and LL128 is not possible: LL128 %s; possible: %s",
					algos, test.why, test.possible))
			}
			for bytes := int64(4); bytes < 1<<32; bytes *= 2 {
				e, err := test.m.Explain(sum(bytes/4), Options{Algos: Algos(coll.Ring), Protos: Protos(coll.LL, coll.LL128, coll.Simple)})
				require.NoError(t, err)
				require.NotEqual(t, coll.LL128, e.Choice.Variant.Proto)
				i := slices.IndexFunc(e.Alternatives, func(a Alternative) bool { return a.Algo == coll.Ring && a.Proto == coll.LL128 })
				require.Equal(t, test.why, e.Alternatives[i].Reason)
			}
		})
	}
}

// TestChoices: whatever the call, the choice is one that was asked for, is legal,
// and is the fastest of the alternatives that Explain lists.
func TestChoices(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, machine := range []string{"dgx-h100", "dgx-a100", "pcie8"} {
		for n := 1; n <= 8; n++ {
			cfg := config(t, machine, n, allKernels)
			m := model(t, cfg)
			for range 200 {
				c := Call{
					Func: coll.Func(r.IntN(int(coll.SendRecv))), Op: coll.RedOp(r.IntN(coll.NumRedOps)),
					Type: coll.DataType(r.IntN(coll.NumDataTypes)), Count: r.Int64N(1 << r.IntN(40)),
				}
				o := Options{Channels: r.IntN(m.Channels() + 1), Threads: 32 * []int{0, 2, 16}[r.IntN(3)]}
				if r.IntN(2) == 0 {
					o.Protos = ProtoSet(r.IntN(8))
				}
				if machine == "pcie8" && n > 1 && o.Protos == Protos(coll.LL128) {
					_, err := m.Choose(c, o)
					require.ErrorIs(t, err, result.ErrInvalidArgument)
					continue
				}
				e, err := m.Explain(c, o)
				require.NoError(t, err)
				choice, err := m.Choose(c, o)
				require.NoError(t, err)
				require.Equal(t, choice, e.Choice)

				v := choice.Variant
				require.Equal(t, c.Func, v.Func)
				require.True(t, o.Protos.Has(v.Proto) && o.Algos.Has(v.Algo))
				require.GreaterOrEqual(t, choice.Channels, 1)
				require.LessOrEqual(t, choice.Channels, m.Channels())
				require.Zero(t, choice.Threads%warpSize)
				require.LessOrEqual(t, choice.Threads, cfg.Limits.MaxThreads)
				if o.Channels != 0 {
					require.Equal(t, o.Channels, choice.Channels)
				}
				if o.Threads != 0 {
					require.Equal(t, o.Threads, choice.Threads)
				}
				checkChunk(t, cfg, v.Proto, choice.ChunkBytes)
				for _, alt := range e.Alternatives {
					require.Equal(t, alt.Reason == "", alt.Time >= 0, "%+v", alt)
					if alt.Time >= 0 {
						require.GreaterOrEqual(t, alt.Time, choice.Time)
					}
				}
			}
		}
	}
}

func checkChunk(t *testing.T, c *Config, p coll.Proto, chunk int) {
	require.Positive(t, chunk)
	require.Zero(t, chunk%16)
	slots := c.Limits.BufferBytes[p] / c.Limits.NumSteps * c.Limits.ChunkSteps[p]
	perLine := map[coll.Proto][2]int{coll.LL: {4, 8}, coll.LL128: {120, 128}, coll.Simple: {1, 1}}[p]
	require.LessOrEqual(t, chunk*perLine[1], slots*perLine[0], "%s chunk of %d bytes", p, chunk)
}

// TestMoreBytes: a larger call takes no less time, and no fewer channels with
// the same protocol.
func TestMoreBytes(t *testing.T) {
	for _, machine := range []string{"dgx-h100", "dgx-a100", "pcie8"} {
		m := model(t, config(t, machine, 8, firstKernels))
		var last Choice
		for count := int64(1); count < 1<<32; count += 1 + count/3 {
			c, err := m.Choose(sum(count), Options{})
			require.NoError(t, err)
			require.GreaterOrEqual(t, c.Time, last.Time)
			if c.Variant == last.Variant {
				require.GreaterOrEqual(t, c.Channels, last.Channels)
			}
			last = c
		}
		// Large calls use what has the higher bandwidth, with all channels.
		require.Equal(t, coll.Simple, last.Variant.Proto)
		require.Equal(t, m.Channels(), last.Channels)
	}
}

// TestSameOnAllRanks: models made apart, as those of the ranks are, choose and
// plan the same.
func TestSameOnAllRanks(t *testing.T) {
	ours := model(t, config(t, "dgx-h100", 8, firstKernels))
	theirs := model(t, config(t, "dgx-h100", 8, firstKernels))
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		tasks, others := randomGroup(t, r, ours), []Task(nil)
		for _, task := range tasks {
			choice, err := theirs.Choose(task.Call, Options{})
			require.NoError(t, err)
			others = append(others, Task{task.Call, choice})
		}
		require.Equal(t, tasks, others)
		require.Equal(t, ours.Plan(tasks), theirs.Plan(others))
	}
}

func TestChooseDoesNotAllocate(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, firstKernels))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = m.Choose(sum(1<<20), Options{})
	}))
}

func BenchmarkChoose(b *testing.B) {
	m := model(b, config(b, "dgx-h100", 8, allKernels))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = m.Choose(sum(1<<20), Options{})
	}
}

func BenchmarkPlan(b *testing.B) {
	m := model(b, config(b, "dgx-h100", 8, allKernels))
	choice, err := m.Choose(sum(1<<20), Options{})
	require.NoError(b, err)
	tasks := []Task{{sum(1 << 20), choice}}
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Plan(tasks)
	}
}
