package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/ncclgo/ncclgo/device"
)

// The unified address space. Addresses are 47 bits wide, as on hardware. Each
// GPU's memory and pinned host memory has a region of its own in which
// addresses only grow: an address that was freed is not given out again, so
// using it can be told from using what replaced it.
const (
	regionBits = 40 // 1 TiB of addresses, over the machine's lifetime
	hostRegion = 8
	gpuRegion  = 16 // GPU i has region gpuRegion+i
	maxGPUs    = 64

	// Windows in which generic addresses reach a CTA's shared memory, a
	// thread's local memory and a kernel's parameters.
	windowBits   = 32
	sharedWindow = uint64(1) << windowBits
	localWindow  = uint64(2) << windowBits
	paramWindow  = uint64(3) << windowBits

	// allocAlign is what device.Device.Alloc promises.
	allocAlign = 512
	// guardBytes separates allocations, so that a small overrun meets none.
	guardBytes = 64 * kib
)

// alloc is a piece of memory with one address range: device or pinned host
// memory, the shared memory of a CTA, or a parameter block.
type alloc struct {
	base     uint64
	size     uint64 // 0 once freed
	data     []byte
	freed    uint64 // the size it had
	gpu      int    // owner; -1 is host memory
	readOnly bool
	label    string
	parts    []part  // what Label named, in the order it was called
	shadow   *shadow // in the weak model: who accessed it; nil until somebody does
	pages    pages   // where data comes from, if not from the Go heap
}

type part struct {
	off, size uint64
	label     string
}

// nowhere contains no address; it fills empty caches.
var nowhere = &alloc{}

// region is the allocations of one owner, by address.
type region struct {
	gpu    int
	next   uint64
	end    uint64
	used   int64
	allocs []*alloc // freed ones included, for their names
}

func newRegion(index, gpu int) *region {
	base := uint64(index) << regionBits
	// The first bytes stay free: small offsets from a null region are no memory.
	return &region{gpu: gpu, next: base + guardBytes, end: base + 1<<regionBits}
}

// allocate makes an allocation of zeroed memory in r.
//
// Preconditions: m.mu is held.
func (m *Machine) allocate(r *region, size int64, label string) (*alloc, error) {
	owner := "host memory"
	if r.gpu >= 0 {
		owner = fmt.Sprintf("GPU %d", r.gpu)
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("sim: %s: allocate %d bytes for %q: %s", owner, size, label, fmt.Sprintf(format, args...))
	}
	if size <= 0 {
		return nil, refuse("the size must be positive")
	}
	if r.gpu >= 0 {
		if limit := m.gpus[r.gpu].info.MemoryBytes; size > limit-r.used {
			return nil, refuse("out of memory, %d of its %d bytes are in use", r.used, limit)
		}
	}
	if size > m.cfg.MemoryBytes-m.used {
		return nil, refuse("%d of the %d bytes that the machine may simulate are in use; free some, or make a machine with a larger Config.MemoryBytes",
			m.used, m.cfg.MemoryBytes)
	}
	span := (uint64(size)+guardBytes+allocAlign-1)&^(allocAlign-1) + guardBytes
	if span > r.end-r.next {
		return nil, refuse("the address space of this owner (1 TiB in a machine's life) is used up; make a new machine")
	}
	a := &alloc{base: r.next, size: uint64(size), gpu: r.gpu, label: label}
	if err := a.back(size); err != nil {
		return nil, refuse("this host has no memory for it, with %d bytes in use: %v", m.used, err)
	}
	r.next += span
	r.used += size
	m.used += size
	r.allocs = append(r.allocs, a)
	return a, nil
}

// release gives the memory of a up. Its range stays known as freed.
func (m *Machine) release(r *region, a *alloc) {
	r.used -= int64(a.size)
	m.used -= int64(a.size)
	a.unback()
	a.freed, a.size = a.size, 0
	a.shadow = nil
}

// find returns the allocation with the largest base not above addr, or nil.
func (r *region) find(addr uint64) *alloc {
	i, found := slices.BinarySearchFunc(r.allocs, addr, func(a *alloc, addr uint64) int {
		return cmp.Compare(a.base, addr)
	})
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return r.allocs[i]
}

// regionOf returns the region that addr lies in, or nil.
func (m *Machine) regionOf(addr uint64) *region {
	i := int(addr >> regionBits)
	switch {
	case i == hostRegion:
		return m.host
	case i >= gpuRegion && i < gpuRegion+len(m.gpus):
		return m.gpus[i-gpuRegion].mem
	}
	return nil
}

// holds reports whether [addr, addr+n) lies in the allocation.
func (a *alloc) holds(addr, n uint64) bool {
	off := addr - a.base
	return off < a.size && n <= a.size-off
}

// span is a part of an allocation.
type span struct {
	a      *alloc
	off, n uint64
}

func (s span) bytes() []byte { return s.a.data[s.off : s.off+s.n] }

// hostRange returns [p, p+n) for a host call.
func (m *Machine) hostRange(what string, p device.Ptr, n int64) (span, error) {
	addr := uint64(p)
	r := m.regionOf(addr)
	var a *alloc
	if r != nil {
		a = r.find(addr)
	}
	if n < 0 || a == nil || !a.holds(addr, uint64(n)) && (n > 0 || addr-a.base > a.size) {
		return span{}, fmt.Errorf("sim: %s: %d bytes at %#x are not in one allocation (%s)", what, n, addr, m.describe(addr))
	}
	return span{a, addr - a.base, uint64(n)}, nil
}

// describe says what lies at addr, for faults: the label of the innermost part
// and the offset in it.
func (m *Machine) describe(addr uint64) string {
	r := m.regionOf(addr)
	if r == nil {
		return ""
	}
	a := r.find(addr)
	if a == nil {
		return ""
	}
	off := addr - a.base
	if off < a.freed {
		return fmt.Sprintf("%s +%#x, freed", a.label, off)
	}
	if off >= a.size {
		return fmt.Sprintf("%d bytes beyond the %d of %s", off-a.size-a.freed, a.size+a.freed, a.label)
	}
	label, best := a.label, uint64(1)<<(bits.UintSize-1)
	start := uint64(0)
	for _, p := range a.parts {
		if off-p.off < p.size && p.size <= best {
			label, start, best = p.label, p.off, p.size
		}
	}
	if off == start {
		return label
	}
	return fmt.Sprintf("%s +%#x", label, off-start)
}
