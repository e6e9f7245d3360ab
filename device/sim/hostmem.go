package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// hostMem is pinned host memory. It implements [device.HostMem].
type hostMem struct {
	m *Machine
	a *alloc
}

func (g *gpu) AllocHost(size int64, label string) (device.HostMem, error) {
	if err := g.m.lock(); err != nil {
		return nil, err
	}
	defer g.m.mu.Unlock()
	a, err := g.m.allocate(g.m.host, size, label)
	if err != nil {
		return nil, err
	}
	return &hostMem{g.m, a}, nil
}

func (h *hostMem) Ptr() device.Ptr { return device.Ptr(h.a.base) }

// Load32 works after a fault too: it is how a host reads what a kernel wrote
// before it failed.
func (h *hostMem) Load32(off int64) uint32 {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	v := binary.LittleEndian.Uint32(h.word(off))
	h.m.weak.hostAgent().loads(h.a, uint64(off))
	return v
}

func (h *hostMem) Store32(off int64, v uint32) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	word := h.word(off)
	h.m.weak.hostAgent().stores(h.a, uint64(off), func() { binary.LittleEndian.PutUint32(word, v) })
	h.m.touch()
}

func (h *hostMem) Write(off int64, src []byte) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if off < 0 || off > int64(len(h.a.data)-len(src)) {
		panic(fmt.Sprintf("sim: host memory %q: no %d bytes at offset %d of %d", h.a.label, len(src), off, len(h.a.data)))
	}
	h.m.weak.hostAgent().writes(span{h.a, uint64(off), uint64(len(src))}, "a write", func() { copy(h.a.data[off:], src) })
	h.m.touch()
}

// word returns the aligned word at off; any other offset is a programmer's
// error, as an index out of range is.
func (h *hostMem) word(off int64) []byte {
	if off < 0 || off&3 != 0 || off > int64(len(h.a.data)-4) {
		panic(fmt.Sprintf("sim: host memory %q: no aligned word at offset %d of %d bytes", h.a.label, off, len(h.a.data)))
	}
	return h.a.data[off : off+4]
}

func (h *hostMem) Free() error {
	if err := h.m.lock(); err != nil {
		return err
	}
	defer h.m.mu.Unlock()
	return h.m.freeBlock(h.m.host, h.Ptr())
}
