package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// address decodes an address operand.
func (l *lowering) address(o *ptx.Operand) *access {
	in := l.in
	a := &access{src: in, space: in.Space, off: uint64(o.Off), elem: in.Type.Size()}
	a.bytes = uint64(a.elem * max(int(in.Vec), 1))
	switch {
	case o.Reg >= 0:
		r := l.regs[o.Reg]
		if r.file == file32 {
			a.addr = l.widen(r.row)
		} else {
			a.addr = r.row
		}
	case o.Var != nil:
		a.addr, a.uniform = l.varAddr(o.Var, 0), true
		if a.space == ptx.Generic && o.Var.Space != ptx.Global && o.Var.Space != ptx.Const {
			l.unsupported("a generic access to a variable of another space; use cvta")
		}
	default:
		a.addr, a.uniform = l.imm64(o.Imm), true
	}
	switch a.space {
	case ptx.Shared:
		a.slot = slotShared
	case ptx.Param:
		a.slot = slotParam
	default:
		a.slot = slotFirst + int(a.addr)%(cacheSlots-slotFirst)
	}
	return a
}

// elements decodes the registers of a load or store.
func (l *lowering) elements(a *access, o *ptx.Operand, dst bool) {
	list := []ptx.Operand{*o}
	if o.Kind == ptx.KindVec {
		list = o.Vec
	}
	if o.Kind == ptx.KindSink {
		list = make([]ptx.Operand, max(int(l.in.Vec), 1))
		for i := range list {
			list[i] = *o
		}
	}
	a.exact = true
	for i := range list {
		e := &list[i]
		var r loc
		size := a.elem
		switch {
		case dst:
			r = l.result(e, fileOf(l.in.Type))
			if e.Kind == ptx.KindReg {
				size = l.prog.entry.Regs[e.Reg].Type.Size()
			}
		case e.Kind == ptx.KindReg && l.regs[e.Reg].file == file128:
			r = l.regs[e.Reg]
		case a.elem == 16:
			l.unsupported("a 128-bit constant")
		case a.elem == 8:
			r = loc{file64, l.operand64(e)}
		default:
			r = loc{file32, l.operand32(e)}
		}
		a.exact = a.exact && size == a.elem
		p := piece{loc: r}
		if r.file == file128 {
			p.loc.file = file64
			if a.elem == 16 {
				a.regs = append(a.regs, p)
				a.widen = append(a.widen, nil)
				p.loc.row++
			}
		}
		a.regs = append(a.regs, p)
		ext := extender(l.in.Type)
		if !l.in.Type.IsSigned() {
			ext = nil
		} else if size < 8 {
			cut, sign := ^uint64(0)>>(64-8*size), ext
			ext = func(v uint64) uint64 { return sign(v) & cut }
		}
		a.widen = append(a.widen, ext)
	}
}

func (l *lowering) lowerLoad(o *op) {
	a := l.address(&l.in.Src[0])
	l.elements(a, &l.in.Dst[0], true)
	o.mem, o.kind = a, load
	if a.space == ptx.Param {
		o.kind = plain // parameters do not change: reading them is no poll
	}
	if l.late != nil && strong(l.in) {
		for _, p := range a.regs {
			a.late |= l.late[p.loc]
		}
	}
	o.run = l.mem.load(a)
}

func (l *lowering) lowerStore(o *op) {
	a := l.address(&l.in.Src[0])
	l.elements(a, &l.in.Src[len(l.in.Src)-1], false)
	o.mem = a
	o.run = l.mem.store(a)
}

// window returns where a space's addresses lie in generic addresses.
func window(s ptx.Space) uint64 {
	switch s {
	case ptx.Shared:
		return sharedWindow
	case ptx.Local:
		return localWindow
	case ptx.Param:
		return paramWindow
	}
	return 0 // global and const addresses are generic ones
}

func (l *lowering) lowerCvta() exec {
	base := window(l.in.Space)
	if l.in.To {
		base = -base
	}
	d, a := l.d64(), l.src64(0)
	return rows64x1(d, a, func(d, a *row64) {
		for l := range d {
			d[l] = a[l] + base
		}
	})
}

// lowerIsspacep lowers the question whether a generic address is in a space.
func (l *lowering) lowerIsspacep() exec {
	d, a := l.dst(0, preds).row, l.src64(0)
	space := l.in.Space
	base := window(space)
	return func(w *warp, m uint32) status {
		var r uint32
		for s := m; s != 0; s &= s - 1 {
			lane := lowest(s)
			addr := w.r64[a][lane]
			in := addr&^(1<<windowBits-1) == base
			if base == 0 {
				// Constant variables are in read-only allocations of their own.
				reg := w.m.regionOf(addr)
				in = reg != nil
				if in {
					al := reg.find(addr)
					in = (al != nil && al.readOnly && al.holds(addr, 1)) == (space == ptx.Const)
				}
			}
			if in {
				r |= 1 << lane
			}
		}
		w.setPred(d, r, m)
		return next
	}
}
