package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// lowerHalf lowers arithmetic on f16 and bf16, alone and in pairs.
func (l *lowering) lowerHalf() exec {
	in := l.in
	hf := f16Format
	if in.Type == ptx.BF16 || in.Type == ptx.BF16x2 {
		hf = bf16Format
	}
	pair := in.Type == ptx.F16x2 || in.Type == ptx.BF16x2
	if in.FTZ {
		if e := l.lowerHalfFlushing(hf, pair); e != nil {
			return e
		}
	}
	switch in.Op {
	case ptx.OpAdd:
		return l.half2(hf, pair, func(a, b uint32) uint32 { return hf.round(hf.toF32(a) + hf.toF32(b)) })
	case ptx.OpSub:
		return l.half2(hf, pair, func(a, b uint32) uint32 { return hf.round(hf.toF32(a) - hf.toF32(b)) })
	case ptx.OpMul:
		return l.half2(hf, pair, func(a, b uint32) uint32 {
			return hf.fromF32(oddF32(float64(hf.toF32(a)) * float64(hf.toF32(b))))
		})
	case ptx.OpFma:
		return l.half3(hf, pair, func(a, b, c uint32) uint32 {
			return hf.fromF32(oddF32(oddFMA(float64(hf.toF32(a)), float64(hf.toF32(b)), float64(hf.toF32(c)))))
		})
	case ptx.OpMin, ptx.OpMax:
		f := minMax(hf.Format, in)
		return l.half2(hf, pair, func(a, b uint32) uint32 { return uint32(f(uint64(a), uint64(b))) })
	case ptx.OpAbs, ptx.OpNeg:
		f := signOp(hf.Format, in.Op)
		return l.half1(hf, pair, func(a uint32) uint32 { return uint32(f(uint64(a))) })
	}
	if f := approximations[in.Op]; f != nil {
		g := approximate(in.Type, f, false)
		return l.half1(hf, pair, func(a uint32) uint32 { return uint32(g(uint64(a))) })
	}
	l.unsupported("this form")
	return nil
}

// lowerHalfFlushing lowers arithmetic with .ftz, or returns nil.
func (l *lowering) lowerHalfFlushing(hf *halfFormat, pair bool) exec {
	fm := hf.Flushing()
	const rn = softfloat.NearestEven
	two := func(f func(m softfloat.Mode, a, b uint64) uint64) exec {
		return l.half2(hf, pair, func(a, b uint32) uint32 { return uint32(f(rn, uint64(a), uint64(b))) })
	}
	switch l.in.Op {
	case ptx.OpAdd:
		return two(fm.Add)
	case ptx.OpSub:
		return two(fm.Sub)
	case ptx.OpMul:
		return two(fm.Mul)
	case ptx.OpFma:
		return l.half3(hf, pair, func(a, b, c uint32) uint32 { return uint32(fm.FMA(rn, uint64(a), uint64(b), uint64(c))) })
	}
	return nil
}

// round rounds a sum of two halves that was rounded to a single first. That is
// harmless: a single has more than twice a half's digits and two (Figueroa, When
// is double rounding innocuous?, 1995), and sums that are subnormal are exact.
func (hf *halfFormat) round(f float32) uint32 { return hf.fromF32(math.Float32bits(f)) }

// modified applies the instruction's modifiers to operands and result.
func (hf *halfFormat) modified(in *ptx.Instr) (before, after func(uint32) uint32) {
	same := func(v uint32) uint32 { return v }
	before, after = same, same
	if in.FTZ {
		before = func(v uint32) uint32 { return uint32(hf.Flush(uint64(v))) }
	}
	if end := finish(hf.Format, in); end != nil {
		after = func(v uint32) uint32 { return uint32(end(uint64(v))) }
	}
	return before, after
}

func (l *lowering) half1(hf *halfFormat, pair bool, f func(a uint32) uint32) exec {
	if l.in.FTZ || l.in.Sat || l.in.Relu {
		g := f
		before, after := hf.modified(l.in)
		f = func(a uint32) uint32 { return after(g(before(a))) }
	}
	if !pair {
		return lift1(l.d32(), l.src32(0), f)
	}
	return lift1(l.d32(), l.src32(0), func(a uint32) uint32 { return f(a&0xffff) | f(a>>16)<<16 })
}

func (l *lowering) half2(hf *halfFormat, pair bool, f func(a, b uint32) uint32) exec {
	if l.in.FTZ || l.in.Sat || l.in.Relu {
		g := f
		before, after := hf.modified(l.in)
		f = func(a, b uint32) uint32 { return after(g(before(a), before(b))) }
	}
	if !pair {
		return lift2(l.d32(), l.src32(0), l.src32(1), f)
	}
	return lift2(l.d32(), l.src32(0), l.src32(1), func(a, b uint32) uint32 {
		return f(a&0xffff, b&0xffff) | f(a>>16, b>>16)<<16
	})
}

func (l *lowering) half3(hf *halfFormat, pair bool, f func(a, b, c uint32) uint32) exec {
	if l.in.FTZ || l.in.Sat || l.in.Relu {
		g := f
		before, after := hf.modified(l.in)
		f = func(a, b, c uint32) uint32 { return after(g(before(a), before(b), before(c))) }
	}
	if !pair {
		return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), f)
	}
	return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 {
		return f(a&0xffff, b&0xffff, c&0xffff) | f(a>>16, b>>16, c>>16)<<16
	})
}
