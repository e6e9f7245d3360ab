package sim

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// gpu is one simulated GPU. It implements [device.Device].
type gpu struct {
	m     *Machine
	index int
	info  device.Info

	// What follows is guarded by m.mu.

	mem   *region
	peers []bool // by GPU: whether kernels here may access its memory
	sms   []sm
}

// sm is what is free on one streaming multiprocessor.
type sm struct {
	ctas    int
	threads int
	shared  int // bytes
}

func newGPU(m *Machine, index int, info device.Info) *gpu {
	g := &gpu{m: m, index: index, info: info, mem: newRegion(gpuRegion+index, index),
		peers: make([]bool, len(m.cfg.Devices)), sms: make([]sm, info.NumSMs)}
	g.peers[index] = true
	for i := range g.sms {
		g.sms[i] = sm{ctas: info.MaxCTAsPerSM, threads: info.MaxThreadsPerSM, shared: info.SharedPerSM}
	}
	return g
}

func (g *gpu) Ordinal() int      { return g.index }
func (g *gpu) Info() device.Info { return g.info }

// lock takes the machine's lock and returns its sticky error, if any, with the
// lock released.
func (m *Machine) lock() error {
	m.mu.Lock()
	if err := m.err; err != nil {
		m.mu.Unlock()
		return err
	}
	return nil
}

func (g *gpu) Alloc(size int64, label string) (device.Ptr, error) {
	if err := g.m.lock(); err != nil {
		return 0, err
	}
	defer g.m.mu.Unlock()
	a, err := g.m.allocate(g.mem, size, label)
	if err != nil {
		return 0, err
	}
	return device.Ptr(a.base), nil
}

func (g *gpu) Free(p device.Ptr) error {
	if err := g.m.lock(); err != nil {
		return err
	}
	defer g.m.mu.Unlock()
	return g.m.freeBlock(g.mem, p)
}

// freeBlock frees the allocation of r that starts at p.
func (m *Machine) freeBlock(r *region, p device.Ptr) error {
	a := r.find(uint64(p))
	switch {
	case a == nil || a.base != uint64(p):
		return fmt.Errorf("sim: free %#x: no allocation of this owner starts there", uint64(p))
	case a.data == nil:
		return fmt.Errorf("sim: free %#x (%s): it is free already", uint64(p), a.label)
	}
	m.release(r, a)
	m.touch()
	return nil
}

func (g *gpu) Label(p device.Ptr, size int64, label string) {
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	if r := g.m.regionOf(uint64(p)); r != nil && size > 0 {
		if a := r.find(uint64(p)); a != nil && a.holds(uint64(p), uint64(size)) {
			a.parts = append(a.parts, part{uint64(p) - a.base, uint64(size), label})
		}
	}
}

func (g *gpu) CopyIn(dst device.Ptr, src []byte) error {
	if err := g.m.lock(); err != nil {
		return err
	}
	defer g.m.mu.Unlock()
	b, err := g.m.hostRange("copy in", dst, int64(len(src)))
	if err != nil {
		return err
	}
	if err := g.m.weak.hostAgent().writes(b, "a copy", func() { copy(b.bytes(), src) }); err != nil {
		return err
	}
	g.m.touch()
	return nil
}

func (g *gpu) CopyOut(dst []byte, src device.Ptr) error {
	if err := g.m.lock(); err != nil {
		return err
	}
	defer g.m.mu.Unlock()
	b, err := g.m.hostRange("copy out", src, int64(len(dst)))
	if err != nil {
		return err
	}
	if err := g.m.weak.hostAgent().reads(b, "a copy"); err != nil {
		return err
	}
	copy(dst, b.bytes())
	return nil
}

func (g *gpu) EnablePeer(other device.Device) error {
	if err := g.m.lock(); err != nil {
		return err
	}
	defer g.m.mu.Unlock()
	o, ok := other.(*gpu)
	switch {
	case !ok || o.m != g.m:
		return fmt.Errorf("sim: GPU %d: enable peer: the other device is not of this machine", g.index)
	case o == g:
		return fmt.Errorf("sim: GPU %d: enable peer: a device is not its own peer", g.index)
	}
	g.peers[o.index] = true
	return nil
}

func (g *gpu) NewStream() (device.Stream, error) {
	if err := g.m.lock(); err != nil {
		return nil, err
	}
	defer g.m.mu.Unlock()
	s := &stream{gpu: g, know: nothingKnown}
	g.m.streams = append(g.m.streams, s)
	return s, nil
}

func (g *gpu) NewEvent() (device.Event, error) {
	if err := g.m.lock(); err != nil {
		return nil, err
	}
	defer g.m.mu.Unlock()
	return &event{m: g.m}, nil
}
