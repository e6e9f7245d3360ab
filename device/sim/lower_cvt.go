package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// lowerCvt lowers cvt.
func (l *lowering) lowerCvt() exec {
	in := l.in
	if e := l.lowerCvtRow(); e != nil {
		return e
	}
	if len(in.Src) == 2 {
		return l.lowerCvtPack()
	}
	var f func(uint64) uint64
	switch dt, st := in.Type, in.SrcType; {
	case dt == ptx.F16x2 || dt == ptx.E4M3x2 || dt == ptx.E5M2x2:
		f = pairwise(st, dt, convertFloat(single(st), single(dt), in))
	case st.IsFloat() && dt.IsFloat():
		f = convertFloat(st, dt, in)
	case st.IsFloat():
		f = floatToInt(st, dt, in)
	case dt.IsFloat():
		f = intToFloat(st, dt, in)
	default:
		f = intToInt(st, dt, in.Sat)
	}
	return l.liftCvt(f)
}

// liftCvt lifts a function from patterns of the source type, extended if
// signed, to those of the destination type. A destination register may be wider
// and then holds the result extended.
func (l *lowering) liftCvt(f func(uint64) uint64) exec {
	in := l.in
	dst := l.dst(0, fileOf(in.Type))
	size := in.Type.Size()
	if o := &in.Dst[0]; o.Kind == ptx.KindReg {
		size = l.prog.entry.Regs[o.Reg].Type.Size()
	}
	cut := ^uint64(0) >> (64 - 8*size)
	toExt, fromExt := extender(in.Type), extender(in.SrcType)
	typeCut := mask(in.Type)
	g := func(v uint64) uint64 { return toExt(f(fromExt(v))&typeCut) & cut }
	switch wide := in.SrcType.Size() == 8; {
	case dst.file == file64 && wide:
		return lift1(dst.row, l.src64(0), g)
	case dst.file == file64:
		return lift1(dst.row, l.src32(0), func(v uint32) uint64 { return g(uint64(v)) })
	case wide:
		return lift1(dst.row, l.src64(0), func(v uint64) uint32 { return uint32(g(v)) })
	}
	return lift1(dst.row, l.src32(0), func(v uint32) uint32 { return uint32(g(uint64(v))) })
}

// intToInt cuts, or with .sat clamps, an integer.
func intToInt(st, dt ptx.Type, sat bool) func(uint64) uint64 {
	if !sat {
		return func(v uint64) uint64 { return v }
	}
	limit := mask(dt)
	if dt.IsSigned() {
		limit >>= 1
	}
	return func(v uint64) uint64 {
		if st.IsSigned() && int64(v) < 0 {
			if !dt.IsSigned() {
				return 0
			}
			return uint64(max(int64(v), -int64(limit)-1))
		}
		return min(v, limit)
	}
}

// intToFloat converts with one rounding.
func intToFloat(st, dt ptx.Type, in *ptx.Instr) func(uint64) uint64 {
	fm, mode := formatOf(dt), roundingMode(in.Round)
	end := finish(fm, in)
	signed := st.IsSigned()
	return func(v uint64) uint64 {
		neg := signed && int64(v) < 0
		if neg {
			v = -v
		}
		r := fm.FromInt(mode, neg, v)
		if end != nil {
			r = end(r)
		}
		return r
	}
}

// floatToInt rounds and clamps. NaN gives 0, or the integer with just the top
// bit set if either type has 64 bits (PTX ISA, "cvt").
func floatToInt(st, dt ptx.Type, in *ptx.Instr) func(uint64) uint64 {
	fm, mode := formatOf(st), roundingMode(in.Round)
	width, signed := 8*dt.Size(), dt.IsSigned()
	nan := uint64(0)
	if st == ptx.F64 || width == 64 {
		nan = 1 << (width - 1)
	}
	ftz := in.FTZ
	return func(v uint64) uint64 {
		if ftz {
			v = fm.Flush(v)
		}
		r, ok := fm.ToInt(mode, v, width, signed)
		if !ok {
			return nan
		}
		return r
	}
}

// convertFloat converts between float formats, or rounds to an integral value
// in one format.
func convertFloat(st, dt ptx.Type, in *ptx.Instr) func(uint64) uint64 {
	from, to, mode := formatOf(st), formatOf(dt), roundingMode(in.Round)
	integral := st == dt && in.Round >= ptx.RNI
	if in.FTZ && st == ptx.F32 {
		from = from.Flushing()
	}
	if in.FTZ && dt == ptx.F32 {
		to = to.Flushing()
	}
	return func(v uint64) uint64 {
		if in.FTZ && st == ptx.F32 {
			v = from.Flush(v)
		}
		if in.Relu && v&from.Sign() != 0 && !from.IsNaN(v) {
			v = 0
		}
		var r uint64
		switch {
		case integral:
			r = from.RoundToInt(mode, v)
			if st == ptx.F64 && from.IsNaN(v) {
				r = quietNaN(v)
			}
		case st == dt:
			r = v
		case from.IsNaN(v):
			r = convertNaN(st, dt, to.NaN, v)
		default:
			r = from.Convert(to, mode, v)
		}
		if in.Sat {
			r = saturate(to, r)
		}
		if in.SatFinite && !from.IsNaN(v) && r&(to.Sign()-1) > to.MaxFinite() {
			r = r&to.Sign() | to.MaxFinite()
		}
		if dt == ptx.TF32 {
			r <<= 13 // its patterns are the upper bits of a single
		}
		return r
	}
}

// convertNaN returns NaN v of one type in another: canonical, but with its upper
// payload between doubles and singles and from bf16 to them, as an H200 does.
func convertNaN(st, dt ptx.Type, canonical, v uint64) uint64 {
	switch {
	case st == ptx.BF16 && dt == ptx.F32:
		return v << 16
	case st == ptx.F32 && dt == ptx.F64:
		return v>>31<<63 | v&0x7fffff<<29 | 0x7ff8<<48
	case st == ptx.F64 && dt == ptx.F32:
		return v>>63<<31 | v>>29&0x3fffff | 0x7fc00000
	}
	return canonical
}

// single returns the type of the elements of a packed type.
func single(t ptx.Type) ptx.Type {
	switch t {
	case ptx.F16x2:
		return ptx.F16
	case ptx.BF16x2:
		return ptx.BF16
	}
	return t // the 8-bit formats exist only in pairs
}

// elementBits returns the width of an element of a packed type.
func elementBits(t ptx.Type) int { return 4 * t.Size() }

// pairwise converts both elements of a packed value.
func pairwise(st, dt ptx.Type, f func(uint64) uint64) func(uint64) uint64 {
	sb, db := elementBits(st), elementBits(dt)
	cut := uint64(1)<<sb - 1
	return func(v uint64) uint64 { return f(v&cut) | f(v>>sb)<<db }
}

// lowerCvtPack lowers cvt of two singles to a packed type: the first is the
// upper element.
func (l *lowering) lowerCvtPack() exec {
	in := l.in
	f := convertFloat(ptx.F32, single(in.Type), in)
	db := elementBits(in.Type)
	return lift2(l.d32(), l.src32(0), l.src32(1), func(a, b uint32) uint32 {
		return uint32(f(uint64(a))<<db | f(uint64(b)))
	})
}

// lowerCvtRow returns a quick way for conversions that kernels do all the time,
// or nil.
func (l *lowering) lowerCvtRow() exec {
	in := l.in
	if in.Sat || in.FTZ || in.Relu || in.SatFinite || len(in.Src) != 1 || in.Dst[0].Kind != ptx.KindReg {
		return nil
	}
	if t := l.prog.entry.Regs[in.Dst[0].Reg].Type; t.Size() != in.Type.Size() {
		return nil
	}
	near := in.Round == ptx.RN
	type key struct{ d, s ptx.Type }
	switch (key{in.Type, in.SrcType}) {
	case key{ptx.U64, ptx.U32}, key{ptx.S64, ptx.U32}:
		return rows64from32(l.d64(), l.src32(0), func(d *row64, a *row32) {
			for l := range d {
				d[l] = uint64(a[l])
			}
		})
	case key{ptx.S64, ptx.S32}, key{ptx.U64, ptx.S32}:
		return rows64from32(l.d64(), l.src32(0), func(d *row64, a *row32) {
			for l := range d {
				d[l] = uint64(int32(a[l]))
			}
		})
	case key{ptx.U32, ptx.U64}, key{ptx.S32, ptx.U64}, key{ptx.U32, ptx.S64}, key{ptx.S32, ptx.S64}:
		return narrow(l.d32(), l.src64(0))
	case key{ptx.F32, ptx.F16}:
		return lift1(l.d32(), l.src32(0), func(a uint32) uint32 { return math.Float32bits(f16ToF32(a)) })
	case key{ptx.F32, ptx.BF16}:
		return lift1(l.d32(), l.src32(0), func(a uint32) uint32 { return math.Float32bits(bf16ToF32(a)) })
	case key{ptx.F16, ptx.F32}:
		if near {
			return lift1(l.d32(), l.src32(0), f32ToF16)
		}
	case key{ptx.BF16, ptx.F32}:
		if near {
			return lift1(l.d32(), l.src32(0), f32ToBF16)
		}
	}
	return nil
}

func narrow(d, a int32) exec {
	return func(w *warp, m uint32) status {
		x, y := &w.r32[d], &w.r64[a]
		if m == full {
			for l := range x {
				x[l] = uint32(y[l])
			}
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = uint32(y[l])
		}
		return next
	}
}
