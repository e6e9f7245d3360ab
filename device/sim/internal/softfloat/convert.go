package softfloat

import "math/bits"

// Convert returns x, of format f, in format to.
func (f *Format) Convert(to *Format, m Mode, x uint64) uint64 {
	n := f.unpack(x)
	switch n.class {
	case nan:
		return to.NaN
	case infinite:
		return to.signed(n.neg, to.inf)
	case zero:
		return to.signed(n.neg, 0)
	}
	return to.round(m, n.neg, n.exp, n.man, false)
}

// FromInt returns the integer (-1)^neg * mag.
func (f *Format) FromInt(m Mode, neg bool, mag uint64) uint64 {
	if mag == 0 {
		return 0
	}
	shift := bits.LeadingZeros64(mag)
	return f.round(m, neg, 63-shift, mag<<shift, false)
}

// integer rounds a finite number to an integer; big is true if its magnitude is
// 2^64 or more.
func (n number) integer(m Mode) (mag uint64, big bool) {
	var half, rest bool
	switch {
	case n.exp > 63:
		return 0, true
	case n.exp < -1:
		rest = true
	case n.exp == -1:
		half, rest = true, n.man<<1 != 0
	default:
		mag = n.man >> (63 - n.exp)
		if n.exp < 63 {
			half = n.man>>(62-n.exp)&1 != 0
			rest = n.man<<(n.exp+2) != 0
		}
	}
	if m.roundUp(n.neg, mag&1 != 0, half, rest) {
		mag++
		big = mag == 0
	}
	return mag, big
}

// ToInt rounds x to an integer of the given width in bits and clamps it to the
// range of that type. NaN gives ok false.
func (f *Format) ToInt(m Mode, x uint64, width int, signed bool) (v uint64, ok bool) {
	n := f.unpack(x)
	var mag uint64
	big := false
	switch n.class {
	case nan:
		return 0, false
	case infinite:
		big = true
	case finite:
		mag, big = n.integer(m)
	}
	limit := uint64(1)<<(width-1) - 1
	switch {
	case signed && n.neg && (big || mag > limit):
		return -(limit + 1), true
	case signed && (big || mag > limit):
		return limit, true
	case signed && n.neg:
		return -mag, true
	case n.neg:
		return 0, true
	case !signed && (big || mag > limit<<1|1):
		return limit<<1 | 1, true
	}
	return mag, true
}

// RoundToInt rounds x to an integral value of its own format.
func (f *Format) RoundToInt(m Mode, x uint64) uint64 {
	n := f.unpack(x)
	switch {
	case n.class == nan:
		return f.NaN
	case n.class != finite || n.exp >= f.manBits:
		return x
	}
	mag, _ := n.integer(m)
	return f.signed(n.neg, f.FromInt(m, false, mag))
}

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b;
// ordered is false if either is NaN.
func (f *Format) Compare(a, b uint64) (c int, ordered bool) {
	if f.IsNaN(a) || f.IsNaN(b) {
		return 0, false
	}
	x, y := f.key(a), f.key(b)
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

// key orders numbers as integers; both zeros have the key 0.
func (f *Format) key(x uint64) int64 {
	mag := int64(x & (f.Sign() - 1))
	if x&f.Sign() != 0 {
		return -mag
	}
	return mag
}
