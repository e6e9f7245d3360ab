package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// roundingMode returns the mode of a rounding modifier. An add, sub or mul
// without one rounds to nearest (the assembler may contract it; the machine
// does not).
func roundingMode(r ptx.Round) softfloat.Mode {
	switch r {
	case ptx.RZ, ptx.RZI:
		return softfloat.TowardZero
	case ptx.RM, ptx.RMI:
		return softfloat.Down
	case ptx.RP, ptx.RPI:
		return softfloat.Up
	case ptx.RNA:
		return softfloat.NearestAway
	}
	return softfloat.NearestEven
}

// lowerFloat lowers arithmetic on f32 and f64.
func (l *lowering) lowerFloat() exec {
	in := l.in
	if in.Type == ptx.F32 {
		if e := l.lowerFloatRow(); e != nil {
			return e
		}
	}
	switch in.Op {
	case ptx.OpAdd, ptx.OpSub, ptx.OpMul, ptx.OpDiv:
		return l.float2(l.binary())
	case ptx.OpFma, ptx.OpMad:
		return l.float3(l.fused())
	case ptx.OpMin, ptx.OpMax:
		return l.float2(minMax(formatOf(in.Type), in))
	case ptx.OpAbs, ptx.OpNeg:
		return l.float1(signOp(formatOf(in.Type), in.Op))
	case ptx.OpCopysign:
		sign := formatOf(in.Type).Sign()
		return l.float2(func(a, b uint64) uint64 { return a&sign | b&^sign })
	case ptx.OpTestp:
		return l.lowerTestp()
	case ptx.OpRcp, ptx.OpSqrt:
		return l.float1(l.root())
	}
	if f := approximations[in.Op]; f != nil {
		return l.float1(approximate(in.Type, f, in.Type == ptx.F64 && in.FTZ))
	}
	l.unsupported("this form")
	return nil
}

// signOp returns abs or neg. NaN becomes canonical, as on an H200; the PTX ISA
// leaves its payload open.
func signOp(fm *softfloat.Format, op ptx.Op) func(a uint64) uint64 {
	sign := fm.Sign()
	return func(a uint64) uint64 {
		switch {
		case fm.IsNaN(a):
			return fm.NaN
		case op == ptx.OpAbs:
			return a &^ sign
		}
		return a ^ sign
	}
}

// finish returns what the modifiers do to a result, or nil.
func finish(f *softfloat.Format, in *ptx.Instr) func(uint64) uint64 {
	ftz, sat := in.FTZ, in.Sat
	if !ftz && !sat && !in.Relu {
		return nil
	}
	return func(r uint64) uint64 {
		if ftz {
			r = f.Flush(r)
		}
		switch {
		case sat:
			return saturate(f, r)
		case in.Relu:
			return relu(f, r)
		}
		return r
	}
}

// saturate clamps to [+0, 1]; NaN becomes +0 (PTX ISA, "add", .sat).
func saturate(f *softfloat.Format, r uint64) uint64 {
	switch {
	case f.IsNaN(r) || r&f.Sign() != 0:
		return 0
	case r > f.One():
		return f.One()
	}
	return r
}

// relu clamps negative numbers to +0; NaN becomes canonical.
func relu(f *softfloat.Format, r uint64) uint64 {
	switch {
	case f.IsNaN(r):
		return f.NaN
	case r&f.Sign() != 0:
		return 0
	}
	return r
}

// quietNaN returns the NaN that an operation on doubles gives. The PTX ISA
// leaves it open; an H200 gives the last operand that is NaN, made quiet, and the
// negative one without payload if none is.
func quietNaN(operands ...uint64) uint64 {
	for i := len(operands) - 1; i >= 0; i-- {
		if v := operands[i]; softfloat.F64.IsNaN(v) {
			return v | 1<<51
		}
	}
	return 0xfff8000000000000
}

// float1, float2 and float3 lift functions of patterns of the instruction's
// type, with .ftz applied to operands and all modifiers to the result.
func (l *lowering) float1(f func(a uint64) uint64) exec {
	in := l.in
	fm := formatOf(in.Type)
	if end := finish(fm, in); end != nil {
		g, ftz := f, in.FTZ
		f = func(a uint64) uint64 {
			if ftz {
				a = fm.Flush(a)
			}
			return end(g(a))
		}
	}
	if in.Type.Size() == 8 {
		return lift1(l.d64(), l.src64(0), func(a uint64) uint64 {
			r := f(a)
			if fm.IsNaN(r) {
				return quietNaN(a)
			}
			return r
		})
	}
	return lift1(l.d32(), l.src32(0), func(a uint32) uint32 { return uint32(f(uint64(a))) })
}

func (l *lowering) float2(f func(a, b uint64) uint64) exec {
	in := l.in
	fm := formatOf(in.Type)
	if end := finish(fm, in); end != nil {
		g, ftz := f, in.FTZ
		f = func(a, b uint64) uint64 {
			if ftz {
				a, b = fm.Flush(a), fm.Flush(b)
			}
			return end(g(a, b))
		}
	}
	if in.Type.Size() == 8 {
		return lift2(l.d64(), l.src64(0), l.src64(1), func(a, b uint64) uint64 {
			r := f(a, b)
			if fm.IsNaN(r) {
				return quietNaN(a, b)
			}
			return r
		})
	}
	return lift2(l.d32(), l.src32(0), l.src32(1), func(a, b uint32) uint32 { return uint32(f(uint64(a), uint64(b))) })
}

func (l *lowering) float3(f func(a, b, c uint64) uint64) exec {
	in := l.in
	fm := formatOf(in.Type)
	if end := finish(fm, in); end != nil {
		g, ftz := f, in.FTZ
		f = func(a, b, c uint64) uint64 {
			if ftz {
				a, b, c = fm.Flush(a), fm.Flush(b), fm.Flush(c)
			}
			return end(g(a, b, c))
		}
	}
	if in.Type.Size() == 8 {
		return lift3(l.d64(), l.src64(0), l.src64(1), l.src64(2), func(a, b, c uint64) uint64 {
			r := f(a, b, c)
			if fm.IsNaN(r) {
				return quietNaN(a, b, c)
			}
			return r
		})
	}
	return lift3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(a, b, c uint32) uint32 {
		return uint32(f(uint64(a), uint64(b), uint64(c)))
	})
}

// binary returns add, sub, mul or div. To nearest, the host's operations are
// the same but for NaN.
func (l *lowering) binary() func(a, b uint64) uint64 {
	in := l.in
	fm, mode := formatOf(in.Type), roundingMode(in.Round)
	if in.FTZ {
		fm = fm.Flushing()
	}
	if mode != softfloat.NearestEven || in.FTZ {
		switch in.Op {
		case ptx.OpAdd:
			return func(a, b uint64) uint64 { return fm.Add(mode, a, b) }
		case ptx.OpSub:
			return func(a, b uint64) uint64 { return fm.Sub(mode, a, b) }
		case ptx.OpMul:
			return func(a, b uint64) uint64 { return fm.Mul(mode, a, b) }
		}
		return func(a, b uint64) uint64 { return fm.Div(mode, a, b) }
	}
	if in.Type == ptx.F32 {
		op := map[ptx.Op]func(a, b float32) float32{
			ptx.OpAdd: func(a, b float32) float32 { return a + b },
			ptx.OpSub: func(a, b float32) float32 { return a - b },
			ptx.OpMul: func(a, b float32) float32 { return a * b },
			ptx.OpDiv: func(a, b float32) float32 { return a / b },
		}[in.Op]
		return func(a, b uint64) uint64 {
			return uint64(bits32(op(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)))))
		}
	}
	op := map[ptx.Op]func(a, b float64) float64{
		ptx.OpAdd: func(a, b float64) float64 { return a + b },
		ptx.OpSub: func(a, b float64) float64 { return a - b },
		ptx.OpMul: func(a, b float64) float64 { return a * b },
		ptx.OpDiv: func(a, b float64) float64 { return a / b },
	}[in.Op]
	return func(a, b uint64) uint64 {
		return bits64(op(math.Float64frombits(a), math.Float64frombits(b)))
	}
}

// bits32 and bits64 return patterns, with NaN canonical.
func bits32(f float32) uint32 {
	if f != f {
		return nan32
	}
	return math.Float32bits(f)
}

func bits64(f float64) uint64 {
	if f != f {
		return softfloat.F64.NaN
	}
	return math.Float64bits(f)
}

// fused returns fma; mad of floats is the same (PTX ISA, "mad").
func (l *lowering) fused() func(a, b, c uint64) uint64 {
	fm, mode := formatOf(l.in.Type), roundingMode(l.in.Round)
	if l.in.FTZ {
		fm = fm.Flushing()
	}
	switch {
	case mode != softfloat.NearestEven || l.in.FTZ:
		return func(a, b, c uint64) uint64 { return fm.FMA(mode, a, b, c) }
	case l.in.Type == ptx.F64:
		return func(a, b, c uint64) uint64 {
			return bits64(math.FMA(math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)))
		}
	}
	return func(a, b, c uint64) uint64 { return uint64(fma32(uint32(a), uint32(b), uint32(c))) }
}

// fma32 returns a*b + c of singles, rounded once to nearest.
func fma32(a, b, c uint32) uint32 {
	x, y, z := float64(math.Float32frombits(a)), float64(math.Float32frombits(b)), float64(math.Float32frombits(c))
	return bits32(float32(oddFMA(x, y, z)))
}

// root returns rcp or sqrt; the approximate forms are correctly rounded here.
func (l *lowering) root() func(a uint64) uint64 {
	in := l.in
	fm, mode := formatOf(in.Type), roundingMode(in.Round)
	if in.FTZ {
		fm = fm.Flushing()
	}
	one := fm.One()
	cut := ^uint64(0)
	if in.Type == ptx.F64 && in.Approx {
		cut <<= 32 // PTX ISA, "rcp.approx.ftz.f64": the low half is zero
	}
	if in.Op == ptx.OpSqrt {
		return func(a uint64) uint64 { return fm.Sqrt(mode, a) }
	}
	return func(a uint64) uint64 {
		r := fm.Div(mode, one, a)
		if fm.IsNaN(r) {
			return r
		}
		return r & cut
	}
}

// approximations are the functions for which the PTX ISA allows an error.
var approximations = map[ptx.Op]func(float64) float64{
	ptx.OpRsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
	ptx.OpSin:   math.Sin,
	ptx.OpCos:   math.Cos,
	ptx.OpLg2:   math.Log2,
	ptx.OpEx2:   math.Exp2,
	ptx.OpTanh:  math.Tanh,
}

// approximate evaluates f in float64 and rounds to the type. upper keeps only
// the upper half of a double (PTX ISA, "rsqrt.approx.ftz.f64").
func approximate(t ptx.Type, f func(float64) float64, upper bool) func(uint64) uint64 {
	fm := formatOf(t)
	if t == ptx.F64 {
		return func(a uint64) uint64 {
			r := bits64(f(math.Float64frombits(a)))
			if upper && !fm.IsNaN(r) {
				r &^= 1<<32 - 1
			}
			return r
		}
	}
	return func(a uint64) uint64 {
		return softfloat.F64.Convert(fm, softfloat.NearestEven, math.Float64bits(f(widenFloat(fm, uint32(a)))))
	}
}
