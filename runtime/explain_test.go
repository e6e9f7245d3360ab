package nccl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// kernelLaunch is what a device was asked to run.
type kernelLaunch struct {
	kernel        string
	grid, threads int
	channels      []channelWork // of all its works
}

// channelWork is what a channel does of a work.
type channelWork struct {
	channel, threads int
	first, count     uint64 // elements
	chunkBytes       uint32
}

// launchOf decodes a launch.
func launchOf(t testing.TB, l *device.Launch) kernelLaunch {
	var args abi.KernelArgs
	require.NoError(t, devcomm.Decode(l.Args, &args))
	got := kernelLaunch{kernel: l.Function.Name(), grid: l.Grid, threads: l.Threads}
	for _, w := range args.Works[:args.NumWorks] {
		first := uint64(0)
		for ch := w.ChannelLo; ch <= w.ChannelHi; ch++ {
			count := w.CountMid
			switch ch {
			case w.ChannelLo:
				count = w.CountLo
			case w.ChannelHi:
				count = w.CountHi
			}
			got.channels = append(got.channels, channelWork{int(ch), int(w.Threads), first, count, w.ChunkBytes})
			first += count
		}
	}
	return got
}

// launchesOf returns the launches that a plan says, on GPUs of a compute capability.
func launchesOf(t testing.TB, p *planner.Plan, sm int) []kernelLaunch {
	all := make([]kernelLaunch, len(p.Launches))
	for i, l := range p.Launches {
		k, err := generated.Lookup(l.Variant, sm)
		require.NoError(t, err)
		all[i] = kernelLaunch{kernel: k.Symbol, grid: l.Channels, threads: l.Threads}
	}
	for m := range p.Moves() {
		size := int64(p.Tasks[m.Task].Call.Type.Size())
		l := &all[m.Launch]
		l.channels = append(l.channels, channelWork{m.Channel, m.Work.Threads, uint64(m.First / size), uint64(m.Bytes / size), uint32(m.Work.ChunkBytes)})
	}
	return all
}

// watched is a stream that keeps what is launched on it.
type watched struct {
	device.Stream
	t        testing.TB
	launches *[]kernelLaunch
}

func (w watched) Launch(l *device.Launch) error {
	*w.launches = append(*w.launches, launchOf(w.t, l))
	return w.Stream.Launch(l)
}

// explained are settings under which what is explained is compared with what runs.
var explained = []struct {
	name   string
	change func(c *Config)
	env    []string
}{
	{"defaults", func(*Config) {}, nil},
	{"LL", func(c *Config) { c.Protos = []coll.Proto{coll.LL} }, nil},
	{"LL128", func(c *Config) { c.Protos = []coll.Proto{coll.LL128} }, nil},
	{"Simple", func(c *Config) { c.Protos = []coll.Proto{coll.Simple} }, nil},
	{"NCCL_PROTO", func(*Config) {}, []string{"NCCL_PROTO", "^LL"}},
	{"NCCL_ALGO", func(*Config) {}, []string{"NCCL_ALGO", "Ring"}},
	{"one channel", func(c *Config) { c.MinChannels, c.MaxChannels = 1, 1 }, nil},
	{"NCCL_MIN_CTAS", func(*Config) {}, []string{"NCCL_MIN_CTAS", "2"}},
	{"NCCL_NTHREADS", func(*Config) {}, []string{"NCCL_NTHREADS", "96"}},
	{"NCCL_BUFFSIZE", func(c *Config) { c.Protos = []coll.Proto{coll.Simple} }, []string{"NCCL_BUFFSIZE", "8192"}},
}

// TestExplainedIsLaunchedOnPTXMachine compares what Explain and the planner say with
// the kernels that run on the PTX machine: names, grids, threads, and what each
// channel moves in which chunks.
func TestExplainedIsLaunchedOnPTXMachine(t *testing.T) {
	for _, set := range explained {
		for _, ranks := range []int{2, 3} {
			t.Run(fmt.Sprint(set.name, " ", ranks, " ranks"), func(t *testing.T) {
				_, cfg := machine(t, ranks)
				set.change(&cfg)
				cfg.Getenv = variables(set.env...)
				comms := mustInit(t, cfg)
				seen := make([][]kernelLaunch, ranks)
				streams := streamsOf(t, comms)
				for rank, s := range streams {
					streams[rank] = watched{s, t, &seen[rank]}
				}
				for i, count := range []int{1, 77, 1000, 5000, 20000} {
					typ := []coll.DataType{coll.Float32, coll.BFloat16, coll.Int8}[i%3]
					e, err := comms[0].Explain(uint64(count), typ, coll.OpSum)
					require.NoError(t, err)
					j := newJob(t, comms, streams, typ, coll.OpSum, count, false)
					require.NoError(t, Group(j.enqueue))
					j.check(t)
					plan := comms[0].shared.model.Plan([]planner.Task{{Call: e.Call, Choice: e.Choice}})
					want := launchesOf(t, &plan, comms[0].device.Info().SM)
					require.Len(t, want, 1)
					require.LessOrEqual(t, want[0].grid, e.Choice.Channels)
					require.Equal(t, want[0].threads, e.Choice.Threads)
					for rank := range comms {
						require.Equal(t, want, seen[rank], "rank %d: %v", rank, e)
						seen[rank] = nil
					}
				}
			})
		}
	}
}

// TestExplainedIsLaunched does the same for sizes up to the largest, and for groups,
// on devices that run nothing.
func TestExplainedIsLaunched(t *testing.T) {
	for _, set := range explained {
		t.Run(set.name, func(t *testing.T) {
			driver, cfg := fakes(t, 8)
			set.change(&cfg)
			cfg.Getenv = variables(set.env...)
			c := mustInit(t, cfg)[0]
			var seen []kernelLaunch
			driver.OnLaunch(func(l *device.Launch) { seen = append(seen, launchOf(t, l)) })
			s := named(c, "s")
			kernels := map[string]bool{}
			var calls []planner.Call
			for count := uint64(1); count <= 1<<31; count *= 2 {
				e, err := c.Explain(count, coll.Float32, coll.OpSum)
				require.NoError(t, err)
				fastest := slices.MinFunc(e.Alternatives, func(a, b planner.Alternative) int {
					switch {
					case a.Reason == "" && (b.Reason != "" || a.Time < b.Time):
						return -1
					case b.Reason == "" && (a.Reason != "" || b.Time < a.Time):
						return 1
					}
					return 0
				})
				require.Equal(t, fastest.Proto, e.Choice.Variant.Proto, "%v", e)
				require.NoError(t, c.AllReduce(someBuffer, someBuffer, count, coll.Float32, coll.OpSum, s))
				plan := c.shared.model.Plan([]planner.Task{{Call: e.Call, Choice: e.Choice}})
				require.Equal(t, launchesOf(t, &plan, fakeInfo.SM), seen, "%v", e)
				kernels[seen[0].kernel], seen = true, nil
				calls = append(calls, e.Call)
			}
			if set.name == "defaults" {
				require.Len(t, kernels, coll.NumProtos, "every protocol is the fastest for some size")
			}

			require.NoError(t, Group(func(g *Calls) error {
				for _, call := range calls {
					if err := g.AllReduce(c, someBuffer, someBuffer, uint64(call.Count), coll.Float32, coll.OpSum, s); err != nil {
						return err
					}
				}
				return nil
			}))
			tasks, err := c.shared.model.ChooseGroup(calls, c.shared.options)
			require.NoError(t, err)
			plan := c.shared.model.Plan(tasks)
			require.Equal(t, launchesOf(t, &plan, fakeInfo.SM), seen)
		})
	}
}

// TestWorksInArguments: of a group of many calls so many works are in the kernel's
// arguments as its plan says, and the others in the ring.
func TestWorksInArguments(t *testing.T) {
	for _, calls := range []int{1, abi.InlineWorks, abi.InlineWorks + 1, 3 * abi.InlineWorks} {
		driver, cfg := fakes(t, 2)
		c := mustInit(t, cfg)[0]
		var works []uint32
		driver.OnLaunch(func(l *device.Launch) {
			var args abi.KernelArgs
			require.NoError(t, devcomm.Decode(l.Args, &args))
			works = append(works, args.NumWorks)
			require.Equal(t, args.NumWorks > abi.InlineWorks, args.Overflow != 0)
		})
		call := planner.Call{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Count: 1000}
		require.NoError(t, Group(func(g *Calls) error {
			for range calls {
				if err := g.AllReduce(c, someBuffer, someBuffer, 1000, coll.Float32, coll.OpSum, named(c, "s")); err != nil {
					return err
				}
			}
			return nil
		}))
		tasks, err := c.shared.model.ChooseGroup(slices.Repeat([]planner.Call{call}, calls), c.shared.options)
		require.NoError(t, err)
		plan := c.shared.model.Plan(tasks)
		require.Len(t, plan.Launches, 1)
		require.Equal(t, []uint32{uint32(calls)}, works)
		require.Equal(t, min(calls, abi.InlineWorks), plan.Launches[0].InArguments())
		choice, err := c.ExplainGroup(calls, 1000, coll.Float32, coll.OpSum)
		require.NoError(t, err)
		require.Equal(t, tasks[0].Choice, choice)
		text := fmt.Sprintf(", %d works in arguments, %d in the ring\n", abi.InlineWorks, calls-abi.InlineWorks)
		require.Equal(t, calls > abi.InlineWorks, strings.Contains(plan.String(), text), "%v", &plan)
	}
}
