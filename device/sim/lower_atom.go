package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// atomOp is what an atomic or a reduction computes.
type atomOp struct {
	// f returns the new value of an element of up to 8 bytes. With .cas b is
	// compared and c stored. It is nil for 16 bytes, which .exch and .cas have.
	f func(old, b, c uint64) uint64
	// flush is f for global memory, if it differs there.
	flush func(old, b, c uint64) uint64
	b, c  []piece
	old   []piece // destinations; none for red

	compares bool // .cas
}

// maxAtomVec is the most elements of a vector atomic (PTX ISA, "atom", .v8).
const maxAtomVec = 8

func (l *lowering) lowerAtom(o *op) {
	in := l.in
	a := l.address(&in.Src[0])
	at := &atomOp{b: l.atomSource(a, &in.Src[1]), compares: in.Atom == ptx.AtomCAS}
	if at.compares {
		at.c = l.atomSource(a, &in.Src[2])
	}
	if in.Op == ptx.OpAtom && in.Dst[0].Kind != ptx.KindSink {
		l.elements(a, &in.Dst[0], true)
		at.old = a.regs
	}
	if a.elem < 16 {
		at.f = l.atomFunc(false)
		// "The floating-point operation .add ... .f32 on global memory flushes
		// subnormal inputs and results to sign-preserving zero; on shared memory it
		// supports subnormals" (PTX ISA, "atom").
		if in.Type == ptx.F32 {
			at.flush = l.atomFunc(true)
		}
	}
	a.atom = at
	o.mem = a
	o.run = l.mem.atom(a)
}

// atomSource decodes a source operand, a vector or not.
func (l *lowering) atomSource(a *access, o *ptx.Operand) []piece {
	t := access{elem: a.elem}
	l.elements(&t, o, false)
	return t.regs
}

// atomFunc returns the operation on one element.
func (l *lowering) atomFunc(flush bool) func(old, b, c uint64) uint64 {
	in := l.in
	t := in.Type
	ext, cut := extender(t), mask(t)
	switch in.Atom {
	case ptx.AtomAnd:
		return func(old, b, _ uint64) uint64 { return old & b }
	case ptx.AtomOr:
		return func(old, b, _ uint64) uint64 { return old | b }
	case ptx.AtomXor:
		return func(old, b, _ uint64) uint64 { return old ^ b }
	case ptx.AtomExch:
		return func(_, b, _ uint64) uint64 { return b }
	case ptx.AtomCAS:
		return func(old, b, c uint64) uint64 {
			if old == b {
				return c
			}
			return old
		}
	case ptx.AtomInc:
		return func(old, b, _ uint64) uint64 {
			if old >= b {
				return 0
			}
			return old + 1
		}
	case ptx.AtomDec:
		return func(old, b, _ uint64) uint64 {
			if old == 0 || old > b {
				return b
			}
			return old - 1
		}
	case ptx.AtomAdd:
		if t.IsFloat() {
			return atomAddFloat(t, flush)
		}
		return func(old, b, _ uint64) uint64 { return (old + b) & cut }
	case ptx.AtomMin, ptx.AtomMax:
		if t.IsFloat() {
			f := minMax(formatOf(t), &ptx.Instr{Op: map[bool]ptx.Op{true: ptx.OpMax, false: ptx.OpMin}[in.Atom == ptx.AtomMax]})
			g := func(a, b uint64) uint64 { return f(a, b) }
			return halves(t, g)
		}
		f := pickInt(in.Atom == ptx.AtomMax, t.IsSigned())
		return func(old, b, _ uint64) uint64 { return f(ext(old), ext(b)) & cut }
	}
	l.unsupported("this operation")
	return nil
}

// atomAddFloat adds, rounding to nearest.
func atomAddFloat(t ptx.Type, flush bool) func(old, b, c uint64) uint64 {
	switch t {
	case ptx.F64:
		return func(old, b, _ uint64) uint64 {
			return bits64(math.Float64frombits(old) + math.Float64frombits(b))
		}
	case ptx.F32:
		fm := formatOf(t)
		return func(old, b, _ uint64) uint64 {
			if flush {
				old, b = fm.Flush(old), fm.Flush(b)
			}
			r := uint64(bits32(math.Float32frombits(uint32(old)) + math.Float32frombits(uint32(b))))
			if flush {
				r = fm.Flush(r)
			}
			return r
		}
	}
	hf := f16Format
	if t == ptx.BF16 || t == ptx.BF16x2 {
		hf = bf16Format
	}
	return halves(t, func(a, b uint64) uint64 { return uint64(hf.round(hf.toF32(uint32(a)) + hf.toF32(uint32(b)))) })
}

// halves applies f to both halves of a packed type, each of which is an atomic
// access of its own.
func halves(t ptx.Type, f func(a, b uint64) uint64) func(old, b, c uint64) uint64 {
	if t.Size() == 2 {
		return func(old, b, _ uint64) uint64 { return f(old, b) }
	}
	return func(old, b, _ uint64) uint64 { return f(old&0xffff, b&0xffff) | f(old>>16, b>>16)<<16 }
}

// atomNow is the exec of atomics and reductions in the sequential model.
func atomNow(a *access) exec {
	at := a.atom
	return func(w *warp, m uint32) status {
		al, ok := a.offsets(w, m)
		ok = ok && !al.readOnly
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			f := at.f
			var b []byte
			if ok {
				b = al.data[w.off[l]:]
				if at.flush != nil && al != w.cta.shared && al != w.cta.window {
					f = at.flush
				}
			} else {
				var fault error
				if b, fault = a.atomBytes(w, l); fault != nil {
					w.m.poison(fault)
					return failed
				}
				if at.flush != nil && w.inGlobal(a, l) {
					f = at.flush
				}
			}
			if f == nil {
				a.swapWide(w, l, b)
				continue
			}
			// All operands are read before a destination is written: they may be
			// the same registers.
			var old [maxAtomVec]uint64
			for i, p := range at.b {
				old[i] = a.bits(b, i)
				var c uint64
				if at.compares {
					c = at.c[i].get(w, l)
				}
				if v := f(old[i], p.get(w, l), c); v != old[i] {
					w.m.epoch++
					a.setElement(b, i, v)
				}
			}
			for i, p := range at.old {
				p.set(w, l, old[i])
			}
		}
		return next
	}
}

// atomBytes is bytesAt for atomics, which local memory does not have.
func (a *access) atomBytes(w *warp, l int) ([]byte, error) {
	b, f := a.bytesAt(w, l, true)
	if f != nil {
		return nil, f
	}
	return b, nil
}

// inGlobal reports whether lane l accesses global rather than shared memory.
func (w *warp) inGlobal(a *access, l int) bool {
	return a.space != ptx.Shared && w.m.regionOf(w.r64[a.addr][l]+a.off) != nil
}

// swapWide exchanges 16 bytes, for .cas if they are as compared.
func (a *access) swapWide(w *warp, l int, b []byte) {
	at := a.atom
	lo, hi := le.Uint64(b), le.Uint64(b[8:])
	v := at.b
	matches := true
	if at.compares {
		matches = lo == at.b[0].get(w, l) && hi == at.b[1].get(w, l)
		v = at.c
	}
	if matches {
		newLo, newHi := v[0].get(w, l), v[1].get(w, l)
		if newLo != lo || newHi != hi {
			w.m.epoch++
		}
		le.PutUint64(b, newLo)
		le.PutUint64(b[8:], newHi)
	}
	if at.old != nil {
		at.old[0].set(w, l, lo)
		at.old[1].set(w, l, hi)
	}
}
