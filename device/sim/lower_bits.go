package sim

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// lowerLogic lowers and, or, xor, not, cnot, shl and shr.
func (l *lowering) lowerLogic() exec {
	in := l.in
	t := in.Type
	if t == ptx.Pred {
		return l.lowerPredLogic()
	}
	switch in.Op {
	case ptx.OpShl, ptx.OpShr:
		return l.lowerShift()
	case ptx.OpCnot:
		return l.int1(t, func(a uint64) uint64 {
			if a == 0 {
				return 1
			}
			return 0
		})
	case ptx.OpNot:
		if t.Size() == 8 {
			return rows64x1(l.d64(), l.src64(0), func(d, a *row64) {
				for l := range d {
					d[l] = ^a[l]
				}
			})
		}
		cut := uint32(mask(t))
		return rows32x1(l.d32(), l.src32(0), func(d, a *row32) {
			for l := range d {
				d[l] = ^a[l] & cut
			}
		})
	}
	if t.Size() == 8 {
		return rows64x2(l.d64(), l.src64(0), l.src64(1), logicRows64[in.Op])
	}
	return rows32x2(l.d32(), l.src32(0), l.src32(1), logicRows32[in.Op])
}

var logicRows32 = map[ptx.Op]func(d, a, b *row32){
	ptx.OpAnd: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	},
	ptx.OpOr: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] | b[l]
		}
	},
	ptx.OpXor: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	},
}

var logicRows64 = map[ptx.Op]func(d, a, b *row64){
	ptx.OpAnd: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	},
	ptx.OpOr: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] | b[l]
		}
	},
	ptx.OpXor: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	},
}

func (l *lowering) lowerPredLogic() exec {
	d := l.dst(0, preds).row
	p, pi := l.srcPred(0)
	if l.in.Op == ptx.OpNot {
		return func(w *warp, m uint32) status {
			w.setPred(d, ^(w.pred[p] ^ pi), m)
			return next
		}
	}
	q, qi := l.srcPred(1)
	f := combine[l.in.Op]
	return func(w *warp, m uint32) status {
		w.setPred(d, f(w.pred[p]^pi, w.pred[q]^qi), m)
		return next
	}
}

var combine = map[ptx.Op]func(a, b uint32) uint32{
	ptx.OpAnd: func(a, b uint32) uint32 { return a & b },
	ptx.OpOr:  func(a, b uint32) uint32 { return a | b },
	ptx.OpXor: func(a, b uint32) uint32 { return a ^ b },
}

// lowerShift lowers shl and shr. Amounts beyond the width act as the width (PTX
// ISA, "shl"), which is what Go's shifts do.
func (l *lowering) lowerShift() exec {
	in := l.in
	t, left := in.Type, in.Op == ptx.OpShl
	switch {
	case t.Size() == 8 && left:
		return shift64(l.d64(), l.src64(0), l.src32(1), func(d, a *row64, b *row32) {
			for l := range d {
				d[l] = a[l] << b[l]
			}
		})
	case t.Size() == 8 && t.IsSigned():
		return shift64(l.d64(), l.src64(0), l.src32(1), func(d, a *row64, b *row32) {
			for l := range d {
				d[l] = uint64(int64(a[l]) >> b[l])
			}
		})
	case t.Size() == 8:
		return shift64(l.d64(), l.src64(0), l.src32(1), func(d, a *row64, b *row32) {
			for l := range d {
				d[l] = a[l] >> b[l]
			}
		})
	case t.Size() == 4 && left:
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = a[l] << b[l]
			}
		})
	case t.Size() == 4 && t.IsSigned():
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = uint32(int32(a[l]) >> b[l])
			}
		})
	case t.Size() == 4 || !left && !t.IsSigned():
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = a[l] >> b[l]
			}
		})
	case left:
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = a[l] << b[l] & 0xffff
			}
		})
	}
	return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
		for l := range d {
			d[l] = uint32(int32(int16(a[l]))>>b[l]) & 0xffff
		}
	})
}

// lowerBits lowers the instructions on bit fields and bytes.
func (l *lowering) lowerBits() exec {
	in := l.in
	size := 8 * in.Type.Size()
	switch in.Op {
	case ptx.OpPopc:
		return l.int1(ptx.U32, func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	case ptx.OpClz:
		return l.int1(ptx.U32, func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + size) })
	case ptx.OpBfind:
		return l.int1(ptx.U32, bfind(size, in.Type.IsSigned(), in.ShiftAmt))
	case ptx.OpBrev:
		return l.int1(in.Type, func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - size) })
	case ptx.OpFns:
		return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), fns)
	case ptx.OpBfe:
		f := bfe(size, in.Type.IsSigned())
		if size == 64 {
			return lift3(l.d64(), l.src64(0), l.src32(1), l.src32(2), f)
		}
		return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 { return uint32(f(uint64(a), b, c)) })
	case ptx.OpBfi:
		if size == 64 {
			return lift4(l.d64(), l.src64(0), l.src64(1), l.src32(2), l.src32(3), bfi)
		}
		return lift4(l.d32(), l.src32(0), l.src32(1), l.src32(2), l.src32(3), func(a, b, c, d uint32) uint32 {
			return uint32(bfi(uint64(a), uint64(b), c, d))
		})
	case ptx.OpSzext:
		return lift2(l.d32(), l.src32(0), l.src32(1), szext(in.Type.IsSigned(), in.Mode == ptx.Clamp))
	case ptx.OpBmsk:
		return lift2(l.d32(), l.src32(0), l.src32(1), bmsk(in.Mode == ptx.Clamp))
	case ptx.OpPrmt:
		return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), prmt(in.Mode))
	case ptx.OpShf:
		return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), funnel(in.Dir == ptx.Left, in.Mode == ptx.Clamp))
	case ptx.OpLop3:
		return l.lowerLop3()
	}
	l.unsupported("this form")
	return nil
}

// bfind finds the most significant bit that is not a sign bit.
func bfind(size int, signed, shiftAmount bool) func(uint64) uint64 {
	return func(a uint64) uint64 {
		if signed && int64(a) < 0 {
			a = ^a
		}
		if a == 0 {
			return 0xffffffff
		}
		pos := 63 - bits.LeadingZeros64(a)
		if shiftAmount {
			pos = size - 1 - pos
		}
		return uint64(pos)
	}
}

// fns finds the n-th set bit of a from position base.
func fns(a, base, offset uint32) uint32 {
	n := int32(offset)
	if n == 0 {
		if base < 32 && a>>base&1 != 0 {
			return base
		}
		return full
	}
	step := int64(1)
	left := int64(n)
	if n < 0 {
		step, left = -1, -left
	}
	for pos := int64(base); pos >= 0 && pos < 32; pos += step {
		if a>>pos&1 != 0 {
			if left--; left == 0 {
				return uint32(pos)
			}
		}
	}
	return full
}

// bfe extracts a field of length c at position b, both cut to 8 bits.
func bfe(size int, signed bool) func(a uint64, b, c uint32) uint64 {
	return func(a uint64, b, c uint32) uint64 {
		pos, n := int(b&0xff), int(c&0xff)
		if n == 0 {
			return 0
		}
		if signed {
			a = signExtend(a, size)
			v := int64(a) >> min(pos, 63)
			if n < 64 {
				// The sign is that of the field's last bit, or of a beyond it.
				v = v << (64 - n) >> (64 - n)
			}
			return uint64(v)
		}
		v := a >> pos
		if n < 64 {
			v &= 1<<n - 1
		}
		return v
	}
}

// bfi inserts the low bits of a into b: length d, position c, both cut to 8
// bits.
func bfi(a, b uint64, c, d uint32) uint64 {
	pos, n := c&0xff, d&0xff
	field := ^uint64(0)
	if n < 64 {
		field = 1<<n - 1
	}
	return b&^(field<<pos) | a&field<<pos
}

func szext(signed, clamp bool) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 {
		n := b & 31
		if clamp && b >= 32 {
			return a
		}
		high := full << n
		if signed && n > 0 && a>>(n-1)&1 != 0 {
			return a | high
		}
		return a &^ high
	}
}

// bmsk makes a mask of b bits from position a.
func bmsk(clamp bool) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 {
		if clamp {
			return uint32((uint64(1)<<min(b, 32) - 1) << min(a, 32))
		}
		return uint32((uint64(1)<<(b&31) - 1) << (a & 31))
	}
}

// prmtBytes holds, by mode and the low two bits of the selector, which byte of
// a and b goes to each byte of the result, as nibbles (PTX ISA, "prmt").
var prmtBytes = map[ptx.Mode][4]uint32{
	ptx.F4E:  {0x3210, 0x4321, 0x5432, 0x6543},
	ptx.B4E:  {0x5670, 0x6701, 0x7012, 0x0123},
	ptx.RC8:  {0x0000, 0x1111, 0x2222, 0x3333},
	ptx.ECL:  {0x3210, 0x3211, 0x3222, 0x3333},
	ptx.ECR:  {0x0000, 0x1110, 0x2210, 0x3210},
	ptx.RC16: {0x1010, 0x3232, 0x1010, 0x3232},
}

func prmt(mode ptx.Mode) func(a, b, c uint32) uint32 {
	table, fixed := prmtBytes[mode]
	return func(a, b, c uint32) uint32 {
		if fixed {
			c = table[c&3]
		}
		from := uint64(b)<<32 | uint64(a)
		var d uint32
		for i := 0; i < 32; i += 8 {
			sel := c >> (i / 2) & 0xf
			v := uint32(from>>(sel&7*8)) & 0xff
			if sel&8 != 0 {
				v = uint32(int32(v)<<24>>31) & 0xff
			}
			d |= v << i
		}
		return d
	}
}

func funnel(left, clamp bool) func(a, b, c uint32) uint32 {
	return func(a, b, c uint32) uint32 {
		n := c & 31
		if clamp {
			n = min(c, 32)
		}
		v := uint64(b)<<32 | uint64(a)
		if left {
			return uint32(v << n >> 32)
		}
		return uint32(v >> n)
	}
}

// lowerLop3 lowers lop3: any function of three bits, given by its table.
func (l *lowering) lowerLop3() exec {
	in := l.in
	table := uint32(in.Src[3].Imm)
	var d int32
	p := int32(-1)
	dst := &in.Dst[0]
	if dst.Kind == ptx.KindPair {
		d, p = l.result(&dst.Vec[0], file32).row, l.result(&dst.Vec[1], preds).row
	} else {
		d = l.d32()
	}
	compute := rows32x3(d, l.src32(0), l.src32(1), l.src32(2), func(d, a, b, c *row32) {
		for l := range d {
			var r uint32
			x, y, z := a[l], b[l], c[l]
			for i := range uint32(8) {
				if table>>i&1 != 0 {
					r |= (x ^ (i>>2&1 - 1)) & (y ^ (i>>1&1 - 1)) & (z ^ (i&1 - 1))
				}
			}
			d[l] = r
		}
	})
	if p < 0 {
		return compute
	}
	q, qi := l.srcPred(4)
	or := in.Bool == ptx.Or
	return func(w *warp, m uint32) status {
		compute(w, m)
		var set uint32
		for l, v := range w.r32[d] {
			if v != 0 {
				set |= 1 << l
			}
		}
		if or {
			set |= w.pred[q] ^ qi
		} else {
			set &= w.pred[q] ^ qi
		}
		w.setPred(p, set, m)
		return next
	}
}
