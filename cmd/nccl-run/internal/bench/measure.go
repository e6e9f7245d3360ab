package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/check"
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
	seconds float64         // of one operation
	wrong   int64           // elements, and bytes of canaries
	first   string          // where the first wrong thing is; empty if nothing is
	contest *report.Contest // with the rival; nil without one
}

// measure times a cell and checks it.
//
// The timed iterations are followed by Check repetitions that begin with fresh
// data. If only one iteration is timed it begins with fresh data too and is the
// first of the repetitions: on the PTX machine an operation costs seconds.
func (p *pass) measure(ctx context.Context, k cell) (s sample, err error) {
	p.place(k)
	p.launched(nccl.LaunchInfo{})
	ours, err := p.batch(ctx, func(ctx context.Context, ops int) error { return p.issue(ctx, k, ops) })
	if err != nil {
		return s, err
	}
	defer func() { err = cmp.Or(err, ours.close()) }()
	repetitions := p.c.Check
	var data check.Case
	if repetitions > 0 {
		if data, err = p.prepare(ctx, k); err != nil {
			return s, err
		}
	}
	if p.rival != nil {
		s.seconds, s.contest, err = p.compare(ctx, k, ours)
	} else {
		s.seconds, err = ours.run(ctx)
	}
	if err != nil {
		return s, err
	}
	if repetitions > 0 && p.c.Iters == 1 && p.c.Agg == 1 && p.c.Graphs == 0 && p.rival == nil {
		repetitions--
		if s.wrong, s.first, err = p.verify(ctx, k, data); err != nil {
			return s, err
		}
	}
	for ; repetitions > 0 && s.wrong == 0; repetitions-- {
		if s.wrong, s.first, err = p.checked(ctx, k, ours); err != nil {
			return s, err
		}
	}
	return s, nil
}

// checked does one operation of a batch with fresh data and verifies it.
func (p *pass) checked(ctx context.Context, k cell, b *batch) (wrong int64, first string, err error) {
	data, err := p.prepare(ctx, k)
	if err != nil {
		return 0, "", err
	}
	if err := b.once(ctx); err != nil {
		return 0, "", err
	}
	return p.verify(ctx, k, data)
}

// prepare gives every buffer fresh data.
func (p *pass) prepare(ctx context.Context, k cell) (check.Case, error) {
	p.checks++
	data := check.Case{
		Type: k.typ, Op: k.op, NumRanks: len(p.ranks), Count: k.count,
		// Passes with neighbouring seeds must not share data.
		Seed: bits.RotateLeft64(p.seed, 32) + p.checks,
	}
	for i := range p.ranks {
		r := &p.ranks[i]
		send, err := data.Input(ctx, i)
		if err != nil {
			return data, err
		}
		recv := poison
		if k.inPlace {
			send, recv = recv, send
		}
		if err := r.send.write(ctx, send); err != nil {
			return data, err
		}
		if err := r.recv.write(ctx, recv); err != nil {
			return data, err
		}
	}
	return data, nil
}

// verify counts what differs from what must be: elements of results, elements
// of inputs that are not to change, and bytes of canaries. It says where the
// first is.
func (p *pass) verify(ctx context.Context, k cell, data check.Case) (wrong int64, first string, err error) {
	compare := func(rank int, which string, b *buffer, want check.Data) error {
		d, err := b.compare(ctx, want, k.typ.Size())
		if err != nil {
			return err
		}
		switch {
		case first != "":
		case d.wrong > 0:
			first = fmt.Sprintf("rank %d %s, element %d", rank, which, d.first)
		case d.damaged > 0:
			first = fmt.Sprintf("rank %d %s, outside the buffer", rank, which)
		}
		wrong += int64(d.damaged + d.wrong)
		return nil
	}
	for i := range p.ranks {
		want := poison
		if !k.inPlace {
			if want, err = data.Input(ctx, i); err != nil {
				return wrong, first, err
			}
		}
		if err := compare(i, "send", p.ranks[i].send, want); err != nil {
			return wrong, first, err
		}
	}
	want, err := data.Expected(ctx)
	if err != nil {
		return wrong, first, err
	}
	for i := range p.ranks {
		if err := compare(i, "recv", p.ranks[i].recv, want); err != nil {
			return wrong, first, err
		}
	}
	return wrong, first, nil
}
