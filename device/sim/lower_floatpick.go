package sim

import (
	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// minMax returns min or max with PTX's rules: a number wins over NaN unless
// .NaN is given, -0 is below +0, .xorsign.abs takes magnitudes and gives the
// result the product's sign.
func minMax(fm *softfloat.Format, in *ptx.Instr) func(a, b uint64) uint64 {
	larger, nan, xorsign := in.Op == ptx.OpMax, in.NaN, in.XorSign
	sign := fm.Sign()
	return func(a, b uint64) uint64 {
		flip := uint64(0)
		if xorsign {
			flip = (a ^ b) & sign
			a, b = a&^sign, b&^sign
		}
		aNaN, bNaN := fm.IsNaN(a), fm.IsNaN(b)
		switch {
		case aNaN && bNaN, nan && (aNaN || bNaN):
			return fm.NaN
		case aNaN:
			return b | flip
		case bNaN:
			return a | flip
		}
		c, _ := fm.Compare(a, b)
		if c == 0 && a != b { // zeros of both signs
			c = 1
			if a&sign != 0 {
				c = -1
			}
		}
		if (c > 0) == larger {
			return a | flip
		}
		return b | flip
	}
}

func (l *lowering) lowerTestp() exec {
	in := l.in
	d := l.dst(0, preds).row
	fm := formatOf(in.Type)
	mag := fm.Sign() - 1
	var test func(v uint64) bool
	switch in.Mode {
	case ptx.Finite:
		test = func(v uint64) bool { return v&mag < fm.Inf() }
	case ptx.Infinite:
		test = func(v uint64) bool { return v&mag == fm.Inf() }
	case ptx.Number:
		test = func(v uint64) bool { return !fm.IsNaN(v) }
	case ptx.NotANumber:
		test = fm.IsNaN
	case ptx.Normal:
		// Zeros count as normal (PTX ISA, "testp").
		test = func(v uint64) bool { return v&mag < fm.Inf() && !fm.IsSubnormal(v) }
	case ptx.Subnormal:
		test = fm.IsSubnormal
	default:
		l.unsupported("this test")
	}
	var cmp compare
	if in.Type == ptx.F64 {
		a := l.src64(0)
		cmp = liftCmp(a, a, func(v, _ uint64) bool { return test(v) })
	} else {
		a := l.src32(0)
		cmp = liftCmp(a, a, func(v, _ uint32) bool { return test(uint64(v)) })
	}
	return func(w *warp, m uint32) status {
		w.setPred(d, cmp(w, m), m)
		return next
	}
}
