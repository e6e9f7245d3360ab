package sim

// loadNow is the exec of loads in the sequential model.
func loadNow(a *access) exec {
	if a.uniform && a.slot == slotParam {
		return loadParam(a)
	}
	fetch := a.fetcher()
	return func(w *warp, m uint32) status {
		al, ok := a.offsets(w, m)
		if ok {
			fetch(w, al.data, m)
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b, f := a.bytesAt(w, l, false)
			if f != nil {
				return w.failWith(f)
			}
			a.toRegs(w, l, b)
		}
		return next
	}
}

// loadParam reads a parameter at a constant address, the same for all lanes.
func loadParam(a *access) exec {
	return func(w *warp, m uint32) status {
		b, f := a.bytesAt(w, lowest(m), false)
		if f != nil {
			return w.failWith(f)
		}
		for i, p := range a.regs {
			v := a.element(b, i)
			if p.loc.file == file32 {
				fill(&w.t32, uint32(v))
				merge(&w.r32[p.loc.row], &w.t32, m)
			} else {
				fill(&w.t64, v)
				merge(&w.r64[p.loc.row], &w.t64, m)
			}
		}
		return next
	}
}

// element reads element i, extended to its register.
func (a *access) element(b []byte, i int) uint64 {
	v := a.bits(b, i)
	if ext := a.widen[i]; ext != nil {
		v = ext(v)
	}
	return v
}

// bits reads element i.
func (a *access) bits(b []byte, i int) uint64 {
	var v uint64
	switch min(a.elem, 8) {
	case 1:
		v = uint64(b[i])
	case 2:
		v = uint64(le.Uint16(b[2*i:]))
	case 4:
		v = uint64(le.Uint32(b[4*i:]))
	case 8:
		v = le.Uint64(b[8*i:])
	}
	return v
}

// setElement writes element i.
func (a *access) setElement(b []byte, i int, v uint64) {
	switch min(a.elem, 8) {
	case 1:
		b[i] = byte(v)
	case 2:
		le.PutUint16(b[2*i:], uint16(v))
	case 4:
		le.PutUint32(b[4*i:], uint32(v))
	case 8:
		le.PutUint64(b[8*i:], v)
	}
}

// toRegs loads the registers of lane l.
func (a *access) toRegs(w *warp, l int, b []byte) {
	for i, p := range a.regs {
		p.set(w, l, a.element(b, i))
	}
}

// fromRegs stores the registers of lane l.
func (a *access) fromRegs(w *warp, l int, b []byte) {
	for i, p := range a.regs {
		a.setElement(b, i, p.get(w, l))
	}
}

// storeNow is the exec of stores in the sequential model.
func storeNow(a *access) exec {
	put := a.putter()
	return func(w *warp, m uint32) status {
		w.m.epoch++
		al, ok := a.offsets(w, m)
		if ok && !al.readOnly {
			put(w, al.data, m)
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b, f := a.bytesAt(w, l, true)
			if f != nil {
				return w.failWith(f)
			}
			a.fromRegs(w, l, b)
		}
		return next
	}
}
