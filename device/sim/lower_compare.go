package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// comparison returns what compares source operands 0 and 1, of type t. high
// selects the upper halves of a packed type.
func (l *lowering) comparison(t ptx.Type, high bool) compare {
	switch t {
	case ptx.F32, ptx.F64, ptx.F16, ptx.BF16, ptx.F16x2, ptx.BF16x2:
		return l.compareFloats(t, high)
	}
	return l.compareInts(t)
}

// compareInts maps the twelve integer comparisons to equality and order.
func (l *lowering) compareInts(t ptx.Type) compare {
	var flip uint32
	i, j := 0, 1
	switch l.in.Cmp {
	case ptx.EQ, ptx.LT, ptx.LO:
	case ptx.NE, ptx.GE, ptx.HS:
		flip = full
	case ptx.GT, ptx.HI:
		i, j = 1, 0
	case ptx.LE, ptx.LS:
		i, j, flip = 1, 0, full
	default:
		l.unsupported("this comparison")
	}
	same := l.in.Cmp == ptx.EQ || l.in.Cmp == ptx.NE
	size := 8 * t.Size()
	switch {
	case size == 64 && same:
		return equal[uint64](l.src64(i), l.src64(j), flip)
	case same:
		return equal[uint32](l.src32(i), l.src32(j), flip)
	case size == 64 && t.IsSigned():
		return less(l.src64(i), l.src64(j), uint64(1<<63), flip)
	case size == 64:
		return less(l.src64(i), l.src64(j), uint64(0), flip)
	case t.IsSigned():
		return less(l.src32(i), l.src32(j), uint32(1)<<(size-1), flip)
	}
	return less(l.src32(i), l.src32(j), uint32(0), flip)
}

// floatTest says for which outcomes a float comparison holds.
type floatTest struct{ lt, eq, gt, nan bool }

var floatTests = map[ptx.Cmp]floatTest{
	ptx.EQ: {eq: true}, ptx.NE: {lt: true, gt: true},
	ptx.LT: {lt: true}, ptx.LE: {lt: true, eq: true},
	ptx.GT: {gt: true}, ptx.GE: {gt: true, eq: true},
	ptx.EQU: {eq: true, nan: true}, ptx.NEU: {lt: true, gt: true, nan: true},
	ptx.LTU: {lt: true, nan: true}, ptx.LEU: {lt: true, eq: true, nan: true},
	ptx.GTU: {gt: true, nan: true}, ptx.GEU: {gt: true, eq: true, nan: true},
	ptx.NUM: {lt: true, eq: true, gt: true}, ptx.NAN: {nan: true},
}

// holds compares two numbers. That a host float holds each format's values
// exactly is why float64 serves for all.
func (t floatTest) holds(a, b float64) bool {
	switch {
	case a < b:
		return t.lt
	case a > b:
		return t.gt
	case a == b:
		return t.eq
	}
	return t.nan
}

func (l *lowering) compareFloats(t ptx.Type, high bool) compare {
	test, ok := floatTests[l.in.Cmp]
	if !ok {
		l.unsupported("this comparison")
	}
	if t == ptx.F64 {
		return liftCmp(l.src64(0), l.src64(1), func(a, b uint64) bool {
			return test.holds(math.Float64frombits(a), math.Float64frombits(b))
		})
	}
	value := valueOf(t, l.in.FTZ)
	shift := 0
	if high {
		shift = 16
	}
	cut := full
	if t != ptx.F32 {
		cut = 0xffff
	}
	return liftCmp(l.src32(0), l.src32(1), func(a, b uint32) bool {
		return test.holds(value(a>>shift&cut), value(b>>shift&cut))
	})
}

// formatOf returns the format of a type's elements.
func formatOf(t ptx.Type) *softfloat.Format {
	switch t {
	case ptx.F16, ptx.F16x2:
		return softfloat.F16
	case ptx.BF16, ptx.BF16x2:
		return softfloat.BF16
	case ptx.F32:
		return softfloat.F32
	case ptx.F64:
		return softfloat.F64
	case ptx.TF32:
		return softfloat.TF32
	case ptx.E4M3x2:
		return softfloat.E4M3
	}
	return softfloat.E5M2
}

// valueOf returns how to read an element of up to 32 bits as a float64.
func valueOf(t ptx.Type, ftz bool) func(uint32) float64 {
	f := formatOf(t)
	return func(v uint32) float64 {
		if ftz {
			v = uint32(f.Flush(uint64(v)))
		}
		return widenFloat(f, v)
	}
}

// predicated combines a comparison with the instruction's predicate, if it has
// one: holds and fails are where setp's first and second destinations are true.
func (l *lowering) predicated(cmp compare) func(w *warp, m uint32) (holds, fails uint32) {
	if l.in.Bool == ptx.NoBool {
		return func(w *warp, m uint32) (uint32, uint32) {
			r := cmp(w, m)
			return r, ^r
		}
	}
	p, invert := l.srcPred(2)
	op := map[ptx.Bool]ptx.Op{ptx.And: ptx.OpAnd, ptx.Or: ptx.OpOr, ptx.Xor: ptx.OpXor}[l.in.Bool]
	f := combine[op]
	return func(w *warp, m uint32) (uint32, uint32) {
		r, c := cmp(w, m), w.pred[p]^invert
		return f(r, c), f(^r, c)
	}
}

func (l *lowering) lowerSetp() exec {
	p, q := l.dstPreds(0)
	t := l.in.Type
	cmp := l.comparison(t, false)
	if q < 0 && l.in.Bool == ptx.NoBool {
		return func(w *warp, m uint32) status {
			w.setPred(p, cmp(w, m), m)
			return next
		}
	}
	test := l.predicated(cmp)
	if t == ptx.F16x2 || t == ptx.BF16x2 {
		// The destinations are the results of the lower and the upper halves.
		upper := l.predicated(l.comparison(t, true))
		return func(w *warp, m uint32) status {
			lo, _ := test(w, m)
			hi, _ := upper(w, m)
			w.setPred(p, lo, m)
			w.setPred(q, hi, m)
			return next
		}
	}
	if q < 0 {
		return func(w *warp, m uint32) status {
			holds, _ := test(w, m)
			w.setPred(p, holds, m)
			return next
		}
	}
	return func(w *warp, m uint32) status {
		holds, fails := test(w, m)
		w.setPred(p, holds, m)
		w.setPred(q, fails, m)
		return next
	}
}

// lowerSet lowers set: all ones, or 1.0, where the comparison holds.
func (l *lowering) lowerSet() exec {
	in := l.in
	t, s := in.Type, in.SrcType
	d := l.d32()
	yes := uint32(mask(t))
	if t.IsFloat() {
		yes = uint32(formatOf(t).One())
	}
	test := l.predicated(l.comparison(s, false))
	if s != ptx.F16x2 && s != ptx.BF16x2 {
		return func(w *warp, m uint32) status {
			holds, _ := test(w, m)
			for ; m != 0; m &= m - 1 {
				l := lowest(m)
				w.r32[d][l] = yes & -(holds >> l & 1)
			}
			return next
		}
	}
	yes &= 0xffff
	upper := l.predicated(l.comparison(s, true))
	return func(w *warp, m uint32) status {
		lo, _ := test(w, m)
		hi, _ := upper(w, m)
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			w.r32[d][l] = yes&-(lo>>l&1) | yes<<16&-(hi>>l&1)
		}
		return next
	}
}

func (l *lowering) lowerSelp() exec {
	p, invert := l.srcPred(2)
	if l.in.Type.Size() == 8 {
		return selp[uint64](l.d64(), l.src64(0), l.src64(1), p, invert)
	}
	return selp[uint32](l.d32(), l.src32(0), l.src32(1), p, invert)
}

func selp[T lane](d, a, b, p int32, invert uint32) exec {
	return func(w *warp, m uint32) status {
		x, y, z := regs[T](w, d), regs[T](w, a), regs[T](w, b)
		c := w.pred[p] ^ invert
		if m == full {
			for l := range x {
				v := z[l]
				if c>>l&1 != 0 {
					v = y[l]
				}
				x[l] = v
			}
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			v := z[l]
			if c>>l&1 != 0 {
				v = y[l]
			}
			x[l] = v
		}
		return next
	}
}

// lowerSlct lowers slct: a where the selector is not negative, else b. A NaN
// selects b.
func (l *lowering) lowerSlct() exec {
	notNegative := func(c uint32) bool { return int32(c) >= 0 }
	if l.in.SrcType == ptx.F32 {
		value := valueOf(ptx.F32, l.in.FTZ)
		notNegative = func(c uint32) bool { return value(c) >= 0 }
	}
	if l.in.Type.Size() == 8 {
		return lift3(l.d64(), l.src64(0), l.src64(1), l.src32(2), func(a, b uint64, c uint32) uint64 {
			if notNegative(c) {
				return a
			}
			return b
		})
	}
	return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 {
		if notNegative(c) {
			return a
		}
		return b
	})
}
