package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/libnccl"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/check"
)

// rounds is how often each library runs the timed iterations of a cell. It is
// odd, so that the median is one of them.
const rounds = 21

// rival is NVIDIA's NCCL with communicators over the same GPUs.
type rival struct {
	lib    *libnccl.Library
	comms  []*libnccl.Comm
	mulsum []map[coll.DataType]libnccl.Op // of each rank, of the types that are asked for
	// streams are NCCL's own, one for each rank, and handles their CUstreams: what
	// a stream costs once others may use it behind our back is not to be charged
	// to ncclgo.
	streams []device.Stream
	handles []uintptr
}

// openRival makes NCCL's communicators.
func (p *pass) openRival(lib *libnccl.Library, w walk) error {
	r := &rival{lib: lib}
	gpus := make([]int, len(p.ranks))
	for i := range p.ranks {
		gpus[i] = p.c.gpu(i)
		stream, err := p.ranks[i].stream.Device().NewStream()
		if err != nil {
			return err
		}
		s, ok := stream.(interface{ Handle() uintptr })
		if !ok {
			return fmt.Errorf("--vs: the streams of device %s are none of CUDA's", p.driver.Name())
		}
		r.streams, r.handles = append(r.streams, stream), append(r.handles, s.Handle())
	}
	var err error
	if r.comms, err = lib.InitAll(gpus); err != nil {
		return fmt.Errorf("NCCL %s: %w", lib.VersionText(), err)
	}
	p.rival = r
	return r.makeOps(w)
}

// makeOps makes the operators with a scalar that w asks for.
func (r *rival) makeOps(w walk) error {
	for rank, c := range r.comms {
		r.mulsum = append(r.mulsum, map[coll.DataType]libnccl.Op{})
		for _, k := range w.cases {
			if k.op != coll.OpMulSum {
				continue
			}
			o, err := c.NewPreMulSum(k.typ, check.Scalar(k.typ, rank))
			if err != nil {
				return fmt.Errorf("--vs: op mulsum: %w", err)
			}
			r.mulsum[rank][k.typ] = o
		}
	}
	return nil
}

// op returns the operator that an operation of k has on a rank.
func (r *rival) op(rank int, k cell) libnccl.Op {
	if k.op == coll.OpMulSum {
		return r.mulsum[rank][k.typ]
	}
	return libnccl.Op(k.op)
}

// close ends NCCL's communicators. A nil r is no rival.
func (r *rival) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, c := range r.comms {
		errs = append(errs, c.Close())
	}
	for _, s := range r.streams {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// abandon ends NCCL's communicators whatever they are doing.
func (r *rival) abandon() {
	if r == nil {
		return
	}
	for _, c := range r.comms {
		_ = c.Abort() // what went wrong has been reported; this only releases
	}
}

// turns exchanges the ranks' streams and NCCL's, so that what waits, captures and
// replays does so for the other library.
func (p *pass) turns() {
	for i := range p.ranks {
		p.ranks[i].stream, p.rival.streams[i] = p.rival.streams[i], p.ranks[i].stream
	}
}

// asRival does f on NCCL's streams.
func (p *pass) asRival(f func() error) error {
	p.turns()
	defer p.turns()
	return f()
}

// issueRival is issue with NCCL: the same operations.
func (p *pass) issueRival(ctx context.Context, k cell, ops int) error {
	return cut(ctx, ops, func(ops int) error { return p.groupRival(k, ops) })
}

func (p *pass) groupRival(k cell, ops int) error {
	return p.rival.lib.Group(func() error {
		for i, c := range p.rival.comms {
			r := &p.ranks[i]
			for range ops {
				if err := c.AllReduce(r.input(k).data(), r.recv.data(), uint64(k.count), k.typ, p.rival.op(i, k), p.rival.handles[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// compare runs a cell with both libraries in turn, over the same buffers, and
// checks NCCL's results. It returns ncclgo's seconds of one operation, the median
// over the rounds. What comes first changes from round to round, so that what one
// leaves in caches and clocks favours neither; the first round is not counted.
func (p *pass) compare(ctx context.Context, k cell, ours *batch) (seconds float64, _ *report.Contest, err error) {
	var theirs *batch
	err = p.asRival(func() (err error) {
		theirs, err = p.batch(ctx, func(ctx context.Context, ops int) error { return p.issueRival(ctx, k, ops) })
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, theirs.close()) }()
	// Every run ends with a wait, so the libraries never overlap.
	both := [2]func() (float64, error){
		func() (float64, error) { return ours.run(ctx) },
		func() (t float64, err error) {
			err = p.asRival(func() error { t, err = theirs.run(ctx); return err })
			return t, err
		},
	}
	var times [2][]float64 // seconds
	for round := range 1 + rounds {
		for turn := range both {
			who := (round + turn) % len(both)
			t, err := both[who]()
			if err != nil {
				return 0, nil, err
			}
			if round > 0 {
				times[who] = append(times[who], t)
			}
		}
	}
	c := &report.Contest{Ours: spread(times[0]), Theirs: spread(times[1]), Checked: p.c.Check > 0}
	if c.Checked {
		var first string
		err = p.asRival(func() (err error) {
			c.Wrong, first, err = p.checked(ctx, k, theirs)
			return err
		})
		if err != nil {
			return 0, nil, err
		}
		if c.Wrong > 0 {
			c.First = first
		}
	}
	return c.Ours.Median / 1e6, c, nil
}

// spread returns the median and the tenths at either end, in microseconds.
func spread(seconds []float64) report.Spread {
	slices.Sort(seconds)
	at := func(percent int) float64 { return 1e6 * seconds[(len(seconds)-1)*percent/100] }
	return report.Spread{Low: at(10), Median: at(50), High: at(90)}
}
