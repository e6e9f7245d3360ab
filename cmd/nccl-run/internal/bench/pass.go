package bench

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/ncclgo/ncclgo/device"
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
	// stage and want are memory to work in, as long as a buffer.
	stage, want []byte
	// checks counts the checked repetitions, so that each has data of its own.
	checks uint64

	mu   sync.Mutex
	last nccl.LaunchInfo // guarded by mu; rank 0's last launch
}

// rank is what the pass has of one rank.
type rank struct {
	stream     device.Stream
	send, recv *buffer
}

// openPass makes a pass of w whose schedule and data come from seed.
func openPass(ctx context.Context, c *Config, m *Machine, seed uint64, w walk, getenv func(string) (string, bool)) (*pass, error) {
	n := c.Ranks()
	driver, err := m.open(m.gpus[:n], seed)
	if err != nil {
		return nil, err
	}
	p := &pass{c: c, seed: seed, driver: driver, ranks: make([]rank, n)}
	if err := p.fill(ctx, m, w, getenv); err != nil {
		// The driver only releases; why it is released matters.
		_ = driver.Close()
		return nil, err
	}
	return p, nil
}

func (p *pass) fill(ctx context.Context, m *Machine, w walk, getenv func(string) (string, bool)) error {
	widest := 0
	for _, k := range w.cases {
		widest = max(widest, k.typ.Size())
	}
	shift := int64(p.c.Unalign * widest)
	devices := make([]device.Device, len(p.ranks))
	for i := range p.ranks {
		dev, err := p.driver.Open(i)
		if err != nil {
			return err
		}
		devices[i] = dev
		r := &p.ranks[i]
		if r.stream, err = dev.NewStream(); err != nil {
			return fmt.Errorf("rank %d: %w", i, err)
		}
		if r.send, err = newBuffer(dev, p.c.MaxBytes, shift, fmt.Sprintf("rank %d send", i)); err != nil {
			return err
		}
		if r.recv, err = newBuffer(dev, p.c.MaxBytes, shift, fmt.Sprintf("rank %d recv", i)); err != nil {
			return err
		}
	}
	p.stage = make([]byte, guardBytes+shift+p.c.MaxBytes+guardBytes)
	p.want = make([]byte, p.c.MaxBytes)
	var err error
	p.comms, err = nccl.InitAll(ctx, nccl.Config{
		Devices: devices, System: m.System,
		MinChannels: p.c.Channels, MaxChannels: p.c.Channels,
		Algos: p.c.Algos, Protos: w.protos,
		Kernels:  w.variants,
		OnLaunch: p.launched,
		Getenv:   getenv,
	})
	if err != nil {
		return err
	}
	// The environment may leave less to choose from than the flags do.
	for _, k := range w.cases {
		if _, err := p.comms[0].Explain(1, k.typ, k.op); err != nil {
			return fmt.Errorf("%s %s: %w", k.typ.LongName(), k.op, err)
		}
	}
	return nil
}

func (p *pass) launched(info nccl.LaunchInfo) {
	if info.Rank != 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = info
}

// lastLaunch returns what rank 0 launched last.
func (p *pass) lastLaunch() nccl.LaunchInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// close ends the pass after its operations are done.
func (p *pass) close() error {
	var first error
	for _, c := range p.comms {
		first = cmp.Or(first, c.Close())
	}
	return cmp.Or(first, p.driver.Close())
}

// abandon ends the pass whatever it is doing.
func (p *pass) abandon() {
	// What went wrong has been reported; these only release.
	_ = p.comms[0].Abort()
	_ = p.driver.Close()
}

// issue enqueues ops operations of every rank as one group. hang is a rank to
// leave out, or negative.
func (p *pass) issue(k cell, ops, hang int) error {
	return nccl.Group(func(g *nccl.Calls) error {
		for i, c := range p.comms {
			if i == hang {
				continue
			}
			r := &p.ranks[i]
			send := r.send
			if k.inPlace {
				send = r.recv
			}
			for range ops {
				if err := g.AllReduce(c, send.data(), r.recv.data(), uint64(k.count), k.typ, k.op, r.stream); err != nil {
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
		if err := p.ranks[i].stream.Synchronize(ctx); err != nil {
			return err
		}
	}
	return nil
}
