package check

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
)

// format is the layout of a binary floating-point type: sign, then exponent,
// then fraction.
type format struct {
	exponentBits int
	fractionBits int
	// finiteTop: the highest exponent holds finite values and one NaN, as in
	// E4M3 (OCP 8-bit Floating Point Specification 1.0); else infinity and NaNs.
	finiteTop bool
	// saturates: what is too large becomes the largest finite value.
	saturates bool
}

var formats = map[coll.DataType]format{
	coll.Float16:  {exponentBits: 5, fractionBits: 10},
	coll.Float32:  {exponentBits: 8, fractionBits: 23},
	coll.Float64:  {exponentBits: 11, fractionBits: 52},
	coll.BFloat16: {exponentBits: 8, fractionBits: 7},
	coll.F8E4M3:   {exponentBits: 4, fractionBits: 3, finiteTop: true, saturates: true},
	coll.F8E5M2:   {exponentBits: 5, fractionBits: 2, saturates: true},
}

// precision returns the bits of a significand, the implicit one included.
func (f format) precision() int { return f.fractionBits + 1 }

func (f format) bias() int { return 1<<(f.exponentBits-1) - 1 }

// minExponent is the exponent of the smallest normal number.
func (f format) minExponent() int { return 1 - f.bias() }

func (f format) signBit() uint64 { return 1 << (f.exponentBits + f.fractionBits) }

// maxFinite returns the bits of the largest finite value.
func (f format) maxFinite() uint64 {
	if f.finiteTop {
		return f.signBit() - 2
	}
	return (1<<f.exponentBits-1)<<f.fractionBits - 1
}

func (f format) isNaN(v uint64) bool {
	magnitude := v &^ f.signBit()
	if f.finiteTop {
		return magnitude > f.maxFinite()
	}
	return magnitude > f.maxFinite()+1 // which is infinity
}

// canonicalNaN returns the one NaN that operations give: all ones but the sign.
func (f format) canonicalNaN() uint64 { return f.signBit() - 1 }

// encode returns the bits of m * 2^scale, which must be representable.
func (f format) encode(m int64, scale int) uint64 {
	if m == 0 {
		return 0
	}
	var sign uint64
	magnitude := uint64(m)
	if m < 0 {
		sign, magnitude = f.signBit(), uint64(-m)
	}
	exponent := bits.Len64(magnitude) - 1 + scale
	// lowest is the exponent of the last fraction bit.
	lowest := max(exponent, f.minExponent()) - f.fractionBits
	fraction := shift(magnitude, scale-lowest)
	if exponent < f.minExponent() {
		return sign | fraction
	}
	biased := uint64(exponent + f.bias())
	return sign | biased<<f.fractionBits | fraction&(1<<f.fractionBits-1)
}

// shift moves v left by n bits, or right if n is negative.
func shift(v uint64, n int) uint64 {
	if n < 0 {
		return v >> -n
	}
	return v << n
}

// finite returns the bits of some finite value, made of random bits.
func (f format) finite(random uint64) uint64 {
	v := random & (f.signBit()<<1 - 1)
	if v&^f.signBit() > f.maxFinite() {
		v &^= 1 << (f.exponentBits + f.fractionBits - 1)
	}
	return v
}

// order maps the bits of values that are not NaN onto integers in the same order,
// -0 below +0.
func (f format) order(v uint64) int64 {
	if magnitude := v &^ f.signBit(); v != magnitude {
		return ^int64(magnitude)
	}
	return int64(v)
}
