package planner

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

// randomGroup returns up to 60 calls with choices of m, some of them with
// options.
func randomGroup(t *testing.T, r *rand.Rand, m *Model) []Task {
	tasks := make([]Task, 1+r.IntN(60))
	for i := range tasks {
		c := Call{
			Func: coll.AllReduce, Op: coll.RedOp(r.IntN(3)),
			Type: coll.DataType(r.IntN(3)), Count: r.Int64N(1 << r.IntN(30)),
		}
		choice, err := m.Choose(c, Options{})
		require.NoError(t, err)
		tasks[i] = Task{c, choice}
	}
	return tasks
}

// checkPlan checks what every plan must satisfy.
func checkPlan(t *testing.T, cfg *Config, m *Model, tasks []Task, p *Plan) {
	done := make([]int, len(tasks))
	variants := map[coll.Variant]bool{}
	for _, l := range p.Launches {
		require.False(t, variants[l.Variant], "%v launched twice", l.Variant)
		variants[l.Variant] = true
		require.LessOrEqual(t, l.Channels, m.Channels())
		busy := make([]bool, l.Channels)
		for k, w := range l.Works {
			task := tasks[w.Task]
			done[w.Task]++
			require.Equal(t, l.Variant, task.Choice.Variant)
			require.LessOrEqual(t, w.Threads, l.Threads)
			checkChunk(t, cfg, l.Variant.Proto, w.ChunkBytes)
			if k > 0 {
				before := tasks[l.Works[k-1].Task]
				require.GreaterOrEqual(t, cmp.Or(cmp.Compare(before.Choice.Bytes, task.Choice.Bytes),
					cmp.Compare(w.Task, l.Works[k-1].Task)), 0, "order of works")
			}
			next := int64(0)
			for ch := w.ChannelLo; ch <= w.ChannelHi; ch++ {
				busy[ch] = true
				first, count := w.Part(ch)
				require.Equal(t, next, first, "channel %d of %+v", ch, w)
				require.Positive(t, count)
				require.Zero(t, first*int64(task.Call.Type.Size())%16)
				next += count
			}
			require.Equal(t, task.Call.Count, next, "%+v", w)
		}
		require.NotContains(t, busy, false, "an idle CTA: %v", p)
	}
	for i, task := range tasks {
		require.Equal(t, min(1, task.Call.Count), int64(done[i]), "call %d", i)
	}
}

func TestPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		cfg := config(t, []string{"dgx-h100", "pcie8"}[r.IntN(2)], 1+r.IntN(8), firstKernels)
		cfg.Limits.MaxChannels = 1 + r.IntN(64)
		cfg.Limits.MinChannels = 1 + r.IntN(cfg.Limits.MaxChannels)
		for p := range cfg.Limits.BufferBytes {
			cfg.Limits.BufferBytes[p] = 8<<10 + r.IntN(1<<20)
		}
		m := model(t, cfg)
		tasks := randomGroup(t, r, m)
		p := m.Plan(tasks)
		checkPlan(t, cfg, m, tasks, &p)
	}
}

// TestOneCall: a call alone is spread over as many channels as were chosen for
// it, about evenly.
func TestOneCall(t *testing.T) {
	cfg := config(t, "dgx-h100", 8, firstKernels)
	m := model(t, cfg)
	for channels := 1; channels <= m.Channels(); channels++ {
		for _, count := range []int64{1, 3, 4, 5, 1000, 4099, 1 << 20, 1<<20 + 1, 1<<28 - 1} {
			for _, proto := range []coll.Proto{coll.LL, coll.LL128, coll.Simple} {
				choice, err := m.Choose(sum(count), Options{Channels: channels, Protos: Protos(proto)})
				require.NoError(t, err)
				tasks := []Task{{sum(count), choice}}
				p := m.Plan(tasks)
				checkPlan(t, cfg, m, tasks, &p)
				w := p.Launches[0].Works[0]
				parts := make([]int64, 0, channels)
				for ch := w.ChannelLo; ch <= w.ChannelHi; ch++ {
					_, n := w.Part(ch)
					parts = append(parts, n)
				}
				// No channel has more than its share and one cell: a 32nd of it
				// or 16 bytes, which are 4 elements.
				share := float64(count) / float64(channels)
				require.LessOrEqual(t, float64(slices.Max(parts)), max(share*33/32, share+4)+4,
					"%d elements on %d channels: %v", count, channels, parts)
				if count > 1000 {
					require.GreaterOrEqual(t, 10*len(parts), 9*channels, "%d elements on %d channels: %v", count, channels, parts)
				}
			}
		}
	}
}

func TestEmptyGroups(t *testing.T) {
	m := model(t, config(t, "dgx-h100", 8, firstKernels))
	require.Empty(t, m.Plan(nil).Launches)
	choice, err := m.Choose(sum(0), Options{})
	require.NoError(t, err)
	require.Empty(t, m.Plan([]Task{{sum(0), choice}}).Launches)
}

// TestMixedPlans: groups of all functions, types and algorithms, on one node and on
// several, with random limits: each call once, all its bytes, launches by traffic,
// and in a launch no channel that has much more to do than the others.
func TestMixedPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	configs := []*Config{nodesConfig(t, "dgx-h100", 1), nodesConfig(t, "dgx-h100", 4), nodesConfig(t, "dgx-a100", 2)}
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		cfg := *configs[r.IntN(len(configs))]
		cfg.Limits.MaxChannels = 1 + r.IntN(64)
		m := model(t, &cfg)
		calls := make([]Call, 1+r.IntN(40))
		for i := range calls {
			calls[i] = Call{
				Func: []coll.Func{coll.Broadcast, coll.Reduce, coll.AllGather, coll.ReduceScatter, coll.AllReduce}[r.IntN(5)],
				Type: []coll.DataType{coll.Int8, coll.Float16, coll.Float64}[r.IntN(3)], Count: r.Int64N(1 << r.IntN(30)),
			}
		}
		tasks, err := m.ChooseGroup(calls, Options{})
		require.NoError(t, err)
		p := m.Plan(tasks)
		checkPlan(t, &cfg, m, tasks, &p)
		for i, l := range p.Launches {
			if i > 0 {
				first := func(l *Launch) int64 { return m.callTraffic(calls[l.Works[0].Task]) }
				require.LessOrEqual(t, first(&l), first(&p.Launches[i-1]), "order of launches")
			}
			checkBalance(t, m, tasks, &l)
		}
	}
}

// checkBalance checks that no channel of a launch has more to do than its share and
// two cells.
func checkBalance(t *testing.T, m *Model, tasks []Task, l *Launch) {
	if m.apart(l.Variant) {
		return
	}
	traffic := m.trafficPerByte(l.Variant.Func)
	busy, total, wanted := make([]int64, l.Channels), int64(0), 0
	for _, w := range l.Works {
		c := tasks[w.Task].Call
		wanted += tasks[w.Task].Choice.Channels
		for ch := w.ChannelLo; ch <= w.ChannelHi; ch++ {
			_, count := w.Part(ch)
			busy[ch] += count * int64(c.Type.Size()) * traffic
			total += count * int64(c.Type.Size()) * traffic
		}
	}
	share := total / int64(min(wanted, m.channelsOf(l.Variant)))
	require.LessOrEqual(t, slices.Max(busy), share+2*(minTraffic+chunkAlign*traffic)+share/16, "%v: %d of %d channels, share %d: %v", l.Variant, l.Channels, wanted, share, busy)
}
