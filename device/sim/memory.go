package sim

import (
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// memoryModel is how loads, stores, atomics and fences take effect. Lowering
// asks it for the exec of each; what else a model needs of the instruction is
// in access. There are two: sequential and weakly.
type memoryModel struct {
	load  func(a *access) exec
	store func(a *access) exec
	atom  func(a *access) exec
	fence func(in *ptx.Instr) exec
	weak  bool // loads may bind late
}

// sequential is the sequentially consistent model: an instruction's accesses
// happen at once, in lane order, and are seen by all.
var sequential = memoryModel{
	load:  loadNow,
	store: storeNow,
	atom:  atomNow,
	fence: func(*ptx.Instr) exec { return nothing },
}

// access is a decoded memory operand with the registers that go with it.
type access struct {
	src   *ptx.Instr
	addr  int32 // row of base addresses
	off   uint64
	space ptx.Space
	slot  int    // in warp.cache
	elem  int    // bytes of an element
	bytes uint64 // of all elements: the access's size and alignment

	// regs are what is loaded or stored, one for each element of up to 8 bytes;
	// an element of 16 bytes has two.
	regs  []piece
	exact bool // each register has its element's size
	// widen extends a loaded element to its register.
	widen []func(uint64) uint64
	// uniform is set if the address is the same constant for all lanes.
	uniform bool
	atom    *atomOp
	late    uint64 // of a load that may bind late: its destinations (lowering.late)
}

// A warp remembers, by slot, in which allocation the lanes of memory ops fell
// last. Ops share the slot of their base register.
const (
	slotShared = iota
	slotParam
	slotFirst
	cacheSlots = 16
)

// offsets computes in w.off where in one allocation the lanes of m access, and
// returns its bytes. ok is false if the lanes are not all in one, or one of
// them is wrong.
func (a *access) offsets(w *warp, m uint32) (al *alloc, ok bool) {
	al = w.cache[a.slot]
	if a.inside(w, al, m) {
		return al, true
	}
	if a.slot < slotFirst {
		return al, false
	}
	l := lowest(m)
	found, f := w.find(a.space, l, w.r64[a.addr][l]+a.off, a.bytes)
	if f != nil || found == nil || found == al {
		return al, false
	}
	w.cache[a.slot] = found
	return found, a.inside(w, found, m)
}

// inside is the range and alignment check of one instruction.
func (a *access) inside(w *warp, al *alloc, m uint32) bool {
	if al.size < a.bytes {
		return false
	}
	base := al.base - a.off
	addr, off := &w.r64[a.addr], &w.off
	var largest, low uint64
	if m == full {
		for l := range addr {
			o := addr[l] - base
			off[l] = o
			largest = max(largest, o)
			low |= o
		}
	} else {
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			o := addr[l] - base
			off[l] = o
			largest = max(largest, o)
			low |= o
		}
	}
	return largest <= al.size-a.bytes && low&(a.bytes-1) == 0
}

// find returns the allocation that holds n bytes at addr, an address in a state
// space, for lane l. Local memory is in none: it returns nil without a fault.
func (w *warp) find(space ptx.Space, l int, addr, n uint64) (*alloc, *device.Fault) {
	c := w.cta
	var al *alloc
	switch space {
	case ptx.Shared:
		al = c.shared
	case ptx.Param:
		al = c.kernel.params
	case ptx.Local:
		return w.findLocal(l, addr, n)
	case ptx.Generic:
		switch addr &^ (1<<windowBits - 1) {
		case sharedWindow:
			al = c.window
		case localWindow:
			return w.findLocal(l, addr-localWindow, n)
		case paramWindow:
			al = &alloc{base: paramWindow, size: c.kernel.params.size, data: c.kernel.params.data, readOnly: true}
		}
	}
	if al == nil {
		return w.findGlobal(l, addr, n)
	}
	if !al.holds(addr, n) {
		return nil, w.badAddress(device.OutOfBounds, l, addr, "%d bytes at offset %#x of the %d bytes of %s", n, addr-al.base, al.size, al.label)
	}
	return al, nil
}

func (w *warp) findLocal(l int, addr, n uint64) (*alloc, *device.Fault) {
	if size := uint64(w.cta.kernel.fn.prog.entry.LocalSize); addr > size || n > size-addr {
		return nil, w.badAddress(device.OutOfBounds, l, addr, "%d bytes at offset %#x of a thread's %d bytes of local memory", n, addr, size)
	}
	return nil, nil
}

// findGlobal looks in device and pinned host memory.
func (w *warp) findGlobal(l int, addr, n uint64) (*alloc, *device.Fault) {
	m, g := w.m, w.cta.kernel.gpu
	r := m.regionOf(addr)
	var al *alloc
	if r != nil {
		al = r.find(addr)
	}
	switch {
	case al != nil && addr-al.base < al.freed:
		return nil, w.badAddress(device.UseAfterFree, l, addr, "%d bytes", n)
	case al == nil || !al.holds(addr, n):
		return nil, w.badAddress(device.OutOfBounds, l, addr, "%d bytes that are in no allocation", n)
	case al.gpu >= 0 && !g.peers[al.gpu]:
		return nil, w.badAddress(device.OutOfBounds, l, addr, "memory of GPU %d, which GPU %d may not access: EnablePeer was not called", al.gpu, g.index)
	}
	return al, nil
}

func (w *warp) badAddress(kind device.FaultKind, l int, addr uint64, format string, args ...any) *device.Fault {
	f := w.newFault(kind, l, format, args...)
	f.Addr, f.AddrLabel = device.Ptr(addr), w.m.describe(addr)
	return f
}

// bytesAt returns the bytes that lane l accesses, with every check.
func (a *access) bytesAt(w *warp, l int, write bool) ([]byte, *device.Fault) {
	addr := w.r64[a.addr][l] + a.off
	if addr&(a.bytes-1) != 0 {
		return nil, w.badAddress(device.Misaligned, l, addr, "an access of %d bytes needs an address that is a multiple of it", a.bytes)
	}
	al, f := w.find(a.space, l, addr, a.bytes)
	switch {
	case f != nil:
		return nil, f
	case al == nil: // local memory
		off := uint64(l*w.cta.kernel.fn.prog.localStride) + addr&(1<<windowBits-1)
		return w.local[off : off+a.bytes], nil
	case write && al.readOnly:
		return nil, w.badAddress(device.ReadOnly, l, addr, "%s is read-only", al.label)
	}
	off := addr - al.base
	return al.data[off : off+a.bytes], nil
}

// failWith poisons the machine with f.
func (w *warp) failWith(f *device.Fault) status {
	w.m.poison(f)
	return failed
}
