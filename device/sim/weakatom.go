package sim

import (
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// atomWeakly is the exec of atomics: each lane reads the newest value and replaces
// it at once, in an order that the seed chooses.
func atomWeakly(a *access) exec {
	sem := semanticsOf(a.src)
	run := atomNow(a)
	return func(w *warp, m uint32) status {
		x := w.weak
		if (sem.acquires || sem.releases) && !x.bindAll(w, m) {
			return failed
		}
		released := x.clk
		if sem.releases {
			x.tick()
		}
		for order := x.ws.order(m); m != 0; {
			l := order.take(&m)
			if _, f := a.bytesAt(w, l, true); f != nil {
				return w.failWith(f)
			}
			al, off := a.allocAt(w, l)
			if al == nil {
				if run(w, 1<<l) == failed {
					return failed
				}
				continue
			}
			if f := w.overPCIe(a, al, l); f != nil {
				return w.failWith(f)
			}
			w.off[l] = off
			if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, 1<<l) {
				return failed
			}
			if st := w.atomic(a, run, al, off, l, sem, released); st == failed {
				return failed
			}
		}
		return next
	}
}

// atomic does an atomic of one lane. A compare-and-swap that finds something else
// is a read.
func (w *warp) atomic(a *access, run exec, al *alloc, off uint64, l int, sem semantics, released uint32) status {
	x, ws, pc := w.weak, w.weak.ws, w.pc
	sh := al.cells()
	n := min(a.bytes, granule)
	bytes := bytesOf(off, n)
	writes := !a.atom.compares || a.matches(w, l, al.data[off:])
	var before [maxAtomVec]uint64
	var passed []*releases
	done, chained := origin, true
	for i := uint64(0); i*granule < a.bytes; i++ {
		at := off + i*granule
		c := sh.at(at)
		if other, races := x.checkRead(c, l, bytes, strongRead); races {
			return w.failWith(w.race(pc, l, al, at, bytes, "an atomic", other))
		}
		c.addRead(x, read{x.slot, x.clk, pc, 1 << l, bytes, strongRead})
		if writes {
			if other, races := x.checkWrite(c, l, bytes, true); races {
				return w.failWith(w.race(pc, l, al, at, bytes, "an atomic", other))
			}
		}
		before[i] = al.granuleAt(at)
		if c.more == nil || len(c.more.versions) == 0 {
			continue
		}
		vs := c.more.versions
		if !writes {
			x.seesNewest(vs, l, bytes, sem.level)
		}
		if a.src.Op == ptx.OpAtom {
			x.learn(vs, l, bytes, sem.level, sem.acquires)
		}
		var all bool
		passed, done, all = x.passOn(passed, done, vs, bytes, sem.level)
		chained = chained && all
	}
	if st := run(w, 1<<l); st != next || !writes {
		return st
	}
	rel, bound := x.rel[l], x.bound[l]
	if sem.releases {
		rel, bound = x.releaseAt(l, sem.level, released), released
	}
	ws.moment++
	for i := uint64(0); i*granule < a.bytes; i++ {
		at := off + i*granule
		var extra *rare
		if passed != nil {
			extra = &rare{passed: passed}
		}
		sh.at(at).addVersion(before[i], version{value: al.granuleAt(at), at: ws.moment, group: a.elem == 16, chained: chained,
			by: write{x.slot, x.clk, pc, uint8(l), bytes}, level: sem.level, home: x.home, rel: rel, rare: extra, r: ws.join(x.r[l], done), bound: bound})
	}
	return next
}

// overPCIe is the fault of an atomic on memory of a GPU that is reached over PCIe,
// which has no read-modify-write of a peer's memory.
func (w *warp) overPCIe(a *access, al *alloc, l int) *device.Fault {
	here := w.cta.kernel.gpu.index
	if al.gpu < 0 || al.gpu == here || !w.weak.ws.pcie(here, al.gpu) {
		return nil
	}
	return w.badAddress(device.IllegalOperand, l, w.r64[a.addr][l]+a.off, "an atomic on memory of GPU %d, which GPU %d reaches over PCIe", al.gpu, here)
}

// matches reports whether a compare-and-swap of lane l finds in b what it expects.
func (a *access) matches(w *warp, l int, b []byte) bool {
	for i, p := range a.atom.b {
		if a.bits(b, i) != p.get(w, l) {
			return false
		}
	}
	return true
}
