package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// This file has the quick ways between half precision and the host's floats.
// Tests hold them to package softfloat over every pattern.

// f16ToF32 returns a half as a single, exactly; NaN becomes canonical.
func f16ToF32(h uint32) float32 {
	mag := h & 0x7fff
	if mag >= 0x7c00 {
		if mag > 0x7c00 {
			return math.Float32frombits(nan32)
		}
		return math.Float32frombits(h&0x8000<<16 | 0x7f800000)
	}
	// As the low bits of a single the pattern is the value times 2^-112.
	v := math.Float32frombits(mag<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | h&0x8000<<16)
}

// f32ToF16 rounds the single with pattern x to the nearest half.
func f32ToF16(x uint32) uint32 {
	sign, mag := x>>16&0x8000, x&0x7fffffff
	switch {
	case mag > 0x7f800000:
		return nan16
	case mag >= 0x47800000: // 2^16
		return sign | 0x7c00
	case mag >= 0x38800000: // 2^-14, the smallest normal half
		return sign | (mag+0xfff+mag>>13&1-0x38000000)>>13
	}
	// The last bit of 0.5+v weighs 2^-24, as the last bit of a subnormal half.
	return sign | math.Float32bits(math.Float32frombits(mag)+0.5) - 0x3f000000
}

// bf16ToF32 returns a bfloat16 as a single, exactly; NaN keeps its payload, as
// on an H200.
func bf16ToF32(h uint32) float32 { return math.Float32frombits(h << 16) }

// f32ToBF16 rounds the single with pattern x to the nearest bfloat16.
func f32ToBF16(x uint32) uint32 {
	if x&0x7fffffff > 0x7f800000 {
		return nan16
	}
	return (x + 0x7fff + x>>16&1) >> 16
}

// oddF32 rounds v to a single so that a later rounding to a half is as if it
// were of v itself: an inexact result has its last bit set ("round to odd";
// Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
func oddF32(v float64) uint32 {
	f := float32(v)
	x := math.Float32bits(f)
	w := float64(f)
	if w == v || v != v {
		return x
	}
	if math.Abs(w) > math.Abs(v) {
		x--
	}
	return x | 1
}

// oddFMA returns a*b + c rounded to odd; a*b must be exact in float64, as
// products of singles and halves are.
func oddFMA(a, b, c float64) float64 {
	p := float64(a * b)
	s := p + c
	// The error of the sum (Knuth, TAOCP 4.2.2, theorem B).
	t := s - p
	e := (p - (s - t)) + (c - t)
	if e == 0 || e != e {
		return s
	}
	bits := math.Float64bits(s)
	if bits&1 != 0 {
		return s
	}
	// The exact value lies between s and its neighbour on the side of e, and
	// that neighbour is odd.
	if (e > 0) == (s > 0) {
		return math.Float64frombits(bits | 1)
	}
	return math.Float64frombits(bits - 1)
}

// The canonical NaNs.
const (
	nan16 = 0x7fff
	nan32 = 0x7fffffff
)

// halfFormat is a 16-bit format with its quick conversions.
type halfFormat struct {
	*softfloat.Format
	toF32   func(uint32) float32
	fromF32 func(uint32) uint32
	nan     uint32
}

var (
	f16Format  = &halfFormat{softfloat.F16, f16ToF32, f32ToF16, nan16}
	bf16Format = &halfFormat{softfloat.BF16, bf16ToF32, f32ToBF16, nan16}
)

// widenFloat returns a value of a format of up to 32 bits as a float64.
func widenFloat(f *softfloat.Format, v uint32) float64 {
	switch f {
	case softfloat.F32:
		return float64(math.Float32frombits(v))
	case softfloat.F16:
		return float64(f16ToF32(v))
	case softfloat.BF16:
		return float64(bf16ToF32(v))
	}
	return math.Float64frombits(f.Convert(softfloat.F64, softfloat.NearestEven, uint64(v)))
}
