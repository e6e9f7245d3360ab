package coll

import "math"

// layouts holds how the bits of floating-point types are shared out: sign, then
// exponent, then fraction.
var layouts = [NumDataTypes]struct {
	exponent, fraction int    // bits
	largest            uint64 // bits of the largest finite value
	saturates          bool   // what is larger becomes that; else infinity
}{
	Float16:  {exponent: 5, fraction: 10, largest: 0x7bff},
	Float32:  {exponent: 8, fraction: 23, largest: 0x7f7fffff},
	Float64:  {exponent: 11, fraction: 52, largest: 0x7fefffffffffffff},
	BFloat16: {exponent: 8, fraction: 7, largest: 0x7f7f},
	// OCP 8-bit Floating Point Specification 1.0.
	F8E4M3: {exponent: 4, fraction: 3, largest: 0x7e, saturates: true},
	F8E5M2: {exponent: 5, fraction: 2, largest: 0x7b, saturates: true},
}

// Encode returns the bits of the element of t, a floating-point type, that is
// nearest to v; of two the even one. Beyond the largest finite value that is
// infinity, or the value itself in 8-bit types.
func (t DataType) Encode(v float64) uint64 {
	l := layouts[t]
	sign := uint64(1) << (l.exponent + l.fraction)
	if math.IsNaN(v) {
		return sign - 1
	}
	if !math.Signbit(v) {
		sign = 0
	}
	v = math.Abs(v)
	bits := l.largest + 1
	if !math.IsInf(v, 1) {
		// The exponent of the first bit, and of the first of the smallest normal.
		first, least := math.Ilogb(v), 2-1<<(l.exponent-1)
		if v == 0 || first < least {
			first = least
		}
		// The first bit of a normal number raises the exponent by one, and so does a
		// fraction that is rounded up to two.
		bits = uint64(first-least)<<l.fraction + uint64(math.RoundToEven(math.Ldexp(v, l.fraction-first)))
	}
	if bits > l.largest {
		if bits = l.largest + 1; l.saturates {
			bits = l.largest
		}
	}
	return sign | bits
}
