package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// recorder is a Sink that keeps what it is told.
type recorder struct {
	run       *report.Run
	skipped   []report.Skipped
	comments  []string
	wrong     []Replay // the pass of each wrong measurement
	rows      []report.Row
	decisions []report.Decision
	progress  []int
	loaded    []int
	phases    []report.Phase
	summary   *report.Summary
}

func (r *recorder) Begin(run *report.Run, skipped []report.Skipped) {
	r.run, r.skipped = run, skipped
}
func (r *recorder) Comment(text string) { r.comments = append(r.comments, text) }
func (r *recorder) Row(row report.Row, d report.Decision) {
	r.rows, r.decisions = append(r.rows, row), append(r.decisions, d)
}
func (r *recorder) Progress(done, total int, _ string) { r.progress = append(r.progress, done, total) }
func (r *recorder) Loading(done, total int)            { r.loaded = append(r.loaded, done, total) }
func (r *recorder) Startup(phases []report.Phase)      { r.phases = phases }
func (r *recorder) Wrong(text string, in Replay) {
	r.comments, r.wrong = append(r.comments, text), append(r.wrong, in)
}
func (r *recorder) Versus(report.Rival)  {}
func (r *recorder) End(s report.Summary) { r.summary = &s }

// h200x2 is the PTX machine with two GPUs.
func h200x2(t *testing.T) *Machine {
	system, err := topo.Builtin("h200x2")
	require.NoError(t, err)
	m, err := PTXMachine(system)
	require.NoError(t, err)
	return m
}

// small is a run of a moment.
func small() *Config {
	return &Config{
		Threads: 1, GPUs: 2, RanksPerGPU: 1, MinBytes: 8, MaxBytes: 40, StepBytes: 32,
		Types: []coll.DataType{coll.Float32}, Ops: []coll.UserOp{coll.OpSum},
		Iters: 1, Agg: 1, Check: 1, Seed: 1, Schedules: 1, HangRank: -1,
	}
}

func noEnvironment(string) (string, bool) { return "", false }

// Rows come in nccl-tests' order: types, operators, sizes; protocols outside.
func TestRunRows(t *testing.T) {
	c := small()
	c.Types, c.Ops = []coll.DataType{coll.Int32, coll.Float64}, []coll.UserOp{coll.OpMax, coll.OpAvg}
	c.Protos = []coll.Proto{coll.LL, coll.Simple}
	var out recorder
	require.NoError(t, Run(context.Background(), c, h200x2(t), noEnvironment, &out))

	var rows []string
	for i, row := range out.rows {
		rows = append(rows, fmt.Sprintf("%s %s %d/%d %s", row.Type, row.Op, row.Bytes, row.Count, out.decisions[i].Kernel))
		require.Equal(t, -1, row.Root)
		require.Zero(t, row.Out.Wrong+row.In.Wrong)
		require.Positive(t, row.Out.Time)
		// Over two ranks the factor is 1.
		require.Equal(t, row.Out.AlgBW, row.Out.BusBW)
		require.InEpsilon(t, float64(row.Bytes)/row.Out.Time/1e3, row.Out.AlgBW, 1e-9)
	}
	require.Equal(t, []string{
		"int32 max 8/2 AllReduce_MinMax_u32_RING_LL",
		"int32 max 40/10 AllReduce_MinMax_u32_RING_LL",
		"int32 avg 8/2 AllReduce_SumPostDiv_u32_RING_LL",
		"int32 avg 40/10 AllReduce_SumPostDiv_u32_RING_LL",
		"double max 8/1 AllReduce_MinMax_f64_RING_LL",
		"double max 40/5 AllReduce_MinMax_f64_RING_LL",
		"double avg 8/1 AllReduce_PreMulSum_f64_RING_LL",
		"double avg 40/5 AllReduce_PreMulSum_f64_RING_LL",
		"int32 max 8/2 AllReduce_MinMax_u32_RING_SIMPLE",
		"int32 max 40/10 AllReduce_MinMax_u32_RING_SIMPLE",
		"int32 avg 8/2 AllReduce_SumPostDiv_u32_RING_SIMPLE",
		"int32 avg 40/10 AllReduce_SumPostDiv_u32_RING_SIMPLE",
		"double max 8/1 AllReduce_MinMax_f64_RING_SIMPLE",
		"double max 40/5 AllReduce_MinMax_f64_RING_SIMPLE",
		"double avg 8/1 AllReduce_PreMulSum_f64_RING_SIMPLE",
		"double avg 40/5 AllReduce_PreMulSum_f64_RING_SIMPLE",
	}, rows)
	require.Equal(t, []string{"protocol LL", "protocol Simple"}, out.comments)
	require.Empty(t, out.skipped)
	require.Len(t, out.progress, 2*len(rows))
	require.Equal(t, []int{0, 16, 1, 16}, out.progress[:4])
	require.Len(t, out.run.Devices, 2)
	require.NotNil(t, out.summary)
	require.Zero(t, out.summary.OutOfBounds)
}

// What is not built, or not for GPUs that old, is left out and named, if all of a
// vocabulary is asked for; else it is refused.
func TestRunSkips(t *testing.T) {
	system, err := topo.Builtin("dgx-a100")
	require.NoError(t, err)
	m, err := PTXMachine(system)
	require.NoError(t, err)
	c := small()
	c.Types = []coll.DataType{coll.BFloat16, coll.F8E5M2}
	c.Protos, c.SkipUnbuilt = []coll.Proto{coll.LL, coll.Simple}, true
	var out recorder
	require.NoError(t, Run(context.Background(), c, m, noEnvironment, &out))
	require.Len(t, out.rows, 2*2)
	const reason = "f8e5m2 reductions need compute capability 9.0; GPU 0 is sm_80"
	require.Equal(t, []report.Skipped{{Type: "f8e5m2", Op: "sum", Reason: reason}}, out.skipped)

	c.SkipUnbuilt = false
	var refusal *Refusal
	require.ErrorAs(t, Run(context.Background(), c, m, noEnvironment, &out), &refusal)
	require.EqualError(t, refusal, "f8e5m2 sum: "+reason)

	c.Types, c.Algos, c.SkipUnbuilt = c.Types[:1], []coll.Algo{coll.Tree}, true
	require.ErrorAs(t, Run(context.Background(), c, m, noEnvironment, &out), &refusal)
	require.EqualError(t, refusal, "nothing to run: not in this build")
}

// Operators with a scalar run like the others, and so does the memory model of
// GPUs, which the header names.
func TestRunMulSumInWeakMemory(t *testing.T) {
	c := small()
	c.Types, c.Ops = []coll.DataType{coll.Int8, coll.BFloat16, coll.F8E4M3}, []coll.UserOp{coll.OpMulSum}
	c.Protos, c.WeakMemory, c.Schedules = []coll.Proto{coll.LL, coll.Simple}, true, 2
	var out recorder
	require.NoError(t, Run(context.Background(), c, h200x2(t), noEnvironment, &out))
	require.Len(t, out.rows, 2*3*2)
	require.Zero(t, out.summary.OutOfBounds)
	require.Contains(t, out.run.Notes, weakNote)
}

// Operations that are waited for one by one are no group.
func TestRunInWeakMemoryWaits(t *testing.T) {
	c := small()
	c.WeakMemory, c.Agg, c.Blocking = true, 3, 2
	var out recorder
	require.NoError(t, Run(context.Background(), c, h200x2(t), noEnvironment, &out))
	require.Zero(t, out.summary.OutOfBounds)
}

// GPUs that reach each other over PCIe, and only those, lack what NVLink promises.
func TestWeakMemoryOfTopology(t *testing.T) {
	require.Nil(t, weak(&Config{}, nil))
	for name, pcie := range map[string]bool{"dgx-h100": false, "pcie8": true} {
		system, err := topo.Builtin(name)
		require.NoError(t, err)
		w := weak(&Config{WeakMemory: true}, system)
		require.Equal(t, pcie, w.PCIe(0, 1), name)
		require.False(t, w.PCIe(1, 1), name)
	}
}

// What is wrong is counted for each measurement, over all schedules, and does
// not end the run.
func TestRunCountsWrong(t *testing.T) {
	m := h200x2(t)
	open := m.open
	m.open = func(c *Config, seed uint64) (device.Driver, error) {
		d, err := open(c, seed)
		return &lyingDriver{Driver: d}, err
	}
	c := small()
	c.Schedules = 3
	var out recorder
	require.NoError(t, Run(context.Background(), c, m, noEnvironment, &out))
	require.Len(t, out.rows, 2)
	for _, row := range out.rows {
		// One element of the send buffer, one of the receive buffer.
		require.Equal(t, int64(2*3), row.Out.Wrong)
		require.Equal(t, int64(2*3), row.In.Wrong)
	}
	require.Equal(t, 4, out.summary.OutOfBounds)
	require.Len(t, out.comments, 2*2*3, "each seed is named")
	require.Equal(t, Replay{Seed: 2}, out.wrong[4])
	require.Equal(t, "seed 2: float sum, 2 elements, out of place: 2 wrong, the first: rank 1 send, element 0", out.comments[4])
}

// lyingDriver returns a wrong byte whenever memory of its GPU 1 is read.
type lyingDriver struct{ device.Driver }

type lyingDevice struct{ device.Device }

type ownedStream struct {
	device.Stream
	owner device.Device
}

func (d *lyingDriver) Open(i int) (device.Device, error) {
	dev, err := d.Driver.Open(i)
	return &lyingDevice{dev}, err
}

func (d *lyingDevice) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	return &ownedStream{s, d}, err
}

func (s *ownedStream) Device() device.Device { return s.owner }

func (d *lyingDevice) EnablePeer(other device.Device) error {
	return d.Device.EnablePeer(other.(*lyingDevice).Device)
}

func (d *lyingDevice) CopyOut(dst []byte, src device.Ptr) error {
	err := d.Device.CopyOut(dst, src)
	if d.Ordinal() == 1 && len(dst) > guardBytes {
		dst[guardBytes] ^= 1
	}
	return err
}

func TestRunRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		want   string
	}{
		"more ranks than GPUs":  {func(c *Config) { c.GPUs = 3 }, "3 GPUs (-t 1 times -g 3) are more than the 2 of topology h200x2; give fewer, or another topology (--topo)"},
		"graphs and waiting":    {func(c *Config) { c.Graphs, c.Blocking = 3, 2 }, "blocking (-z) 2 with cudagraph (-G) 3"},
		"weak memory of groups": {func(c *Config) { c.WeakMemory, c.Agg, c.Blocking = true, 2, 3 }, "--weak-memory with agg_iters (-m) 2: nothing orders the operations of a group"},
		"NCCL without GPUs":     {func(c *Config) { c.Rival = "libnccl.so.2" }, "--vs libnccl.so.2: NCCL needs GPUs; use --device cuda"},
		"NCCL, shared GPUs":     {func(c *Config) { c.Rival, c.RanksPerGPU = "x", 2 }, "NCCL refuses several ranks on one GPU"},
		"NCCL and waiting":      {func(c *Config) { c.Rival, c.Blocking = "x", 1 }, "--vs with blocking (-z) 1"},
		"NCCL and schedules":    {func(c *Config) { c.Rival, c.Schedules = "x", 2 }, "--vs with --schedules 2"},
		"not built":             {func(c *Config) { c.Algos = []coll.Algo{coll.Tree} }, "float sum: Tree: not in this build; possible: "},
		"nothing built": {func(c *Config) {
			c.Algos, c.SkipUnbuilt = []coll.Algo{coll.Tree}, true
		}, "nothing to run: not in this build"},
		"more memory than the host has": {func(c *Config) { c.MaxBytes = 1 << 30 }, "here 2 ranks may have buffers of up to 715827882 bytes each"},
		"more ranks than a communicator has": {func(c *Config) {
			c.RanksPerGPU, c.MinBytes, c.MaxBytes = math.MaxInt32, 0, 0
		}, "--ranks-per-gpu 2147483647: on 2 GPUs these are 4294967294 ranks, and a communicator may have 640"},
		"channels": {func(c *Config) { c.Channels = 1000 }, "1000"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := small()
			tt.change(c)
			var out recorder
			err := Run(context.Background(), c, h200x2(t), noEnvironment, &out)
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
			require.Nil(t, out.run)
		})
	}
}

// A hang ends the run with the fault, naming who waits and at what address.
func TestRunReportsHang(t *testing.T) {
	c := small()
	c.HangRank = 0
	var out recorder
	err := Run(context.Background(), c, h200x2(t), noEnvironment, &out)
	var fault *device.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, device.Stuck, fault.Kind)
	var failed *PassError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, Replay{Seed: 1}, failed.Replay)
	require.Nil(t, out.summary)
	require.NotEmpty(t, fault.Others)
	for _, other := range fault.Others {
		require.True(t, strings.HasPrefix(other.Label, "rank 1 ch "), other.Label)
		require.Positive(t, other.Line)
	}
	require.NotZero(t, fault.Others[0].Addr)
	require.Contains(t, fault.Others[0].AddrLabel, "rank 1 ch")
}

// A device without capture has no graphs.
func TestRunRefusesGraphs(t *testing.T) {
	m := h200x2(t)
	open := m.open
	m.open = func(c *Config, seed uint64) (device.Driver, error) {
		d, err := open(c, seed)
		return &lyingDriver{Driver: d}, err
	}
	c := small()
	c.Graphs = 3
	var out recorder
	err := Run(context.Background(), c, m, noEnvironment, &out)
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.EqualError(t, err, "rank 0: cudagraph (-G) 3: the streams of device sim cannot be captured; leave -G out")
}

// Graphs give the right results: each check launches one with fresh data.
func TestRunGraphs(t *testing.T) {
	c := small()
	c.Graphs, c.Iters, c.Agg, c.Check = 2, 2, 2, 3
	var out recorder
	require.NoError(t, Run(context.Background(), c, h200x2(t), noEnvironment, &out))
	require.Len(t, out.rows, 2)
	require.Zero(t, out.summary.OutOfBounds)
	require.Equal(t, 2, out.run.Graphs)
}

// Several ranks on a GPU have consecutive numbers, and their results are right.
func TestRunRanksPerGPU(t *testing.T) {
	c := small()
	c.RanksPerGPU = 3
	c.Startup = true
	var out recorder
	require.NoError(t, Run(context.Background(), c, h200x2(t), noEnvironment, &out))
	var ordinals []int
	for _, d := range out.run.Devices {
		ordinals = append(ordinals, d.Ordinal)
	}
	require.Equal(t, []int{0, 0, 0, 1, 1, 1}, ordinals)
	require.Len(t, out.rows, 2)
	require.Zero(t, out.summary.OutOfBounds)
	require.NotEmpty(t, out.loaded)
	var names []string
	for _, p := range out.phases {
		names = append(names, p.Name)
		require.GreaterOrEqual(t, p.Milliseconds, 0.0)
	}
	require.Equal(t, []string{"communicators", "first launch", "first result"}, names)
}

func TestSpread(t *testing.T) {
	var seconds []float64
	for i := range rounds {
		seconds = append(seconds, float64((i*8)%rounds)/1e6) // 0 to 20 us, mixed
	}
	require.Equal(t, report.Spread{Low: 2, Median: 10, High: 18}, spread(seconds))
}

// TestSafetyOverOwnRings: whether a protocol is safe is asked of the rings that a run
// has, which a variable decides.
func TestSafetyOverOwnRings(t *testing.T) {
	system, err := topo.Load(filepath.Join(testenv.Shared(t, "reference/machines"), "rccl_4p3l_n2.xml"), os.ReadFile)
	require.NoError(t, err)
	m, err := PTXMachine(system)
	require.NoError(t, err)
	c := small()
	c.GPUs = 8
	for value, want := range map[string]string{"0": "the channels have PHB", "1": "the channels have SYS", "": "the channels have SYS"} {
		why, err := m.unsafe(c, coll.LL128, func(name string) (string, bool) { return value, name == "NCCLGO_BETTER_CHANNELS" })
		require.NoError(t, err)
		require.Contains(t, why, want, "NCCLGO_BETTER_CHANNELS=%s", value)
	}
	_, err = m.unsafe(c, coll.LL128, func(name string) (string, bool) { return "2", name == "NCCLGO_BETTER_CHANNELS" })
	require.ErrorContains(t, err, "NCCLGO_BETTER_CHANNELS=2: allowed are 0 to 1")
}
