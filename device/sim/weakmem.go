package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// weakly is the weak memory model.
var weakly = memoryModel{
	load:  loadWeakly,
	store: storeWeakly,
	atom:  atomWeakly,
	fence: fenceWeakly,
	weak:  true,
}

// tracked reports whether accesses to an allocation are: constants and parameters
// are not.
func (al *alloc) tracked() bool { return !al.readOnly }

// cells returns what is known of an allocation's memory.
func (al *alloc) cells() *shadow {
	if al.shadow == nil {
		al.shadow = &shadow{}
	}
	return al.shadow
}

// granuleAt returns the granule at an offset; bytes beyond the allocation are 0.
func (al *alloc) granuleAt(off uint64) uint64 {
	off &^= granule - 1
	if off+granule <= uint64(len(al.data)) {
		return le.Uint64(al.data[off:])
	}
	var b [granule]byte
	copy(b[:], al.data[off:])
	return le.Uint64(b[:])
}

// strong reports whether an instruction's accesses are strong.
func strong(in *ptx.Instr) bool {
	switch in.Sem {
	case ptx.Weak, ptx.NonCoherent:
		return false
	}
	return true
}

// semantics is what an instruction asks for in the weak model.
type semantics struct {
	level    level
	acquires bool
	releases bool
}

func semanticsOf(in *ptx.Instr) semantics {
	s := semantics{level: levelOf(in.Scope)}
	s.acquires = in.Sem == ptx.Acquire || in.Sem == ptx.AcqRel || in.Sem == ptx.SeqCst
	s.releases = in.Sem == ptx.Release || in.Sem == ptx.AcqRel || in.Sem == ptx.SeqCst
	return s
}

// private reports whether a space is never shared by threads, or never written.
func private(s ptx.Space) bool { return s == ptx.Local || s == ptx.Param || s == ptx.Const }

func loadWeakly(a *access) exec {
	switch {
	case private(a.space):
		return loadNow(a)
	case strong(a.src):
		return loadStrong(a)
	}
	fetch := a.fetcher()
	kind := plainRead
	if a.src.Sem == ptx.NonCoherent || a.src.Op == ptx.OpLdu {
		kind = constantRead
	}
	return func(w *warp, m uint32) status {
		if al, ok := a.offsets(w, m); ok {
			if al.tracked() && !w.readPlain(a, al, m, kind) {
				return failed
			}
			fetch(w, al.data, m)
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b, f := a.bytesAt(w, l, false)
			if f != nil {
				return w.failWith(f)
			}
			if al, off := a.allocAt(w, l); al != nil && al.tracked() {
				w.off[l] = off
				if !w.readPlain(a, al, 1<<l, kind) {
					return failed
				}
			}
			a.toRegs(w, l, b)
		}
		return next
	}
}

// allocAt returns what lane l accesses, which was found to be right; nil is local
// memory.
func (a *access) allocAt(w *warp, l int) (*alloc, uint64) {
	addr := w.r64[a.addr][l] + a.off
	al, _ := w.find(a.space, l, addr, a.bytes)
	if al == nil {
		return nil, 0
	}
	return al, addr - al.base
}

// readPlain checks and notes plain reads of the lanes of m, at w.off.
func (w *warp) readPlain(a *access, al *alloc, m uint32, kind readKind) bool {
	x, sh, pc := w.weak, al.cells(), w.pc
	if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, m) {
		return false
	}
	n := min(a.bytes, granule)
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		for off := w.off[l]; off < w.off[l]+a.bytes; off += granule {
			c, bytes := sh.at(off), bytesOf(off, n)
			if other, races := x.checkRead(c, l, bytes, kind); races {
				w.failWith(w.race(pc, l, al, off, bytes, "a plain read", other))
				return false
			}
			r := &c.reads[0]
			if r.clk == x.clk && r.slot == x.slot && r.pc == pc && r.bytes == bytes && r.kind == kind {
				r.lanes |= 1 << l
			} else {
				c.addRead(x, read{x.slot, x.clk, pc, 1 << l, bytes, kind})
			}
		}
	}
	return true
}

func storeWeakly(a *access) exec {
	switch {
	case private(a.space):
		return storeNow(a)
	case strong(a.src):
		return storeStrong(a)
	}
	put := a.putter()
	return func(w *warp, m uint32) status {
		w.m.epoch++
		if al, ok := a.offsets(w, m); ok && !al.readOnly {
			if !w.writePlain(a, al, m) {
				return failed
			}
			put(w, al.data, m)
			return w.settlePlain(a, al, m)
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b, f := a.bytesAt(w, l, true)
			if f != nil {
				return w.failWith(f)
			}
			al, off := a.allocAt(w, l)
			if al != nil {
				w.off[l] = off
				if !w.writePlain(a, al, 1<<l) {
					return failed
				}
			}
			a.fromRegs(w, l, b)
			if al != nil {
				w.settlePlain(a, al, 1<<l)
			}
		}
		return next
	}
}

// writePlain checks and notes plain writes of the lanes of m, at w.off.
func (w *warp) writePlain(a *access, al *alloc, m uint32) bool {
	x, sh, pc := w.weak, al.cells(), w.pc
	if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, m) {
		return false
	}
	n := min(a.bytes, granule)
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		for off := w.off[l]; off < w.off[l]+a.bytes; off += granule {
			c, bytes := sh.at(off), bytesOf(off, n)
			if other, races := x.checkWrite(c, l, bytes, false); races {
				w.failWith(w.race(pc, l, al, off, bytes, "a plain write", other))
				return false
			}
			e := &c.writes[0]
			if e.bytes == bytes && e.slot == x.slot && int(e.lane) == l {
				e.clk, e.pc = x.clk, pc
			} else {
				c.setWrite(write{x.slot, x.clk, pc, uint8(l), bytes})
			}
			if c.more != nil && len(c.more.versions)+len(c.more.older) > 0 {
				x.unsettled = true
			}
		}
	}
	return true
}

// settlePlain lets plain writes, which are in memory now, replace what strong ones
// left there.
func (w *warp) settlePlain(a *access, al *alloc, m uint32) status {
	x := w.weak
	if !x.unsettled {
		return next
	}
	x.unsettled = false
	n := min(a.bytes, granule)
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		for off := w.off[l]; off < w.off[l]+a.bytes; off += granule {
			if c := al.shadow.at(off); c.more != nil {
				c.more.settle(bytesOf(off, n), al.granuleAt(off))
			}
		}
	}
	return next
}
