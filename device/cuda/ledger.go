package cuda

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// ledger is what a driver's devices allocated, by address: it tells memory from
// what is none, and names it.
type ledger struct {
	mu sync.RWMutex
	// What follows is guarded by mu.
	blocks []*block // by base
}

// block is an allocation.
type block struct {
	base, size uint64
	handle     uint64 // the address that the driver gave, not above base
	owner      *Device
	host       bool
	label      string
	parts      []part // what Label named, in the order it was called; guarded by ledger.mu
}

type part struct {
	off, size uint64
	label     string
}

func (l *ledger) search(base uint64) (int, bool) {
	return slices.BinarySearchFunc(l.blocks, base, func(b *block, base uint64) int { return cmp.Compare(b.base, base) })
}

// find returns the block with the largest base not above addr, or nil.
//
// Preconditions: mu is held.
func (l *ledger) find(addr uint64) *block {
	i, found := l.search(addr)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return l.blocks[i]
}

func (l *ledger) add(b *block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := l.search(b.base)
	l.blocks = slices.Insert(l.blocks, i, b)
}

// take removes and returns the block of owner that starts at base, or nil.
func (l *ledger) take(base uint64, owner *Device, host bool) *block {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := l.search(base)
	if !found || l.blocks[i].owner != owner || l.blocks[i].host != host {
		return nil
	}
	b := l.blocks[i]
	l.blocks = slices.Delete(l.blocks, i, i+1)
	return b
}

// takeAll removes and returns all blocks of owner.
func (l *ledger) takeAll(owner *Device) []*block {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []*block
	l.blocks = slices.DeleteFunc(l.blocks, func(b *block) bool {
		if b.owner == owner {
			taken = append(taken, b)
		}
		return b.owner == owner
	})
	return taken
}

// holds reports whether [addr, addr+n) lies in one block.
func (l *ledger) holds(addr, n uint64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b := l.find(addr)
	return b != nil && b.holds(addr, n)
}

func (b *block) holds(addr, n uint64) bool {
	off := addr - b.base
	return off < b.size && n <= b.size-off
}

// name labels part of a block.
func (l *ledger) name(addr, size uint64, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.find(addr); b != nil && size > 0 && b.holds(addr, size) {
		b.parts = append(b.parts, part{addr - b.base, size, label})
	}
}

// describe says what lies at addr: the label of the smallest part, and the
// offset in it.
func (l *ledger) describe(addr uint64) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b := l.find(addr)
	if b == nil {
		return "no allocation lies below"
	}
	off := addr - b.base
	if off >= b.size {
		return fmt.Sprintf("%d bytes beyond the %d of %s", off-b.size, b.size, b.label)
	}
	label, start, best := b.label, uint64(0), uint64(math.MaxUint64)
	for _, p := range b.parts {
		if off-p.off < p.size && p.size <= best {
			label, start, best = p.label, p.off, p.size
		}
	}
	if off == start {
		return label
	}
	return fmt.Sprintf("%s +%#x", label, off-start)
}
