package sim

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

// ascending reports whether accesses of n bytes of the lanes of m lie behind one
// another, as most do: then their order does not matter.
func ascending(offs *row64, m uint32, n uint64) bool {
	end := uint64(0)
	for ; m != 0; m &= m - 1 {
		off := offs[lowest(m)]
		if off < end {
			return false
		}
		end = off + n
	}
	return true
}

// writeStrong does strong stores of the lanes of m, at w.off.
func (w *warp) writeStrong(a *access, al *alloc, m uint32, sem semantics) status {
	x, sh, pc := w.weak, al.cells(), w.pc
	ws := x.ws
	n, size := ws.piecesOf(a)
	backward := n > 1 && ws.chance(2)
	order := upward
	if !ascending(&w.off, m, a.bytes) {
		order = ws.order(m)
	}
	lines := uint32(0)
	if size == 16 && ws.facts&(WholePack|WholeLine) == WholePack|WholeLine && w.sharesLine(al) {
		lines = wholeLines(&w.off, m)
		if order == downward {
			lines >>= 1 // the lanes but the last follow it
		}
	}
	released := x.clk
	if sem.releases {
		x.tick()
	}
	for m != 0 {
		l := order.take(&m)
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
				if x.overtakes(c, l, bytes) {
					w.m.stats.UnorderedStores++
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
