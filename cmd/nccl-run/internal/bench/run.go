package bench

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/libnccl"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// Sink takes what a run finds, in order: Begin, then comments and rows, then
// End. A run that fails has no End.
type Sink interface {
	Begin(r *report.Run, skipped []report.Skipped)
	Comment(text string)
	Row(r report.Row, d report.Decision)
	// Progress says what is measured next: how many measurements are done, of
	// how many.
	Progress(done, total int, what string)
	// Loading says how many kernels are ready, of how many. It may be called by any
	// goroutine.
	Loading(done, total int)
	// Startup says what it took to get to the first result.
	Startup(phases []report.Phase)
	// Wrong says what is wrong with a measurement, and in which pass.
	Wrong(text string, in Replay)
	// Versus says beside which NCCL the rows are measured.
	Versus(r report.Rival)
	End(s report.Summary)
}

// program is what nccl-tests calls its test of AllReduce.
const program = "all_reduce_perf"

// Run does what c asks on m and tells out. Getenv looks up NCCL_* variables. The
// error is a [*Refusal] if nothing was run; wrong results are no error: they are
// in the summary.
func Run(ctx context.Context, c *Config, m *Machine, getenv func(string) (string, bool), out Sink) error {
	if err := c.validate(); err != nil {
		return err
	}
	if err := m.suits(c); err != nil {
		return err
	}
	if n, gpus := m.NumGPUs(), c.Threads*c.GPUs; gpus > n {
		return refuse("%d GPUs (-t %d times -g %d) are more than the %d of %s; give fewer%s",
			gpus, c.Threads, c.GPUs, n, m.where(), m.instead())
	}
	if ranks := c.Ranks(); ranks > topo.MaxGPUs {
		return refuse("--ranks-per-gpu %d: on %d GPUs these are %d ranks, and a communicator may have %d; give fewer",
			c.RanksPerGPU, c.Threads*c.GPUs, ranks, topo.MaxGPUs)
	}
	if most := m.maxBuffer(c); c.MaxBytes > most {
		return refuse("maxbytes (-e) %d is too large: here %d ranks may have buffers of up to %d bytes each",
			c.MaxBytes, c.Ranks(), most)
	}
	sizes, err := c.sizes()
	if err != nil {
		return err
	}
	if err := c.hangs(sizes); err != nil {
		return err
	}
	walks, skipped, err := chooseWalks(c, m, getenv)
	if err != nil {
		return err
	}
	r := &run{c: c, m: m, getenv: getenv, out: out, sizes: sizes, skipped: skipped}
	if c.Rival != "" {
		if r.lib, err = libnccl.Open(c.Rival); err != nil {
			return refuse("--vs %s: %w", c.Rival, err)
		}
	}
	for _, w := range walks {
		r.total += len(w.cases) * len(r.sizes) * c.Schedules
	}
	for _, w := range walks {
		if err := r.walk(ctx, w); err != nil {
			return err
		}
	}
	out.End(r.summary())
	return nil
}

// errInterrupted ends a run whose context ended.
var errInterrupted = errors.New("interrupted: the operations under way were aborted")

// run is the state of one Run.
type run struct {
	c       *Config
	m       *Machine
	getenv  func(string) (string, bool)
	out     Sink
	sizes   []int64
	skipped []report.Skipped
	lib     *libnccl.Library // to compare with; nil for none

	begun        bool
	done, total  int // measured sizes, of all schedules
	busBW        float64
	measurements int
	outOfBounds  int
}

// describe returns the header of the report.
func (r *run) describe() *report.Run {
	c := r.c
	d := &report.Run{
		Program: program, Threads: c.Threads, GPUs: c.GPUs, MinBytes: c.MinBytes, MaxBytes: c.MaxBytes,
		Step: c.StepBytes, Warmup: c.Warmup, Iters: c.Iters, Agg: c.Agg, Check: c.Check,
		Blocking: c.Blocking, Unalign: c.Unalign, Graphs: c.Graphs,
		Notes: []string{fmt.Sprintf("ncclgo on %s; seed %d, schedules %d; %s",
			r.m.Describe(c.Threads*c.GPUs), c.Seed, c.Schedules, r.m.TimeSource)},
	}
	if c.WeakMemory {
		d.Notes = append(d.Notes, weakNote)
	}
	if c.StepFactor > 1 {
		d.Step, d.ByFactor = c.StepFactor, true
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	for rank := range c.Ranks() {
		gpu := r.m.gpus[c.gpu(rank)]
		d.Devices = append(d.Devices, report.Device{
			Rank: rank, PID: os.Getpid(), Host: host, Ordinal: c.gpu(rank), BusID: gpu.BusID, Name: gpu.Name,
		})
	}
	return d
}

func (r *run) summary() report.Summary {
	s := report.Summary{OutOfBounds: r.outOfBounds}
	if r.measurements > 0 {
		s.BusBW = r.busBW / float64(r.measurements)
	}
	return s
}

// walk goes through the rows of w once for each schedule. Rows come out in the
// last pass, with the mean time and all that was wrong.
func (r *run) walk(ctx context.Context, w walk) error {
	rows := make([]tally, len(w.cases)*len(r.sizes))
	for schedule := range r.c.Schedules {
		seed := r.c.Seed + uint64(schedule)
		p, err := r.openPass(ctx, seed, w)
		switch {
		case err != nil && ctx.Err() != nil:
			return errInterrupted
		case err != nil && !r.begun:
			return &Refusal{err}
		case err != nil:
			return &PassError{w.replay(seed), err}
		}
		if schedule == 0 {
			err = r.introduce(ctx, w, p)
		}
		if err == nil {
			err = r.pass(ctx, w, p, rows, schedule == r.c.Schedules-1)
		}
		if err != nil {
			p.abandon()
			if ctx.Err() != nil {
				return errInterrupted
			}
			return &PassError{w.replay(seed), err}
		}
		if err := p.close(); err != nil {
			return &PassError{w.replay(seed), err}
		}
	}
	return nil
}

// introduce begins the report, once, and says what the rows of a walk have in
// common.
func (r *run) introduce(ctx context.Context, w walk, p *pass) error {
	if !r.begun {
		r.begun = true
		r.out.Begin(r.describe(), r.skipped)
		if r.lib != nil {
			r.out.Versus(report.Rival{Path: r.lib.Path(), Version: r.lib.Version(), Text: r.lib.VersionText(), Rounds: rounds})
		}
		if r.c.Startup {
			phases, err := p.start(ctx, r.m, w, r.sizes[0])
			if err != nil {
				return err
			}
			r.out.Startup(phases)
		}
	}
	if len(r.c.Protos) > 1 {
		r.out.Comment(fmt.Sprintf("protocol %s", w.protos[0]))
	}
	if r.c.Trace {
		r.traceStart(p)
	}
	return nil
}

// pass measures every row once; last says whether the rows are complete then.
func (r *run) pass(ctx context.Context, w walk, p *pass, rows []tally, last bool) error {
	for _, k := range w.cases {
		if err := r.warmup(ctx, p, k); err != nil {
			return err
		}
		for _, size := range r.sizes {
			row := &rows[0]
			rows = rows[1:]
			count := int(size) / k.typ.Size()
			r.out.Progress(r.done, r.total, fmt.Sprintf("%s %s %d bytes, seed %d", k.typ.LongName(), k.op, size, p.seed))
			for i, inPlace := range []bool{false, true} {
				cell := cell{k.typ, k.op, count, inPlace}
				s, err := p.measure(ctx, cell)
				if err != nil {
					return fmt.Errorf("%v: %w", cell, err)
				}
				row[i].seconds += s.seconds
				row[i].wrong += s.wrong
				row[i].contest = s.contest
				if s.wrong > 0 {
					r.out.Wrong(fmt.Sprintf("seed %d: %v: %d wrong, the first: %s", p.seed, cell, s.wrong, s.first), w.replay(p.seed))
				}
			}
			r.done++
			if last {
				if err := r.finish(k, count, row, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// warmup runs the untimed iterations of one type and operator.
func (r *run) warmup(ctx context.Context, p *pass, k typeOp) error {
	if r.c.Warmup == 0 {
		return nil
	}
	for _, size := range r.sizes {
		cell := cell{k.typ, k.op, int(size) / k.typ.Size(), false}
		p.place(cell)
		for range r.c.Warmup {
			if err := p.issue(ctx, cell, 1); err != nil {
				return fmt.Errorf("warm-up of %v: %w", cell, err)
			}
		}
		if err := p.wait(ctx); err != nil {
			return fmt.Errorf("warm-up of %v: %w", cell, err)
		}
	}
	return nil
}

// tally adds up the samples of a row, out of place and in place.
type tally [2]sample

// finish reports a row.
func (r *run) finish(k typeOp, count int, t *tally, p *pass) error {
	bytes := count * k.typ.Size()
	row := report.Row{
		Bytes: int64(bytes), Count: int64(count), Type: k.typ.LongName(), Op: k.op.String(), Root: -1,
		Out: r.measurement(t[0], bytes), In: r.measurement(t[1], bytes),
	}
	var d report.Decision
	// An empty operation launches nothing, and neither does an only rank.
	launch := p.takeLaunch()
	if launch.Kernel != "" {
		d = report.Decision{
			Algo: launch.Variant.Algo.String(), Proto: launch.Variant.Proto.String(),
			Channels: launch.Channels, Kernel: launch.Kernel,
		}
	}
	if r.lib != nil {
		row.Versus = &report.Versus{Out: r.contest(t[0], bytes), In: r.contest(t[1], bytes)}
	}
	if r.c.Trace {
		if err := p.traceRow(k, count, launch, r.out); err != nil {
			return err
		}
	}
	r.out.Row(row, d)
	return nil
}

// contest completes what a cell's rounds with the rival gave.
func (r *run) contest(s sample, size int) report.Contest {
	c := *s.contest
	c.AlgBW = float64(size) / 1e3 / c.Theirs.Median
	c.BusBW = c.AlgBW * coll.AllReduce.BusBWFactor(r.c.Ranks())
	if c.Wrong > 0 {
		r.out.Comment(fmt.Sprintf("NCCL: %d wrong, the first: %s", c.Wrong, c.First))
	}
	return c
}

// measurement turns a sum of samples into columns, and counts it.
func (r *run) measurement(s sample, size int) report.Measurement {
	seconds := s.seconds / float64(r.c.Schedules)
	algBW := float64(size) / 1e9 / seconds
	m := report.Measurement{
		Time: seconds * 1e6, AlgBW: algBW, BusBW: algBW * coll.AllReduce.BusBWFactor(r.c.Ranks()),
		Checked: r.c.Check > 0, Wrong: s.wrong,
	}
	r.busBW += m.BusBW
	r.measurements++
	if m.Wrong > 0 {
		r.outOfBounds++
	}
	return m
}
