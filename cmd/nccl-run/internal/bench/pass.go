package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/check"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// pass is everything that one walk through the table needs: devices scheduled
// by one seed, communicators restricted to one protocol, streams and buffers.
type pass struct {
	c      *Config
	seed   uint64
	driver device.Driver
	comms  []*nccl.Comm
	ranks  []rank
	// checks counts the checked repetitions, so that each has data of its own.
	checks uint64

	rival *rival        // nil without one
	eager bool          // wait without pauses
	made  time.Duration // what InitAll took

	mu      sync.Mutex
	largest nccl.LaunchInfo // guarded by mu; rank 0's launch of the most operations, the last of those
}

// rank is what the pass has of one rank.
type rank struct {
	device     device.Device
	stream     device.Stream
	send, recv *buffer
	mulsum     map[coll.DataType]*nccl.PreMulSum // of the types that are asked for
}

// op returns the operator that an operation of k has on the rank.
func (r *rank) op(k cell) nccl.Op {
	if k.op == coll.OpMulSum {
		return r.mulsum[k.typ]
	}
	return k.op
}

// input returns the buffer that an operation of k reads.
func (r *rank) input(k cell) *buffer {
	if k.inPlace {
		return r.recv
	}
	return r.send
}

// openPass makes a pass of w whose schedule and data come from seed.
func (r *run) openPass(ctx context.Context, seed uint64, w walk) (*pass, error) {
	driver, err := r.m.open(r.c, seed)
	if err != nil {
		return nil, err
	}
	p := &pass{c: r.c, seed: seed, driver: driver, ranks: make([]rank, r.c.Ranks()), eager: r.m.eager}
	err = p.fill(ctx, w)
	if err == nil {
		err = p.communicate(ctx, r, w)
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

// fill opens the devices and makes streams and buffers.
func (p *pass) fill(ctx context.Context, w walk) error {
	widest := 0
	for _, k := range w.cases {
		widest = max(widest, k.typ.Size())
	}
	shift := int64(p.c.Unalign * widest)
	for i := range p.ranks {
		if err := ctx.Err(); err != nil {
			return err
		}
		dev, err := p.driver.Open(p.c.gpu(i))
		if err != nil {
			return err
		}
		r := &p.ranks[i]
		r.device = dev
		if r.stream, err = dev.NewStream(); err != nil {
			return fmt.Errorf("rank %d: %w", i, err)
		}
		if p.c.Graphs > 0 {
			if _, err := p.capturer(i); err != nil {
				return err
			}
		}
		if r.send, err = newBuffer(dev, p.c.MaxBytes, shift, fmt.Sprintf("rank %d send", i)); err != nil {
			return err
		}
		if r.recv, err = newBuffer(dev, p.c.MaxBytes, shift, fmt.Sprintf("rank %d recv", i)); err != nil {
			return err
		}
	}
	return nil
}

// communicate makes the communicators.
func (p *pass) communicate(ctx context.Context, r *run, w walk) error {
	devices := make([]device.Device, len(p.ranks))
	for i := range p.ranks {
		devices[i] = p.ranks[i].device
	}
	began := time.Now()
	var err error
	p.comms, err = nccl.InitAll(ctx, nccl.Config{
		Devices: devices, System: r.m.System,
		MinChannels: p.c.Channels, MaxChannels: p.c.Channels,
		Algos: p.c.Algos, Protos: w.protos, Tuning: p.c.Tuning,
		Kernels:  w.variants,
		OnLoad:   r.out.Loading,
		OnLaunch: p.launched,
		Getenv:   r.getenv,
	})
	if err != nil {
		return err
	}
	p.made = time.Since(began)
	for _, k := range w.cases {
		if _, err := p.comms[0].Explain(1, k.typ, k.op); err != nil {
			return fmt.Errorf("%s %s: %w", k.typ.LongName(), k.op, r.narrowed(err))
		}
	}
	if err := p.makeOps(w); err != nil {
		return err
	}
	if r.lib != nil {
		return p.openRival(r.lib, w)
	}
	return nil
}

// makeOps makes the operators with a scalar that w asks for.
func (p *pass) makeOps(w walk) error {
	for i, c := range p.comms {
		p.ranks[i].mulsum = map[coll.DataType]*nccl.PreMulSum{}
		for _, k := range w.cases {
			if k.op != coll.OpMulSum {
				continue
			}
			o, err := c.NewPreMulSum(k.typ, nccl.ScalarBits(check.Scalar(k.typ, i)))
			if err != nil {
				return err
			}
			p.ranks[i].mulsum[k.typ] = o
		}
	}
	return nil
}

// narrowed explains that there is nothing to choose from although the flags leave
// something: the environment may leave less.
func (r *run) narrowed(err error) error {
	var set []string
	for _, name := range []string{"NCCL_ALGO", "NCCL_PROTO"} {
		if value, ok := r.getenv(name); ok && value != "" {
			set = append(set, name+"="+value)
		}
	}
	var e *nccl.Error
	if errors.As(err, &e) {
		err = e.Err // without the name of a call that no user made
	}
	if set == nil {
		return err
	}
	return fmt.Errorf("with %s: %w; --algo and --proto win over variables", strings.Join(set, " "), err)
}

func (p *pass) launched(info nccl.LaunchInfo) {
	if info.Rank != 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Operations are checked one by one, and timed in groups.
	if info.Works >= p.largest.Works {
		p.largest = info
	}
}

// takeLaunch returns what rank 0 launched since it was called before: of the most
// operations, the last.
func (p *pass) takeLaunch() nccl.LaunchInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.largest
	p.largest = nccl.LaunchInfo{}
	return taken
}

// close ends the pass after its operations are done.
func (p *pass) close() error {
	first := p.rival.close()
	for _, c := range p.comms {
		first = cmp.Or(first, c.Close())
	}
	return cmp.Or(first, p.driver.Close())
}

// abandon ends the pass, or what there is of it, whatever it is doing. What went
// wrong has been reported; this only releases.
func (p *pass) abandon() {
	if len(p.comms) > 0 {
		_ = p.comms[0].Abort()
	}
	// NCCL waits for what else the devices do.
	p.rival.abandon()
	_ = p.driver.Close()
}

// maxGroup is the most operations of each rank in one group. A group is enqueued
// as a whole: one of a million would keep an interrupt waiting.
const maxGroup = 512

// cut calls enqueue for ops operations in groups of up to maxGroup.
func cut(ctx context.Context, ops int, enqueue func(ops int) error) error {
	for ops > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(ops, maxGroup)
		if err := enqueue(n); err != nil {
			return err
		}
		ops -= n
	}
	return nil
}

// issue enqueues ops operations of every rank but the one that is to hang, as one
// group or, if they are many, several.
func (p *pass) issue(ctx context.Context, k cell, ops int) error {
	return cut(ctx, ops, func(ops int) error { return p.group(k, ops) })
}

// group enqueues a group of ops operations of every rank but the one that is to
// hang.
func (p *pass) group(k cell, ops int) error {
	return nccl.Group(func(g *nccl.Calls) error {
		for i, c := range p.comms {
			if i == p.c.HangRank {
				continue
			}
			r := &p.ranks[i]
			for range ops {
				if err := g.AllReduce(c, r.input(k).data(), r.recv.data(), uint64(k.count), k.typ, r.op(k), r.stream); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// place lays out every buffer for k.
func (p *pass) place(k cell) {
	size := k.typ.Size()
	for i := range p.ranks {
		p.ranks[i].send.place(p.c.Unalign*size, k.count*size)
		p.ranks[i].recv.place(p.c.Unalign*size, k.count*size)
	}
}

// wait waits until every rank's stream is done.
func (p *pass) wait(ctx context.Context) error {
	for i := range p.ranks {
		s := p.ranks[i].stream
		if !p.eager {
			if err := s.Synchronize(ctx); err != nil {
				return err
			}
			continue
		}
		// As nccl-tests does: asked without a pause, the answer is late by one
		// question at most, which matters where an operation takes microseconds.
		for {
			done, err := s.Query()
			if done {
				break
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}
