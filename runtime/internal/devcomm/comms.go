package devcomm

import (
	"errors"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
)

// protoNames label FIFOs.
var protoNames = [abi.NumProtos]string{abi.ProtoLL: "LL", abi.ProtoLL128: "LL128", abi.ProtoSimple: "Simple"}

// counterBytes is the distance of two counters that different ranks write: a
// line each, so that polls of one do not slow stores to another.
const counterBytes = 128

// Comms is the device side of one communicator, all ranks of it.
type Comms struct {
	ranks []*rank
}

// rank is what one rank of a communicator has on its device.
type rank struct {
	dev   device.Device
	rank  int
	host  device.HostMem // abort flag and reports
	table table          // the structs of package abi
	ptrs  []device.Ptr   // all device memory, to be freed
}

// New builds a communicator of len(devices) ranks, rank r on devices[r]; several
// ranks may share a device. On error nothing is left allocated.
func New(devices []device.Device, c Config) (*Comms, error) {
	if err := c.validate(len(devices)); err != nil {
		return nil, err
	}
	comms := &Comms{}
	if err := comms.build(devices, &c); err != nil {
		return nil, errors.Join(err, comms.Close())
	}
	return comms, nil
}

func (c *Comms) build(devices []device.Device, config *Config) error {
	for r, dev := range devices {
		rk := &rank{dev: dev, rank: r}
		c.ranks = append(c.ranks, rk)
		if err := rk.allocate(len(devices), config); err != nil {
			return result.Wrap(result.UnhandledCUDAError, opNew, fmt.Errorf("rank %d: %w", r, err))
		}
	}
	for ch, ring := range config.Rings {
		for i, from := range ring {
			to := ring[(i+1)%len(ring)]
			if from == to {
				continue
			}
			if err := connect(c.ranks[from], c.ranks[to], ch, config); err != nil {
				return result.Wrap(result.UnhandledCUDAError, opNew, fmt.Errorf("channel %d: rank %d to %d: %w", ch, from, to, err))
			}
		}
	}
	for _, rk := range c.ranks {
		if err := rk.dev.CopyIn(rk.table.base, rk.table.encode()); err != nil {
			return result.Wrap(result.UnhandledCUDAError, opNew, fmt.Errorf("rank %d: %w", rk.rank, err))
		}
	}
	return nil
}

// allocate makes what a rank has without its connections.
func (r *rank) allocate(nranks int, config *Config) error {
	nchannels := len(config.Rings)
	host, err := r.dev.AllocHost(reportOffset(nchannels), fmt.Sprintf("rank %d abort flag and reports", r.rank))
	if err != nil {
		return err
	}
	r.host = host

	r.table = newTable(nranks, nchannels)
	base, err := r.alloc(r.table.size(), fmt.Sprintf("rank %d communicator", r.rank))
	if err != nil {
		return err
	}
	r.table.place(base, r.rank)
	r.table.label(r.dev)

	t := &r.table
	t.comm.AbortFlag = abi.Ptr(host.Ptr())
	t.comm.Reports = abi.Ptr(host.Ptr()) + abi.Ptr(reportOffset(0))
	for proto, bytes := range config.BufferBytes {
		t.comm.SlotBytes[proto] = uint32(bytes / abi.NumSteps)
	}
	for ch, ring := range config.Rings {
		t.setRing(ch, ring)
	}
	return nil
}

// connect makes the connection from one rank to the next on a channel: FIFOs and
// tail in the receiver's memory, head in the sender's.
func connect(from, to *rank, ch int, config *Config) error {
	if from.dev != to.dev {
		if err := from.dev.EnablePeer(to.dev); err != nil {
			return err
		}
		if err := to.dev.EnablePeer(from.dev); err != nil {
			return err
		}
	}
	conn := abi.Conn{Step: config.FirstStep}
	for proto, bytes := range config.BufferBytes {
		if bytes == 0 {
			continue
		}
		fifo, err := to.alloc(bytes, fmt.Sprintf("rank %d ch %d %s recv from %d", to.rank, ch, protoNames[proto], from.rank))
		if err != nil {
			return err
		}
		conn.Fifo[proto] = abi.Ptr(fifo)
	}
	tail, err := to.counter(fmt.Sprintf("rank %d ch %d tail of %d", to.rank, ch, from.rank), config.FirstStep)
	if err != nil {
		return err
	}
	head, err := from.counter(fmt.Sprintf("rank %d ch %d head of %d", from.rank, ch, to.rank), config.FirstStep)
	if err != nil {
		return err
	}
	conn.Tail, conn.Head = abi.Ptr(tail), abi.Ptr(head)
	from.table.peer(ch, to.rank).Send = conn
	to.table.peer(ch, from.rank).Recv = conn
	return nil
}

// alloc allocates device memory that Close frees.
func (r *rank) alloc(size int64, label string) (device.Ptr, error) {
	p, err := r.dev.Alloc(size, label)
	if err != nil {
		return 0, err
	}
	r.ptrs = append(r.ptrs, p)
	return p, nil
}

// counter allocates a head or tail.
func (r *rank) counter(label string, value uint64) (device.Ptr, error) {
	p, err := r.alloc(counterBytes, label)
	if err != nil {
		return 0, err
	}
	return p, r.dev.CopyIn(p, Append(nil, value))
}

// NumRanks returns the number of ranks.
func (c *Comms) NumRanks() int { return len(c.ranks) }

// Comm returns the address of a rank's abi.Comm, for abi.KernelArgs.Comm.
func (c *Comms) Comm(rank int) abi.Ptr { return abi.Ptr(c.ranks[rank].table.base) }

// Close frees everything. No kernel of the communicator may be running.
func (c *Comms) Close() error {
	var errs []error
	for _, r := range c.ranks {
		for _, p := range r.ptrs {
			errs = append(errs, r.dev.Free(p))
		}
		if r.host != nil {
			errs = append(errs, r.host.Free())
		}
	}
	c.ranks = nil
	return result.Wrap(result.UnhandledCUDAError, "close communicator", errors.Join(errs...))
}
