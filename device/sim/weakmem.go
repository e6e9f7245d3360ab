package sim

import (
	"github.com/ncclgo/ncclgo/device/ptx"
)

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

// piecesOf returns how an access of a bytes falls into accesses of their own, with
// the facts that hold: n of size bytes.
func (ws *weakState) piecesOf(a *access) (n, size uint64) {
	if a.elem == 16 || a.bytes == 16 && ws.facts&WholePack != 0 {
		return 1, 16
	}
	return a.bytes / uint64(a.elem), uint64(a.elem)
}

// loadStrong is the exec of strong loads. The seed decides whether they bind now
// or late.
func loadStrong(a *access) exec {
	sem := semanticsOf(a.src)
	return func(w *warp, m uint32) status {
		x := w.weak
		x.turn++
		if sem.acquires && !x.bindAll(w, m) {
			return failed
		}
		al, ok := a.offsets(w, m)
		if ok && al.tracked() {
			if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, m) {
				return failed
			}
			if a.late != 0 && !sem.acquires && x.ws.chance(lateChance) {
				x.postpone(w, a, al, m)
				return next
			}
			if !w.readStrong(a, al, &w.off, m, w.pc, sem, false) {
				return failed
			}
		} else {
			for s := m; s != 0; s &= s - 1 {
				l := lowest(s)
				b, f := a.bytesAt(w, l, false)
				if f != nil {
					return w.failWith(f)
				}
				al, off := a.allocAt(w, l)
				if al == nil || !al.tracked() {
					a.toRegs(w, l, b)
					continue
				}
				w.off[l] = off
				if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, 1<<l) ||
					!w.readStrong(a, al, &w.off, 1<<l, w.pc, sem, false) {
					return failed
				}
			}
		}
		return next
	}
}

// readStrong binds a strong load of the lanes of m, now or late.
func (w *warp) readStrong(a *access, al *alloc, offs *row64, m uint32, pc int32, sem semantics, late bool) bool {
	x, sh := w.weak, al.cells()
	n, size := x.ws.piecesOf(a)
	backward := n > 1 && x.ws.chance(2)
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		var buf [16]byte
		for i := range n {
			if backward {
				i = n - 1 - i
			}
			off := offs[l] + i*size
			var cells [2]*cell
			var values [2]uint64
			g := (size + granule - 1) / granule
			bytes := bytesOf(off, min(size, granule))
			plain := true
			for j := range g {
				at := off + j*granule
				c := sh.at(at)
				if other, races := x.checkRead(c, l, bytes, strongRead); races {
					return w.failWith(w.race(pc, l, al, at, bytes, "a strong read", other)) != failed
				}
				r := &c.reads[0]
				if r.clk == x.clk && r.slot == x.slot && r.pc == pc && r.bytes == bytes && r.kind == strongRead {
					r.lanes |= 1 << l
				} else {
					c.addRead(x, read{x.slot, x.clk, pc, 1 << l, bytes, strongRead})
				}
				cells[j], values[j] = c, al.granuleAt(at)
				plain = plain && (c.more == nil || len(c.more.versions) == 0)
			}
			if !plain {
				x.readVersions(w, l, cells[:g], bytes, sem, late, values[:g])
			}
			if size == 16 {
				le.PutUint64(buf[:], values[0])
				le.PutUint64(buf[8:], values[1])
			} else {
				putBytes(buf[i*size:], values[0]>>(8*(off%granule)), size)
			}
		}
		a.toRegs(w, l, buf[:])
	}
	return true
}

// putBytes stores the low n bytes of v.
func putBytes(b []byte, v, n uint64) {
	switch n {
	case 8:
		le.PutUint64(b, v)
	case 4:
		le.PutUint32(b, uint32(v))
	case 2:
		le.PutUint16(b, uint16(v))
	case 1:
		b[0] = byte(v)
	}
}

// storeStrong is the exec of strong stores.
func storeStrong(a *access) exec {
	sem := semanticsOf(a.src)
	return func(w *warp, m uint32) status {
		w.m.epoch++
		x := w.weak
		if sem.releases && !x.bindAll(w, m) {
			return failed
		}
		al, ok := a.offsets(w, m)
		if ok && !al.readOnly {
			if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, m) {
				return failed
			}
			return w.writeStrong(a, al, m, sem)
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b, f := a.bytesAt(w, l, true)
			if f != nil {
				return w.failWith(f)
			}
			al, off := a.allocAt(w, l)
			if al == nil {
				a.fromRegs(w, l, b)
				continue
			}
			w.off[l] = off
			if len(x.late) > 0 && !x.bindOverlaps(w, al, &w.off, a.bytes, 1<<l) ||
				w.writeStrong(a, al, 1<<l, sem) == failed {
				return failed
			}
		}
		return next
	}
}

// writeStrong does strong stores of the lanes of m, at w.off.
func (w *warp) writeStrong(a *access, al *alloc, m uint32, sem semantics) status {
	x, sh, pc := w.weak, al.cells(), w.pc
	ws := x.ws
	n, size := ws.piecesOf(a)
	backward := n > 1 && ws.chance(2)
	lines := uint32(0)
	if size == 16 && ws.facts&(WholePack|WholeLine) == WholePack|WholeLine && w.sharesLine(al) {
		lines = wholeLines(&w.off, m)
	}
	released := x.clk
	if sem.releases {
		x.tick()
	}
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		rel, bound := x.rel[l], x.bound[l]
		if sem.releases {
			rel, bound = x.releaseAt(l, sem.level, released), released
		}
		var buf [16]byte
		a.fromRegs(w, l, buf[:])
		for i := range n {
			if backward {
				i = n - 1 - i
			}
			if lines>>l&1 == 0 { // else with the lane before
				ws.moment++
			}
			off := w.off[l] + i*size
			bytes := bytesOf(off, min(size, granule))
			for at := off; at < off+size; at += granule {
				c := sh.at(at)
				if other, races := x.checkWrite(c, l, bytes, true); races {
					return w.failWith(w.race(pc, l, al, at, bytes, "a strong write", other))
				}
				before := al.granuleAt(at)
				k := min(size, granule)
				copy(al.data[at:at+k], buf[i*size+at-off:])
				c.addVersion(before, version{value: al.granuleAt(at), at: ws.moment, group: size == 16,
					by: write{x.slot, x.clk, pc, uint8(l), bytes}, level: sem.level, home: x.home, rel: rel, r: x.r[l], bound: bound})
			}
		}
	}
	return next
}

// sharesLine reports whether lines of an allocation that this warp fills become
// visible as a whole, if they do anywhere.
func (w *warp) sharesLine(al *alloc) bool {
	c := w.cta
	return al != c.shared && al != c.window && al.gpu >= 0 && !w.weak.ws.pcie(c.kernel.gpu.index, al.gpu)
}

const lineBytes = 128

// wholeLines returns the lanes that with 7 others, of which they are not the first,
// fill a line with stores of 16 bytes.
func wholeLines(offs *row64, m uint32) (follow uint32) {
	const packs = lineBytes / 16
	for first := 0; first+packs <= lanes; {
		if m>>first&(1<<packs-1) == 1<<packs-1 {
			line, filled := offs[first]/lineBytes, uint32(0)
			for _, o := range offs[first : first+packs] {
				if o/lineBytes == line {
					filled |= 1 << (o % lineBytes / 16)
				}
			}
			if filled == 1<<packs-1 {
				follow |= (1<<packs - 2) << first
				first += packs
				continue
			}
		}
		first++
	}
	return follow
}

// atomWeakly is the exec of atomics: each lane reads the newest value and replaces
// it at once.
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
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			if _, f := a.bytesAt(w, l, true); f != nil {
				return w.failWith(f)
			}
			al, off := a.allocAt(w, l)
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

// atomic does an atomic of one lane.
func (w *warp) atomic(a *access, run exec, al *alloc, off uint64, l int, sem semantics, released uint32) status {
	x, ws, pc := w.weak, w.weak.ws, w.pc
	if al == nil {
		return run(w, 1<<l)
	}
	sh := al.cells()
	n := min(a.bytes, granule)
	bytes := bytesOf(off, n)
	var before [maxAtomVec]uint64
	var passed []carried
	for i := uint64(0); i*granule < a.bytes; i++ {
		at := off + i*granule
		c := sh.at(at)
		if other, races := x.checkRead(c, l, bytes, strongRead); races {
			return w.failWith(w.race(pc, l, al, at, bytes, "an atomic", other))
		}
		c.addRead(x, read{x.slot, x.clk, pc, 1 << l, bytes, strongRead})
		if other, races := x.checkWrite(c, l, bytes, true); races {
			return w.failWith(w.race(pc, l, al, at, bytes, "an atomic", other))
		}
		before[i] = al.granuleAt(at)
		if c.more == nil || len(c.more.versions) == 0 {
			continue
		}
		vs := c.more.versions
		if a.src.Op == ptx.OpAtom {
			x.learn(vs, l, bytes, sem.level, sem.acquires)
		}
		passed = ws.passOn(passed, vs, bytes)
	}
	writes := !a.atom.compares || a.matches(w, l, al.data[off:])
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
		sh.at(at).addVersion(before[i], version{value: al.granuleAt(at), at: ws.moment, group: a.elem == 16,
			by: write{x.slot, x.clk, pc, uint8(l), bytes}, level: sem.level, home: x.home, rel: rel, passed: passed, r: x.r[l], bound: bound})
	}
	return next
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

// passOn adds what the last versions carry to list.
func (ws *weakState) passOn(list []carried, vs []version, bytes uint8) []carried {
	for i := len(vs) - 1; i >= 0 && bytes != 0; i-- {
		v := &vs[i]
		if v.by.bytes&bytes == 0 {
			continue
		}
		bytes &^= v.by.bytes
		for _, c := range v.passed {
			list = ws.addCarried(list, c)
		}
		if v.rel != nil {
			list = ws.addCarried(list, carried{v.rel, v.level})
		}
	}
	return list
}

// addCarried adds c to list, in one with what came from the same CTA by writes of
// the same scope.
func (ws *weakState) addCarried(list []carried, c carried) []carried {
	for i, o := range list {
		switch {
		case o == c:
			return list
		case o.level == c.level && o.rel.home == c.rel.home:
			list[i].rel = ws.joinReleases(o.rel, c.rel)
			return list
		}
	}
	return append(list, c)
}

func (ws *weakState) joinReleases(a, b *releases) *releases {
	n := &releases{home: a.home}
	for d := range n.at {
		switch p, q := &a.at[d], &b.at[d]; {
		case p.v == nil:
			n.at[d] = *q
		case q.v == nil:
			n.at[d] = *p
		default:
			v := ws.join(ws.released(p), ws.released(q))
			n.at[d] = release{v: v, full: v}
		}
	}
	return n
}

// fenceWeakly is the exec of fences.
func fenceWeakly(in *ptx.Instr) exec {
	sem := semanticsOf(in)
	total := in.Sem == ptx.SeqCst
	// "membar.{cta,gl,sys} are synonyms of fence.sc" (PTX ISA, "membar").
	if in.Op == ptx.OpMembar {
		sem.acquires, sem.releases, total = true, true, true
	}
	return func(w *warp, m uint32) status {
		x := w.weak
		if !x.bindAll(w, m) {
			return failed
		}
		for s := m; s != 0; s &= s - 1 {
			l := lowest(s)
			if p := x.pend[l]; p != nil && sem.acquires {
				for d := ctaLevel; d <= sem.level; d++ {
					if p[d] != nil {
						x.v[l] = x.ws.join(x.v[l], p[d])
						p[d] = nil
					}
				}
			}
			if total {
				x.meet(l, sem.level)
			}
			x.r[l] = x.ws.join(x.r[l], x.v[l])
			if sem.releases {
				x.rel[l] = x.releaseAt(l, sem.level, x.clk)
			}
			x.bound[l] = x.clk
		}
		x.tick()
		return next
	}
}

// meet joins, both ways, with all fence.sc before that include lane l and that it
// includes: those of its CTA; those of gpu scope and more of its GPU; those of sys
// scope.
func (x *weakWarp) meet(l int, lv level) {
	ws := x.ws
	places := [numLevels]**view{&x.home.sc, &ws.sc[x.home.gpu], &ws.scAll}
	v := x.v[l]
	for d := ctaLevel; d <= lv; d++ {
		v = ws.join(v, *places[d])
	}
	x.v[l] = v
	v = ws.with(v, reach{x.slot, 1 << l, x.clk})
	for d := ctaLevel; d <= lv; d++ {
		*places[d] = ws.join(*places[d], v)
	}
}
