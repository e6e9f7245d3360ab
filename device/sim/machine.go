package sim

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ncclgo/ncclgo/device"
)

// Machine is a host with simulated GPUs. It implements [device.Driver].
type Machine struct {
	cfg Config

	mu   sync.Mutex
	cond sync.Cond // a host call changed something, or a grace period ended

	// What follows is guarded by mu.

	err     error // why every call fails: a fault, or closed
	gpus    []*gpu
	host    *region
	used    int64                // bytes of all regions
	streams []*stream            // those not closed, or with work left
	spare   map[*program][]*warp // of CTAs that ended

	rng      rng
	executed uint64 // warp instructions
	now      uint64 // simulated nanoseconds
	epoch    uint64 // grows when memory changes, a barrier is reached or a thread exits
	pumpable bool   // a stream's head may be able to proceed
	ready    []*warp
	sleepers []*warp
	nextWake uint64    // when the first of them wakes
	running  []*kernel // started and not ended, in the order of their start
	gridIDs  uint64
	captures uint64 // begun so far
	cur      *warp  // the warp that executes, for errors
	syncv    syncValues
	watch    watch
	stats    Stats
	weak     *weakState // nil: sequentially consistent
}

// Stats counts what a machine did since it was made.
type Stats struct {
	WarpInstructions uint64
	Kernels          uint64 // kernels that ended
	CTAs             uint64 // CTAs that ended
	Nanoseconds      uint64 // simulated time
	// UnorderedStores counts, with weak memory, strong stores that nothing orders
	// behind the strong write they replace. The PTX ISA lets either be the last, and
	// the machine shows one of the two: only where there are none does it show all
	// (docs/MEMORY-MODEL.md).
	UnorderedStores uint64
}

var _ device.Driver = (*Machine)(nil)

// New makes a machine.
func New(cfg Config) (*Machine, error) {
	cfg, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	m := &Machine{
		cfg:      cfg,
		host:     newRegion(hostRegion, -1),
		spare:    map[*program][]*warp{},
		rng:      newRNG(cfg.Seed),
		now:      startTime,
		nextWake: never,
	}
	m.cond.L = &m.mu
	for i, info := range cfg.Devices {
		m.gpus = append(m.gpus, newGPU(m, i, info))
	}
	m.weak = newWeakState(m)
	return m, nil
}

// Name returns "sim".
func (m *Machine) Name() string { return "sim" }

// Describe returns a line such as "PTX machine, 8 x NVIDIA H200 (sm_90, 132 SMs), seed 1".
func (m *Machine) Describe() string {
	d := m.cfg.Devices[0]
	for _, o := range m.cfg.Devices {
		if o.Name != d.Name || o.SM != d.SM || o.NumSMs != d.NumSMs {
			return fmt.Sprintf("PTX machine, %d GPUs, seed %d", len(m.gpus), m.cfg.Seed)
		}
	}
	return fmt.Sprintf("PTX machine, %d x %s (sm_%d, %d SMs), seed %d", len(m.gpus), d.Name, d.SM, d.NumSMs, m.cfg.Seed)
}

// NumDevices returns the number of GPUs.
func (m *Machine) NumDevices() int { return len(m.gpus) }

// Open returns GPU i.
func (m *Machine) Open(i int) (device.Device, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if i < 0 || i >= len(m.gpus) {
		return nil, fmt.Errorf("sim: open device %d: there are %d, numbered from 0", i, len(m.gpus))
	}
	return m.gpus[i], nil
}

// Stats returns the machine's counters.
func (m *Machine) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.WarpInstructions = m.executed
	s.Nanoseconds = m.now - startTime
	return s
}

// errClosed is what calls on a closed machine return.
var errClosed = errors.New("sim: the machine is closed")

// Close ends all kernels and frees the GPUs' memory; what pinned host memory held
// last can still be read. Calls that wait return an error. Close returns nil, on a
// machine with a fault too: closing it and making another is the way on from one.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = errClosed
	m.streams, m.running, m.ready, m.sleepers = nil, nil, nil, nil
	m.spare = nil
	for _, g := range m.gpus {
		for _, a := range g.mem.allocs {
			a.unback()
		}
		g.mem.allocs = nil
	}
	m.cond.Broadcast()
	return nil
}

// poison makes err the answer to every later call and stops the kernels, as a
// CUDA context has it after a fault: only Close, and reading pinned host memory,
// still work. The first error wins.
//
// Preconditions: m.mu is held.
func (m *Machine) poison(err error) {
	if m.err != nil {
		return
	}
	m.err = err
	m.ready, m.sleepers = nil, nil
	m.cond.Broadcast()
}

// touch notes that a host call changed something that a kernel may wait for.
//
// Preconditions: m.mu is held.
func (m *Machine) touch() {
	m.epoch++
	m.watch.reset(m)
	m.cond.Broadcast()
}
