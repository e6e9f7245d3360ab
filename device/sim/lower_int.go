package sim

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// signExtend returns v, of a type of the given size in bits, as 64 bits.
func signExtend(v uint64, size int) uint64 {
	return uint64(int64(v<<(64-size)) >> (64 - size))
}

// extender returns how to extend values of t to 64 bits.
func extender(t ptx.Type) func(uint64) uint64 {
	size := 8 * t.Size()
	if t.IsSigned() && size < 64 {
		return func(v uint64) uint64 { return signExtend(v, size) }
	}
	return func(v uint64) uint64 { return v }
}

// int1, int2 and int3 lift a function of extended values of the instruction's
// type, whose result is cut to type to.
func (l *lowering) int1(to ptx.Type, f func(a uint64) uint64) exec {
	ext, cut := extender(l.in.Type), mask(to)
	switch {
	case l.in.Type.Size() < 8 && to.Size() < 8:
		return lift1(l.d32(), l.src32(0), func(a uint32) uint32 { return uint32(f(ext(uint64(a))) & cut) })
	case to.Size() < 8:
		return lift1(l.d32(), l.src64(0), func(a uint64) uint32 { return uint32(f(a) & cut) })
	}
	return lift1(l.d64(), l.src64(0), f)
}

func (l *lowering) int2(to ptx.Type, f func(a, b uint64) uint64) exec {
	ext, cut := extender(l.in.Type), mask(to)
	switch {
	case l.in.Type.Size() == 8:
		return lift2(l.d64(), l.src64(0), l.src64(1), f)
	case to.Size() == 8:
		return lift2(l.d64(), l.src32(0), l.src32(1), func(a, b uint32) uint64 { return f(ext(uint64(a)), ext(uint64(b))) })
	}
	return lift2(l.d32(), l.src32(0), l.src32(1), func(a, b uint32) uint32 { return uint32(f(ext(uint64(a)), ext(uint64(b))) & cut) })
}

func (l *lowering) int3(to ptx.Type, f func(a, b, c uint64) uint64) exec {
	ext, cut := extender(l.in.Type), mask(to)
	switch {
	case l.in.Type.Size() == 8:
		return lift3(l.d64(), l.src64(0), l.src64(1), l.src64(2), f)
	case to.Size() == 8:
		return lift3(l.d64(), l.src32(0), l.src32(1), l.src64(2), func(a, b uint32, c uint64) uint64 {
			return f(ext(uint64(a)), ext(uint64(b)), c)
		})
	}
	// The addend of a widening form has the wide type.
	extC := extender(to)
	return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 {
		return uint32(f(ext(uint64(a)), ext(uint64(b)), extC(uint64(c))) & cut)
	})
}

func (l *lowering) lowerInt() exec {
	in := l.in
	t := in.Type
	if in.CC || in.Op == ptx.OpAddc || in.Op == ptx.OpSubc || in.Op == ptx.OpMadc {
		return l.lowerCarry()
	}
	if e := l.lowerIntRow(); e != nil {
		return e
	}
	signed := t.IsSigned()
	switch in.Op {
	case ptx.OpAdd, ptx.OpSub:
		f := func(a, b uint64) uint64 { return a + b }
		if in.Op == ptx.OpSub {
			f = func(a, b uint64) uint64 { return a - b }
		}
		if in.Sat {
			g := f
			f = func(a, b uint64) uint64 { return clampS32(g(a, b)) }
		}
		return l.int2(t, f)
	case ptx.OpMul:
		return l.int2(l.productType(), l.multiply())
	case ptx.OpMad:
		mul, sat := l.multiply(), in.Sat
		return l.int3(l.productType(), func(a, b, c uint64) uint64 {
			p := mul(a, b)
			if sat {
				return clampS32(signExtend(p, 32) + c)
			}
			return p + c
		})
	case ptx.OpMul24, ptx.OpMad24:
		return l.lowerMul24()
	case ptx.OpDiv, ptx.OpRem:
		return l.int2(t, divide(in.Op == ptx.OpRem, signed))
	case ptx.OpAbs:
		return l.int1(t, func(a uint64) uint64 { return uint64(max(int64(a), -int64(a))) })
	case ptx.OpNeg:
		return l.int1(t, func(a uint64) uint64 { return -a })
	case ptx.OpMin, ptx.OpMax:
		f, relu := pickInt(in.Op == ptx.OpMax, signed), in.Relu
		return l.int2(t, func(a, b uint64) uint64 {
			r := f(a, b)
			if relu && int64(r) < 0 {
				return 0
			}
			return r
		})
	case ptx.OpSad:
		f := pickInt(true, signed)
		return l.int3(t, func(a, b, c uint64) uint64 {
			if f(a, b) == a {
				return c + a - b
			}
			return c + b - a
		})
	case ptx.OpDp4a, ptx.OpDp2a:
		return l.lowerDot()
	}
	l.unsupported("this form")
	return nil
}

// pickInt returns the smaller or larger of two extended values.
func pickInt(larger, signed bool) func(a, b uint64) uint64 {
	switch {
	case larger && signed:
		return func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) }
	case larger:
		return func(a, b uint64) uint64 { return max(a, b) }
	case signed:
		return func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) }
	}
	return func(a, b uint64) uint64 { return min(a, b) }
}

func clampS32(v uint64) uint64 { return uint64(min(max(int64(v), -1<<31), 1<<31-1)) }

// productType returns the type of mul's and mad's result.
func (l *lowering) productType() ptx.Type {
	if l.in.Mode != ptx.Wide {
		return l.in.Type
	}
	switch l.in.Type {
	case ptx.U16:
		return ptx.U32
	case ptx.S16:
		return ptx.S32
	case ptx.U32:
		return ptx.U64
	}
	return ptx.S64
}

// multiply returns the product that mul and mad ask for, of extended values.
func (l *lowering) multiply() func(a, b uint64) uint64 {
	t := l.in.Type
	size := 8 * t.Size()
	switch {
	case l.in.Mode != ptx.Hi:
		return func(a, b uint64) uint64 { return a * b }
	case size < 64 && t.IsSigned():
		return func(a, b uint64) uint64 { return uint64(int64(a*b) >> size) }
	case size < 64:
		return func(a, b uint64) uint64 { return a * b >> size }
	case t.IsSigned():
		return func(a, b uint64) uint64 {
			hi, _ := bits.Mul64(a, b)
			// The unsigned product counts a negative factor as 2^64 too large.
			return hi - uint64(int64(a)>>63)&b - uint64(int64(b)>>63)&a
		}
	}
	return func(a, b uint64) uint64 {
		hi, _ := bits.Mul64(a, b)
		return hi
	}
}

// lowerMul24 lowers the products of the low 24 bits, bits 0-31 or 16-47 of them.
func (l *lowering) lowerMul24() exec {
	in := l.in
	ext := func(v uint64) uint64 { return v & (1<<24 - 1) }
	if in.Type.IsSigned() {
		ext = func(v uint64) uint64 { return signExtend(v, 24) }
	}
	shift := 0
	if in.Mode == ptx.Hi {
		shift = 16
	}
	mul := func(a, b uint64) uint64 { return uint64(int64(ext(a)*ext(b)) >> shift) }
	if in.Op == ptx.OpMul24 {
		return l.int2(in.Type, mul)
	}
	sat := in.Sat
	return l.int3(in.Type, func(a, b, c uint64) uint64 {
		if sat {
			return clampS32(signExtend(mul(a, b), 32) + c)
		}
		return mul(a, b) + c
	})
}

// divide returns the quotient or remainder of extended values. Division by
// zero, which the PTX ISA leaves open, gives all ones for both, as an H200 does.
func divide(rem, signed bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		switch {
		case b == 0:
			return ^uint64(0)
		case signed && rem:
			return uint64(int64(a) % int64(b))
		case signed:
			return uint64(int64(a) / int64(b))
		case rem:
			return a % b
		}
		return a / b
	}
}

// lowerDot lowers dp4a and dp2a.
func (l *lowering) lowerDot() exec {
	in := l.in
	part := func(v uint32, i, size int, t ptx.Type) uint32 {
		v = v >> (i * size) & (1<<size - 1)
		if t.IsSigned() {
			return uint32(signExtend(uint64(v), size))
		}
		return v
	}
	ta, tb := in.Type, in.SrcType
	n, sizeA, skip := 4, 8, 0
	if in.Op == ptx.OpDp2a {
		n, sizeA = 2, 16
		if in.Mode == ptx.Hi {
			skip = 2
		}
	}
	return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 {
		for i := range n {
			c += part(a, i, sizeA, ta) * part(b, i+skip, 8, tb)
		}
		return c
	})
}

// lowerCarry lowers the forms that read or write the carry flag.
func (l *lowering) lowerCarry() exec {
	in := l.in
	var reads bool
	f := func(a, b, c, carry uint64) (uint64, uint64) { return bits.Add64(a, b, carry) }
	switch in.Op {
	case ptx.OpAddc:
		reads = true
	case ptx.OpSub, ptx.OpSubc:
		reads = in.Op == ptx.OpSubc
		f = func(a, b, c, carry uint64) (uint64, uint64) { return bits.Sub64(a, b, carry) }
	case ptx.OpMad, ptx.OpMadc:
		reads = in.Op == ptx.OpMadc
		mul := l.multiply()
		f = func(a, b, c, carry uint64) (uint64, uint64) { return bits.Add64(mul(a, b), c, carry) }
	}
	writes, ext := in.CC, extender(in.Type)
	var get func(w *warp, i, lane int) uint64
	var set func(w *warp, lane int, v uint64)
	rows := make([]int32, len(in.Src))
	size := in.Type.Size()
	if size == 8 {
		for i := range rows {
			rows[i] = l.src64(i)
		}
		d := l.d64()
		get = func(w *warp, i, lane int) uint64 { return w.r64[rows[i]][lane] }
		set = func(w *warp, lane int, v uint64) { w.r64[d][lane] = v }
	} else {
		for i := range rows {
			rows[i] = l.src32(i)
		}
		d := l.d32()
		get = func(w *warp, i, lane int) uint64 { return uint64(w.r32[rows[i]][lane]) }
		set = func(w *warp, lane int, v uint64) { w.r32[d][lane] = uint32(v) }
		// 32-bit operands in the upper halves carry out of bit 63 as they would
		// out of bit 31, if the carry comes in at bit 32.
		switch in.Op {
		case ptx.OpMad, ptx.OpMadc:
			mul := l.multiply()
			f = func(a, b, c, carry uint64) (uint64, uint64) {
				s := mul(ext(a), ext(b))&(1<<32-1) + c + carry
				return s, s >> 32
			}
		case ptx.OpSub, ptx.OpSubc:
			f = func(a, b, _, carry uint64) (uint64, uint64) {
				s := a - b - carry
				return s, s >> 63
			}
		default:
			f = func(a, b, _, carry uint64) (uint64, uint64) {
				s := a + b + carry
				return s, s >> 32
			}
		}
	}
	return func(w *warp, m uint32) status {
		for ; m != 0; m &= m - 1 {
			lane := lowest(m)
			var a, b, c, carry uint64
			a, b = get(w, 0, lane), get(w, 1, lane)
			if len(rows) > 2 {
				c = get(w, 2, lane)
			}
			if reads {
				carry = uint64(w.carry >> lane & 1)
			}
			v, out := f(a, b, c, carry)
			set(w, lane, v)
			if writes {
				w.carry = w.carry&^(1<<lane) | uint32(out&1)<<lane
			}
		}
		return next
	}
}

// lowerPairInt lowers the forms on two 16-bit integers in one register.
func (l *lowering) lowerPairInt() exec {
	in := l.in
	signed, relu := in.Type == ptx.S16x2, in.Relu
	var f func(a, b uint64) uint64
	switch in.Op {
	case ptx.OpAdd:
		f = func(a, b uint64) uint64 { return a + b }
	case ptx.OpMin, ptx.OpMax:
		pick := pickInt(in.Op == ptx.OpMax, signed)
		f = func(a, b uint64) uint64 {
			if signed {
				a, b = signExtend(a, 16), signExtend(b, 16)
			}
			r := pick(a, b)
			if relu && int64(r) < 0 {
				return 0
			}
			return r
		}
	default:
		l.unsupported("this form")
	}
	return lift2(l.d32(), l.src32(0), l.src32(1), func(a, b uint32) uint32 {
		lo := f(uint64(a&0xffff), uint64(b&0xffff))
		hi := f(uint64(a>>16), uint64(b>>16))
		return uint32(lo&0xffff | hi<<16)
	})
}
