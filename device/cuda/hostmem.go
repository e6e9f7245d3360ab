package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/dl"
)

// Source: CUDA driver API, CU_MEMHOSTALLOC_PORTABLE and
// CU_MEMHOSTALLOC_DEVICEMAP.
const hostPortable, hostDeviceMap = 1, 2

// hostMem is pinned host memory. It implements [device.HostMem].
//
// Its address on the host is also the one that kernels of every device use:
// under unified addressing the two are equal unless the memory is
// write-combined (CUDA driver API, cuMemHostAlloc).
type hostMem struct {
	dev   *Device
	base  uintptr
	size  int64
	label string
	freed atomic.Bool
}

// AllocHost returns zeroed pinned host memory, for kernels of every device.
func (d *Device) AllocHost(size int64, label string) (device.HostMem, error) {
	if size <= 0 {
		return nil, fmt.Errorf("cuda: GPU %d: allocate %d bytes of host memory for %q: the size must be positive", d.ordinal, size, label)
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	h := &hostMem{dev: d, size: size, label: label}
	rc := d.lib.memHostAlloc.Call(uintptr(unsafe.Pointer(&h.base)), uintptr(size), hostPortable|hostDeviceMap)
	if err := d.check("cuMemHostAlloc", rc, "GPU %d, %d bytes for %q", d.ordinal, size, label); err != nil {
		return nil, err
	}
	clear(dl.Bytes(h.base, int(size)))
	d.drv.memory.add(&block{base: uint64(h.base), size: uint64(size), handle: uint64(h.base), owner: d, host: true, label: label})
	return h, nil
}

func (h *hostMem) Ptr() device.Ptr { return device.Ptr(h.base) }

func (h *hostMem) Load32(off int64) uint32 { return atomic.LoadUint32(h.word(off)) }

func (h *hostMem) Store32(off int64, v uint32) { atomic.StoreUint32(h.word(off), v) }

func (h *hostMem) Write(off int64, src []byte) {
	if off < 0 || off+int64(len(src)) > h.size || h.freed.Load() {
		panic(fmt.Sprintf("cuda: host memory %q: no %d bytes at offset %d of %d, or it is free", h.label, len(src), off, h.size))
	}
	copy(dl.Bytes(h.base+uintptr(off), len(src)), src)
}

// word returns the aligned word at off; any other offset, or memory that is
// free, is a programmer's error, as an index out of range is.
func (h *hostMem) word(off int64) *uint32 {
	if off < 0 || off&3 != 0 || off+4 > h.size || h.freed.Load() {
		panic(fmt.Sprintf("cuda: host memory %q: no aligned word at offset %d of %d bytes, or it is free", h.label, off, h.size))
	}
	return dl.Word(h.base + uintptr(off))
}

func (h *hostMem) Free() error {
	d := h.dev
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	b := d.drv.memory.take(uint64(h.base), d, true)
	if b == nil {
		return fmt.Errorf("cuda: GPU %d: free host memory %q: it is free already", d.ordinal, h.label)
	}
	h.freed.Store(true)
	return d.freeBlock(b)
}
