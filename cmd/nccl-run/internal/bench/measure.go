package bench

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/check"
	"github.com/ncclgo/ncclgo/coll"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// cell is one measurement of the table.
type cell struct {
	typ     coll.DataType
	op      coll.UserOp
	count   int // elements
	inPlace bool
}

func (k cell) String() string {
	placement := "out of place"
	if k.inPlace {
		placement = "in place"
	}
	return fmt.Sprintf("%s %s, %d elements, %s", k.typ.LongName(), k.op, k.count, placement)
}

// sample is what one measurement found.
type sample struct {
	seconds float64 // of one operation
	wrong   int64   // elements, and bytes of canaries
	first   string  // where the first wrong thing is; empty if nothing is
}

// measure times a cell and checks it.
//
// The timed iterations are followed by Check repetitions that begin with fresh
// data. If only one iteration is timed it begins with fresh data too and is the
// first of the repetitions: on the PTX machine an operation costs seconds.
func (p *pass) measure(ctx context.Context, k cell) (s sample, err error) {
	p.place(k)
	p.launched(nccl.LaunchInfo{})
	repetitions := p.c.Check
	var data check.Case
	if repetitions > 0 {
		if data, err = p.prepare(k); err != nil {
			return s, err
		}
	}
	if s.seconds, err = p.timed(ctx, k); err != nil {
		return s, err
	}
	if repetitions > 0 && p.c.Iters == 1 && p.c.Agg == 1 {
		repetitions--
		if s.wrong, s.first, err = p.verify(k, data); err != nil {
			return s, err
		}
	}
	for ; repetitions > 0 && s.wrong == 0; repetitions-- {
		if data, err = p.prepare(k); err != nil {
			return s, err
		}
		if err = p.once(ctx, k, 1); err != nil {
			return s, err
		}
		if s.wrong, s.first, err = p.verify(k, data); err != nil {
			return s, err
		}
	}
	return s, nil
}

// timed runs the timed iterations and returns the seconds of one operation.
func (p *pass) timed(ctx context.Context, k cell) (float64, error) {
	var busy time.Duration
	start := time.Now()
	for range p.c.Iters {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := time.Now()
		switch p.c.Blocking {
		case 1, 2:
			// One process has nobody to meet at a barrier, so 1 is 2.
			for range p.c.Agg {
				if err := p.once(ctx, k, 1); err != nil {
					return 0, err
				}
			}
		case 3:
			if err := p.once(ctx, k, p.c.Agg); err != nil {
				return 0, err
			}
		default:
			if err := p.issue(k, p.c.Agg, p.c.HangRank); err != nil {
				return 0, err
			}
		}
		busy += time.Since(began)
	}
	if err := p.wait(ctx); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	if p.c.Blocking == 3 {
		elapsed = busy
	}
	return elapsed.Seconds() / float64(p.c.Iters*p.c.Agg), nil
}

// once runs a group of ops operations and waits for it.
func (p *pass) once(ctx context.Context, k cell, ops int) error {
	if err := p.issue(k, ops, p.c.HangRank); err != nil {
		return err
	}
	return p.wait(ctx)
}

// prepare gives every buffer fresh data.
func (p *pass) prepare(k cell) (check.Case, error) {
	p.checks++
	data := check.Case{
		Type: k.typ, Op: k.op, NumRanks: len(p.ranks), Count: k.count,
		// Passes with neighbouring seeds must not share data.
		Seed: bits.RotateLeft64(p.seed, 32) + p.checks,
	}
	for i := range p.ranks {
		r := &p.ranks[i]
		input := func(dst []byte) { data.Input(i, dst) }
		send, recv := input, poison
		if k.inPlace {
			send, recv = poison, input
		}
		if err := r.send.write(p.stage, send); err != nil {
			return data, err
		}
		if err := r.recv.write(p.stage, recv); err != nil {
			return data, err
		}
	}
	return data, nil
}

// verify counts what differs from what must be: elements of results, elements
// of inputs that are not to change, and bytes of canaries. It says where the
// first is.
func (p *pass) verify(k cell, data check.Case) (wrong int64, first string, err error) {
	want := p.want[:data.Bytes()]
	compare := func(rank int, which string, b *buffer) error {
		got, damaged, err := b.read(p.stage)
		if err != nil {
			return err
		}
		differ, at := data.Wrong(got, want)
		switch {
		case first != "":
		case differ > 0:
			first = fmt.Sprintf("rank %d %s, element %d", rank, which, at)
		case damaged > 0:
			first = fmt.Sprintf("rank %d %s, outside the buffer", rank, which)
		}
		wrong += int64(damaged + differ)
		return nil
	}
	for i := range p.ranks {
		if k.inPlace {
			poison(want)
		} else {
			data.Input(i, want)
		}
		if err := compare(i, "send", p.ranks[i].send); err != nil {
			return wrong, first, err
		}
	}
	data.Expected(want)
	for i := range p.ranks {
		if err := compare(i, "recv", p.ranks[i].recv); err != nil {
			return wrong, first, err
		}
	}
	return wrong, first, nil
}
