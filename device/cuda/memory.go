package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

const (
	// allocAlign is what device.Device.Alloc promises. The driver gives this much
	// too, but promises 256 (CUDA C++ Programming Guide, "Device Memory Accesses").
	allocAlign = 512

	// Source: CUDA driver API, enum CUpointer_attribute.
	pointerRangeStart = 11
	pointerRangeSize  = 12
)

// Alloc returns zeroed device memory.
func (d *Device) Alloc(size int64, label string) (device.Ptr, error) {
	if size <= 0 {
		return 0, fmt.Errorf("cuda: GPU %d: allocate %d bytes for %q: the size must be positive", d.ordinal, size, label)
	}
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	handle, err := d.allocate(uint64(size), label)
	if err != nil {
		return 0, err
	}
	if handle%allocAlign != 0 {
		if err := d.freeBlock(&block{handle: handle, label: label}); err != nil {
			return 0, err
		}
		if handle, err = d.allocate(uint64(size)+allocAlign, label); err != nil {
			return 0, err
		}
	}
	b := &block{base: (handle + allocAlign - 1) &^ (allocAlign - 1), size: uint64(size), handle: handle, owner: d, label: label}
	rc := d.lib.memset.Call(uintptr(b.base), 0, uintptr(size), d.side)
	if err := d.finish("cuMemsetD8Async", rc, b.base, size); err != nil {
		_ = d.freeBlock(b) // the fill's error is the one to report
		return 0, err
	}
	d.drv.memory.add(b)
	return device.Ptr(b.base), nil
}

// allocate asks the driver. Preconditions: the device is entered.
func (d *Device) allocate(size uint64, label string) (uint64, error) {
	var handle uint64
	rc := d.lib.memAlloc.Call(uintptr(unsafe.Pointer(&handle)), uintptr(size))
	return handle, d.check("cuMemAlloc", rc, "GPU %d, %d bytes for %q", d.ordinal, size, label)
}

// finish waits for what was put on the side stream with result rc.
func (d *Device) finish(call string, rc uintptr, addr uint64, size int64) error {
	if err := d.check(call, rc, "GPU %d, %d bytes at %#x", d.ordinal, size, addr); err != nil {
		return err
	}
	return d.check("cuStreamSynchronize", d.lib.streamSynchronize.Call(d.side), "GPU %d, after %s of %d bytes at %#x", d.ordinal, call, size, addr)
}

// Label names part of an allocation.
func (d *Device) Label(p device.Ptr, size int64, label string) {
	if size > 0 {
		d.drv.memory.name(uint64(p), uint64(size), label)
	}
}

// Free frees device memory. The driver waits until the device is idle.
func (d *Device) Free(p device.Ptr) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	b := d.drv.memory.take(uint64(p), d, false)
	if b == nil {
		return fmt.Errorf("cuda: GPU %d: free %#x: no allocation of this device starts there (%s)", d.ordinal, uint64(p), d.drv.memory.describe(uint64(p)))
	}
	return d.freeBlock(b)
}

// freeBlock gives a block back to the driver.
//
// Preconditions: the device's context is current, the ledger does not have b.
func (d *Device) freeBlock(b *block) error {
	if b.host {
		return d.check("cuMemFreeHost", d.lib.memFreeHost.Call(uintptr(b.handle)), "GPU %d, %#x, %q", d.ordinal, b.handle, b.label)
	}
	return d.check("cuMemFree", d.lib.memFree.Call(uintptr(b.handle)), "GPU %d, %#x, %q", d.ordinal, b.handle, b.label)
}

// locate makes sure that n bytes at p are in one allocation, of this driver or
// of another library. Without it the driver might take a stray address for
// pageable host memory and copy there.
//
// Preconditions: the device is entered.
func (d *Device) locate(what string, p device.Ptr, n int64) error {
	addr, size := uint64(p), uint64(n)
	if n < 0 {
		return fmt.Errorf("cuda: GPU %d: %s: %d bytes: the size must not be negative", d.ordinal, what, n)
	}
	if d.drv.memory.holds(addr, size) {
		return nil
	}
	var foreign block
	start := d.lib.pointerGetAttribute.Call(uintptr(unsafe.Pointer(&foreign.base)), pointerRangeStart, uintptr(addr))
	extent := d.lib.pointerGetAttribute.Call(uintptr(unsafe.Pointer(&foreign.size)), pointerRangeSize, uintptr(addr))
	for _, rc := range []uintptr{start, extent} {
		if c := Code(rc); c != invalidValue {
			if err := d.check("cuPointerGetAttribute", rc, "GPU %d, %#x", d.ordinal, addr); err != nil {
				return err
			}
		}
	}
	if Code(start) == success && Code(extent) == success && foreign.holds(addr, size) {
		return nil
	}
	return fmt.Errorf("cuda: GPU %d: %s: %d bytes at %#x are not in one allocation (%s)", d.ordinal, what, n, addr, d.drv.memory.describe(addr))
}

// CopyIn writes src to device memory and returns when it is there.
func (d *Device) CopyIn(dst device.Ptr, src []byte) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	n := len(src)
	if err := d.locate("copy in", dst, int64(n)); err != nil || n == 0 {
		return err
	}
	if n >= laneBytes {
		// Without a lane the driver's own way is left.
		if l, err := d.takeLane(); err == nil {
			defer d.putLane(l)
			return l.copyIn(uint64(dst), src)
		}
	}
	defer runtime.KeepAlive(src) // until finish has waited
	rc := d.lib.memcpyHtoDAsync.Call(uintptr(dst), uintptr(unsafe.Pointer(&src[0])), uintptr(n), d.side)
	return d.finish("cuMemcpyHtoDAsync", rc, uint64(dst), int64(n))
}

// CopyOut reads device memory.
func (d *Device) CopyOut(dst []byte, src device.Ptr) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	n := len(dst)
	if err := d.locate("copy out", src, int64(n)); err != nil || n == 0 {
		return err
	}
	if n >= laneBytes {
		if l, err := d.takeLane(); err == nil {
			defer d.putLane(l)
			return l.copyOut(dst, uint64(src))
		}
	}
	defer runtime.KeepAlive(dst)
	rc := d.lib.memcpyDtoHAsync.Call(uintptr(unsafe.Pointer(&dst[0])), uintptr(src), uintptr(n), d.side)
	return d.finish("cuMemcpyDtoHAsync", rc, uint64(src), int64(n))
}
