package bench

import (
	"context"
	"errors"
	"time"
)

// batch is the timed work of a cell: Iters iterations of Agg operations, enqueued
// anew each time or captured in graphs.
type batch struct {
	p *pass
	// issue enqueues a number of operations of every rank as one group.
	issue func(ctx context.Context, ops int) error
	// timed and single are the graphs of all iterations and of one operation; nil
	// if nothing is captured.
	timed, single graphs
}

// batch makes the work of a cell ready.
func (p *pass) batch(ctx context.Context, issue func(ctx context.Context, ops int) error) (*batch, error) {
	b := &batch{p: p, issue: issue}
	if p.c.Graphs == 0 {
		return b, nil
	}
	var err error
	if b.timed, err = p.captured(ctx, issue, p.c.Iters, p.c.Agg); err != nil {
		return nil, err
	}
	if p.c.Check > 0 {
		if b.single, err = p.captured(ctx, issue, 1, 1); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

// close gives the graphs up.
func (b *batch) close() error { return errors.Join(b.timed.close(), b.single.close()) }

// once does one operation and waits for it.
func (b *batch) once(ctx context.Context) error {
	if b.single != nil {
		return b.p.replay(ctx, b.single, 1)
	}
	return b.group(ctx, 1)
}

// group does a group of operations and waits for it.
func (b *batch) group(ctx context.Context, ops int) error {
	if err := b.issue(ctx, ops); err != nil {
		return err
	}
	return b.p.wait(ctx)
}

// run does the work and returns the seconds of one operation.
func (b *batch) run(ctx context.Context) (float64, error) {
	c := b.p.c
	if b.timed != nil {
		start := time.Now()
		err := b.p.replay(ctx, b.timed, c.Graphs)
		return time.Since(start).Seconds() / float64(c.Graphs*c.Iters*c.Agg), err
	}
	var busy time.Duration
	start := time.Now()
	for range c.Iters {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := b.iteration(ctx); err != nil {
			return 0, err
		}
		busy += time.Since(began)
	}
	if err := b.p.wait(ctx); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	if c.Blocking == 3 {
		elapsed = busy
	}
	return elapsed.Seconds() / float64(c.Iters*c.Agg), nil
}

// iteration does one timed iteration, and waits as -z says.
func (b *batch) iteration(ctx context.Context) error {
	c := b.p.c
	switch c.Blocking {
	case 1, 2:
		// One process has nobody to meet at a barrier, so 1 is 2.
		for range c.Agg {
			if err := b.group(ctx, 1); err != nil {
				return err
			}
		}
		return nil
	case 3:
		return b.group(ctx, c.Agg)
	}
	return b.issue(ctx, c.Agg)
}
