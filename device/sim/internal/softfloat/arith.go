package softfloat

import (
	"math"
	"math/bits"
)

// Add returns a + b.
func (f *Format) Add(m Mode, a, b uint64) uint64 { return f.FMA(m, a, f.One(), b) }

// Sub returns a - b.
func (f *Format) Sub(m Mode, a, b uint64) uint64 {
	if f.IsNaN(b) {
		return f.NaN
	}
	return f.Add(m, a, b^f.Sign())
}

// Mul returns a * b.
func (f *Format) Mul(m Mode, a, b uint64) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	p, ok := f.product(x, y)
	if !ok {
		return f.NaN
	}
	switch p.class {
	case infinite:
		return f.signed(p.neg, f.inf)
	case zero:
		return f.signed(p.neg, 0)
	}
	return f.round(m, p.neg, p.exp, p.hi, p.lo != 0)
}

// wide is a number with a 128-bit mantissa, bit 127 set if finite.
type wide struct {
	class  class
	neg    bool
	exp    int
	hi, lo uint64
}

// product returns x * y, exact; ok is false if it is not a number.
func (f *Format) product(x, y number) (p wide, ok bool) {
	p.neg = x.neg != y.neg
	switch {
	case x.class == nan || y.class == nan,
		x.class == infinite && y.class == zero, x.class == zero && y.class == infinite:
		return p, false
	case x.class == infinite || y.class == infinite:
		p.class = infinite
	case x.class == zero || y.class == zero:
	default:
		p.class = finite
		p.hi, p.lo = bits.Mul64(x.man, y.man)
		p.exp = x.exp + y.exp + 1
		if p.hi>>63 == 0 {
			p.hi, p.lo = p.hi<<1|p.lo>>63, p.lo<<1
			p.exp--
		}
	}
	return p, true
}

// FMA returns a*b + c, rounded once.
func (f *Format) FMA(m Mode, a, b, c uint64) uint64 {
	x, y, z := f.unpack(a), f.unpack(b), f.unpack(c)
	p, ok := f.product(x, y)
	if !ok || z.class == nan || p.class == infinite && z.class == infinite && p.neg != z.neg {
		return f.NaN
	}
	switch {
	case p.class == infinite:
		return f.signed(p.neg, f.inf)
	case z.class == infinite:
		return f.signed(z.neg, f.inf)
	case p.class == zero && z.class == zero:
		if p.neg == z.neg {
			return f.signed(p.neg, 0)
		}
		return f.signed(m == Down, 0)
	case p.class == zero:
		return f.round(m, z.neg, z.exp, z.man, false)
	case z.class == zero:
		return f.round(m, p.neg, p.exp, p.hi, p.lo != 0)
	}
	q := wide{finite, z.neg, z.exp, z.man, 0}
	if q.exp > p.exp || q.exp == p.exp && (q.hi > p.hi || q.hi == p.hi && q.lo > p.lo) {
		p, q = q, p
	}
	// NB: cutting bits off the smaller one is safe. If it is the addend, its 53
	// bits leave 75 free; if it is the product (106 bits), bits are lost only
	// beyond a distance of 22, where a difference loses one leading bit at most.
	qhi, qlo := shiftRightJam(q.hi, q.lo, p.exp-q.exp)
	if p.neg == q.neg {
		lo, carry := bits.Add64(p.lo, qlo, 0)
		hi, carry := bits.Add64(p.hi, qhi, carry)
		if carry != 0 {
			lo = lo>>1 | hi<<63 | lo&1
			hi = hi>>1 | 1<<63
			p.exp++
		}
		return f.round(m, p.neg, p.exp, hi, lo != 0)
	}
	lo, borrow := bits.Sub64(p.lo, qlo, 0)
	hi, _ := bits.Sub64(p.hi, qhi, borrow)
	if hi|lo == 0 {
		return f.signed(m == Down, 0)
	}
	shift := bits.LeadingZeros64(hi)
	if hi == 0 {
		hi, lo, shift = lo, 0, bits.LeadingZeros64(lo)
		p.exp -= 64
	}
	hi, lo = hi<<shift|lo>>(64-shift), lo<<shift
	return f.round(m, p.neg, p.exp-shift, hi, lo != 0)
}

// shiftRightJam shifts right and keeps in bit 0 whether a set bit was lost.
func shiftRightJam(hi, lo uint64, n int) (uint64, uint64) {
	var lost uint64
	if n >= 128 {
		lost, hi, lo = hi|lo, 0, 0
	} else {
		if n >= 64 {
			lost, lo, hi = lo, hi, 0
			n -= 64
		}
		if n > 0 {
			lost |= lo << (64 - n)
			lo = lo>>n | hi<<(64-n)
			hi >>= n
		}
	}
	if lost != 0 {
		lo |= 1
	}
	return hi, lo
}

// Div returns a / b.
func (f *Format) Div(m Mode, a, b uint64) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	neg := x.neg != y.neg
	switch {
	case x.class == nan || y.class == nan,
		x.class == infinite && y.class == infinite, x.class == zero && y.class == zero:
		return f.NaN
	case x.class == infinite || y.class == zero:
		return f.signed(neg, f.inf)
	case x.class == zero || y.class == infinite:
		return f.signed(neg, 0)
	}
	exp := x.exp - y.exp
	hi, lo := x.man, uint64(0)
	if x.man >= y.man {
		hi, lo = x.man>>1, x.man<<63
	} else {
		exp--
	}
	q, r := bits.Div64(hi, lo, y.man)
	return f.round(m, neg, exp, q, r != 0)
}

// Sqrt returns the square root of a.
func (f *Format) Sqrt(m Mode, a uint64) uint64 {
	x := f.unpack(a)
	switch {
	case x.class == nan || x.neg && x.class != zero:
		return f.NaN
	case x.class != finite:
		return a
	}
	// a = hi/2^62 * 2^exp with exp even and hi in [2^61, 2^63), so the root of
	// hi:lo is in [2^62.5, 2^63.5).
	hi, lo, exp := x.man>>1, x.man<<63, x.exp
	if exp&1 != 0 {
		hi, lo = hi>>1, lo>>1|hi<<63
		exp++
	}
	r := uint64(math.Sqrt(float64(hi)) * (1 << 32))
	q, _ := bits.Div64(hi, lo, r)
	r = r>>1 + q>>1 + r&q&1
	for {
		h, l := bits.Mul64(r, r)
		if h > hi || h == hi && l > lo {
			r--
			continue
		}
		_, borrow := bits.Sub64(lo, l, 0)
		d, _ := bits.Sub64(hi, h, borrow)
		rest := lo - l
		if d < r>>63 || d == r>>63 && rest <= r<<1 { // hi:lo < (r+1)^2
			shift := bits.LeadingZeros64(r)
			return f.round(m, false, exp/2-shift, r<<shift, d|rest != 0)
		}
		r++
	}
}
