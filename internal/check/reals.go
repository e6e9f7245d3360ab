package check

import "math"

// narrow computes with floating-point types of up to 32 bits. A double holds their
// sums and products well enough to be rounded once more: its 53 bits are more than
// twice their 24 and two (Figueroa, "When is double rounding innocuous?", 1995),
// and its exponents go beyond theirs.
type narrow struct {
	format
	// Of the format, computed once.
	sign, largest, nan uint64
	// rebias is the difference between a double's biased exponent and the format's,
	// at the place of the latter; drop is how many more bits of fraction a double
	// has.
	rebias uint64
	drop   int
	// widen is the power of two that makes a value of a double whose exponent and
	// fraction are the format's.
	widen float64
	// leastNormal is the smallest normal number, units is how many of the smallest
	// subnormal make 1.
	leastNormal, units float64
}

// The layout of a double.
const (
	doubleBias     = 1023
	doubleFraction = 52
)

func newNarrow(f format) *narrow {
	return &narrow{
		format: f, sign: f.signBit(), largest: f.maxFinite(), nan: f.canonicalNaN(),
		rebias: uint64(doubleBias-f.bias()) << f.fractionBits, drop: doubleFraction - f.fractionBits,
		widen:       math.Ldexp(1, doubleBias-f.bias()),
		leastNormal: math.Ldexp(1, f.minExponent()), units: math.Ldexp(1, f.fractionBits-f.minExponent()),
	}
}

// value returns what bits mean.
func (a *narrow) value(v uint64) float64 {
	magnitude := v &^ a.sign
	x := math.Float64frombits(magnitude<<a.drop) * a.widen
	if magnitude > a.largest {
		if x = math.Inf(1); a.isNaN(v) {
			x = math.NaN()
		}
	}
	if v != magnitude {
		return -x
	}
	return x
}

// round returns the bits of the number nearest to x, of two the even one. The sum or
// product of two numbers is far from where doubles themselves become subnormal.
func (a *narrow) round(x float64) uint64 {
	if x != x {
		return a.nan
	}
	exact := math.Float64bits(x)
	sign := exact >> 63 * a.sign
	exact &^= 1 << 63
	var magnitude uint64
	if x = math.Float64frombits(exact); x < a.leastNormal {
		magnitude = uint64(math.RoundToEven(x * a.units))
	} else {
		even := exact >> a.drop & 1
		magnitude = (exact+even+1<<(a.drop-1)-1)>>a.drop - a.rebias
	}
	if magnitude > a.largest {
		if magnitude = a.largest + 1; a.saturates {
			magnitude = a.largest
		}
	}
	return sign | magnitude
}

func (a *narrow) add(x, y uint64) uint64 { return a.round(a.value(x) + a.value(y)) }
func (a *narrow) mul(x, y uint64) uint64 { return a.round(a.value(x) * a.value(y)) }

func (a *narrow) reciprocal(n int) uint64 { return a.round(1 / float64(n)) }

func (a *narrow) divide(uint64, int) uint64 { panic("nccl: BUG: only integers are divided") }

func (a *narrow) min(x, y uint64) uint64 {
	return a.result(a.pick(x, y, a.order(y) < a.order(x), a.nan))
}
func (a *narrow) max(x, y uint64) uint64 {
	return a.result(a.pick(x, y, a.order(x) < a.order(y), a.nan))
}

// result is an operand as a result: fp8 has no infinite ones.
func (a *narrow) result(v uint64) uint64 {
	if a.saturates && v&^a.sign == a.largest+1 && !a.isNaN(v) {
		return v - 1
	}
	return v
}

// doubles computes with f64: a double of the host is one of the GPU.
type doubles struct{ format }

func (a doubles) add(x, y uint64) uint64 {
	return a.quiet(x, y, math.Float64frombits(x)+math.Float64frombits(y))
}

func (a doubles) mul(x, y uint64) uint64 {
	return a.quiet(x, y, math.Float64frombits(x)*math.Float64frombits(y))
}

func (a doubles) reciprocal(n int) uint64 { return math.Float64bits(1 / float64(n)) }

func (a doubles) divide(uint64, int) uint64 { panic("nccl: BUG: only integers are divided") }

func (a doubles) min(x, y uint64) uint64 { return a.pick(x, y, a.order(y) < a.order(x), y|quietBit) }
func (a doubles) max(x, y uint64) uint64 { return a.pick(x, y, a.order(x) < a.order(y), y|quietBit) }

// quietBit tells a quiet f64 NaN from a signalling one; invalidNaN is the one that
// comes of numbers.
const (
	quietBit   = 1 << 51
	invalidNaN = 0xfff8 << 48
)

// quiet returns the bits of r, which came of x and y.
func (a doubles) quiet(x, y uint64, r float64) uint64 {
	switch {
	case !math.IsNaN(r):
		return math.Float64bits(r)
	case a.isNaN(y):
		return y | quietBit
	case a.isNaN(x):
		return x | quietBit
	}
	return invalidNaN
}

// pick returns y if second is set, else x; a NaN loses, and two give nan.
func (f format) pick(x, y uint64, second bool, nan uint64) uint64 {
	switch xNaN, yNaN := f.isNaN(x), f.isNaN(y); {
	case xNaN && yNaN:
		return nan
	case xNaN:
		return y
	case yNaN, !second:
		return x
	}
	return y
}
