package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// capturer returns the stream of a rank as one that can be captured.
func (p *pass) capturer(rank int) (device.Capturer, error) {
	s, ok := p.ranks[rank].stream.(device.Capturer)
	if !ok {
		return nil, fmt.Errorf("rank %d: cudagraph (-G) %d: the streams of device %s cannot be captured; leave -G out", rank, p.c.Graphs, p.driver.Name())
	}
	return s, nil
}

// graphs are the work of all ranks, one graph for each.
type graphs []device.Graph

// capture makes graphs of what enqueue puts on the ranks' streams.
func (p *pass) capture(enqueue func() error) (_ graphs, err error) {
	var g graphs
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	begun := 0
	for err == nil && begun < len(p.ranks) {
		var s device.Capturer
		if s, err = p.capturer(begun); err == nil {
			err = s.BeginCapture()
		}
		if err == nil {
			begun++
		}
	}
	if err == nil {
		err = enqueue()
	}
	// A capture that has begun is ended whatever happened, or the stream is of no
	// more use.
	for rank := range begun {
		s, _ := p.capturer(rank) // it was one before
		one, ended := s.EndCapture()
		if ended == nil {
			g = append(g, one)
		} else if err == nil {
			err = fmt.Errorf("rank %d: %w", rank, ended)
		}
	}
	return g, err
}

// launch queues every rank's graph n times, in turn.
func (g graphs) launch(p *pass, n int) error {
	for range n {
		for rank, one := range g {
			if err := one.Launch(p.ranks[rank].stream); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g graphs) close() error {
	var errs []error
	for _, one := range g {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// captured returns what issue does ops operations at a time, iterations times, as
// graphs.
func (p *pass) captured(ctx context.Context, issue func(ctx context.Context, ops int) error, iterations, ops int) (graphs, error) {
	return p.capture(func() error {
		for range iterations {
			if err := issue(ctx, ops); err != nil {
				return err
			}
		}
		return nil
	})
}

// replay launches graphs n times and waits.
func (p *pass) replay(ctx context.Context, g graphs, n int) error {
	if err := g.launch(p, n); err != nil {
		return err
	}
	return p.wait(ctx)
}
