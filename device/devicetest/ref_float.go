package devicetest

import "math/big"

// format is a binary floating-point format.
type format struct {
	name     string
	exp, man int // bits of the exponent and mantissa fields
	// finite says that the largest exponent holds numbers and, with an all-ones
	// mantissa, NaN; there is no infinity (OCP 8-bit floating point, E4M3).
	finite bool
	drop   int // low-order bits of the storage that the format leaves zero
}

var (
	f16  = &format{name: "f16", exp: 5, man: 10}
	bf16 = &format{name: "bf16", exp: 8, man: 7}
	f32  = &format{name: "f32", exp: 8, man: 23}
	f64  = &format{name: "f64", exp: 11, man: 52}
	e4m3 = &format{name: "e4m3", exp: 4, man: 3, finite: true}
	e5m2 = &format{name: "e5m2", exp: 5, man: 2}
	tf32 = &format{name: "tf32", exp: 8, man: 10, drop: 13}
)

func (f *format) bits() int { return 1 + f.exp + f.man + f.drop }

func (f *format) bias() int { return 1<<(f.exp-1) - 1 }

// minExp is the exponent of the smallest normal number.
func (f *format) minExp() int { return 1 - f.bias() }

// maxExp is the exponent of the largest number.
func (f *format) maxExp() int {
	if f.finite {
		return f.bias() + 1
	}
	return f.bias()
}

func (f *format) sign() uint64 { return 1 << (f.exp + f.man + f.drop) }

// inf is the magnitude of infinity.
func (f *format) inf() uint64 { return (1<<f.exp - 1) << (f.man + f.drop) }

// nan is the canonical NaN of the ISA: every bit set but the sign.
func (f *format) nan() uint64 { return f.sign() - 1<<f.drop }

// max is the largest finite number.
func (f *format) max() uint64 {
	if f.finite {
		return f.nan() - 1<<f.drop
	}
	return f.inf() - 1<<f.drop
}

// minNormal is the smallest normal number.
func (f *format) minNormal() uint64 { return 1 << (f.man + f.drop) }

func (f *format) one() uint64 { return uint64(f.bias()) << (f.man + f.drop) }

func (f *format) isNaN(bits uint64) bool {
	if f.finite {
		return bits&f.nan() == f.nan()
	}
	return bits&(f.sign()-1) > f.inf()
}

func (f *format) isInf(bits uint64) bool { return !f.finite && bits&(f.sign()-1) == f.inf() }

func (f *format) isSubnormal(bits uint64) bool {
	m := bits & (f.sign() - 1)
	return m != 0 && m < f.minNormal()
}

// flush replaces a subnormal number by zero of its sign.
func (f *format) flush(bits uint64) uint64 {
	if f.isSubnormal(bits) {
		return bits & f.sign()
	}
	return bits
}

// saturate clamps to [+0, 1]; NaN becomes +0.
func (f *format) saturate(bits uint64) uint64 {
	switch {
	case f.isNaN(bits), bits&f.sign() != 0:
		return 0
	case bits > f.one():
		return f.one()
	}
	return bits
}

// relu clamps negative results to +0; NaN becomes the canonical NaN.
func (f *format) relu(bits uint64) uint64 {
	switch {
	case f.isNaN(bits):
		return f.nan()
	case bits&f.sign() != 0:
		return 0
	}
	return bits
}

// number is an exact real number, an infinity or NaN: mant * 2^exp, negated if
// neg. Zero has a sign.
type number struct {
	nan, inf, neg bool
	mant          *big.Int // not negative
	exp           int
}

func (n number) isZero() bool { return !n.nan && !n.inf && n.mant.Sign() == 0 }

func (n number) negate() number {
	n.neg = !n.neg
	return n
}

func nanNumber() number { return number{nan: true, mant: new(big.Int)} }

func infNumber(neg bool) number { return number{inf: true, neg: neg, mant: new(big.Int)} }

func zeroNumber(neg bool) number { return number{neg: neg, mant: new(big.Int)} }

func intNumber(x *big.Int) number {
	return number{neg: x.Sign() < 0, mant: new(big.Int).Abs(x)}
}

// unpack decodes bits of format f.
func (f *format) unpack(bits uint64) number {
	neg := bits&f.sign() != 0
	switch {
	case f.isNaN(bits):
		return nanNumber()
	case f.isInf(bits):
		return infNumber(neg)
	}
	bits >>= f.drop
	e := int(bits >> f.man & (1<<f.exp - 1))
	m := bits & (1<<f.man - 1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.man
	}
	return number{neg: neg, mant: new(big.Int).SetUint64(m), exp: e - f.bias() - f.man}
}

// rounding is a rounding mode.
type rounding string

const (
	nearestEven rounding = "rn"
	towardZero  rounding = "rz"
	downward    rounding = "rm"
	upward      rounding = "rp"
	nearestAway rounding = "rna" // ties away from zero
)

// roundShift returns mant / 2^shift rounded to an integer as r says for a
// number of the given sign.
func roundShift(mant *big.Int, shift int, neg bool, r rounding) *big.Int {
	if shift <= 0 {
		return new(big.Int).Lsh(mant, uint(-shift))
	}
	q := new(big.Int).Rsh(mant, uint(shift))
	rest := new(big.Int).Sub(mant, new(big.Int).Lsh(q, uint(shift)))
	if rest.Sign() == 0 {
		return q
	}
	half := rest.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(shift-1)))
	var up bool
	switch r {
	case nearestEven:
		up = half > 0 || half == 0 && q.Bit(0) == 1
	case nearestAway:
		up = half >= 0
	case towardZero:
	case downward:
		up = neg
	case upward:
		up = !neg
	}
	if up {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// pack rounds n to format f. NaN becomes the canonical NaN.
func (f *format) pack(n number, r rounding) uint64 {
	var sign uint64
	if n.neg {
		sign = f.sign()
	}
	switch {
	case n.nan:
		return f.nan()
	case n.inf && f.finite:
		return sign | f.nan()
	case n.inf:
		return sign | f.inf()
	case n.mant.Sign() == 0:
		return sign
	}
	// The weight of the last mantissa bit, that of subnormal numbers at least.
	last := max(n.exp+n.mant.BitLen()-1, f.minExp()) - f.man
	q := roundShift(n.mant, last-n.exp, n.neg, r)
	if q.BitLen() > f.man+1 {
		q.Rsh(q, 1)
		last++
	}
	m := q.Uint64()
	e := last + f.man + f.bias()
	if m < 1<<f.man {
		e = 0 // subnormal
	}
	bits := (uint64(e)<<f.man | m&(1<<f.man-1)) << f.drop
	if last+f.man > f.maxExp() || bits > f.max() {
		return sign | f.overflow(n.neg, r)
	}
	return sign | bits
}

// overflow is what the magnitude of a number too large for f rounds to.
func (f *format) overflow(neg bool, r rounding) uint64 {
	if r == towardZero || r == downward && !neg || r == upward && neg {
		return f.max()
	}
	if f.finite {
		return f.nan()
	}
	return f.inf()
}

func mulNumber(a, b number) number {
	neg := a.neg != b.neg
	switch {
	case a.nan, b.nan, a.inf && b.isZero(), b.inf && a.isZero():
		return nanNumber()
	case a.inf, b.inf:
		return infNumber(neg)
	}
	return number{neg: neg, mant: new(big.Int).Mul(a.mant, b.mant), exp: a.exp + b.exp}
}

// addNumber adds; r decides the sign of an exact zero from unlike signs.
func addNumber(a, b number, r rounding) number {
	switch {
	case a.nan, b.nan, a.inf && b.inf && a.neg != b.neg:
		return nanNumber()
	case a.inf:
		return a
	case b.inf:
		return b
	}
	exp := min(a.exp, b.exp)
	x := new(big.Int).Lsh(a.mant, uint(a.exp-exp))
	y := new(big.Int).Lsh(b.mant, uint(b.exp-exp))
	if a.neg {
		x.Neg(x)
	}
	if b.neg {
		y.Neg(y)
	}
	x.Add(x, y)
	n := number{neg: x.Sign() < 0, mant: x.Abs(x), exp: exp}
	if x.Sign() == 0 {
		n.neg = a.neg && b.neg || a.neg != b.neg && r == downward
	}
	return n
}

// guardBits is how many bits a quotient or a square root gets: more than twice
// the widest mantissa, the lowest one set if anything was left over, so that
// rounding it rounds the exact value.
const guardBits = 128

func divNumber(a, b number) number {
	neg := a.neg != b.neg
	switch {
	case a.nan, b.nan, a.inf && b.inf, a.isZero() && b.isZero():
		return nanNumber()
	case a.inf, b.isZero():
		return infNumber(neg)
	case b.inf, a.isZero():
		return zeroNumber(neg)
	}
	q, rest := new(big.Int).QuoRem(new(big.Int).Lsh(a.mant, guardBits), b.mant, new(big.Int))
	n := number{neg: neg, mant: q, exp: a.exp - b.exp - guardBits}
	return n.sticky(rest.Sign() != 0)
}

func sqrtNumber(a number) number {
	switch {
	case a.nan, a.neg && !a.isZero():
		return nanNumber()
	case a.inf, a.isZero():
		return a
	}
	shift := 2 * guardBits
	if a.exp%2 != 0 {
		shift++
	}
	x := new(big.Int).Lsh(a.mant, uint(shift))
	root := new(big.Int).Sqrt(x)
	exact := new(big.Int).Mul(root, root).Cmp(x) == 0
	return number{mant: root, exp: (a.exp - shift) / 2}.sticky(!exact)
}

// sticky appends one bit below the mantissa, set if the number is a little
// larger than it.
func (n number) sticky(more bool) number {
	n.mant = new(big.Int).Lsh(n.mant, 1)
	n.exp--
	if more {
		n.mant.SetBit(n.mant, 0, 1)
	}
	return n
}

// roundInt rounds n, a finite number, to an integer.
func (n number) roundInt(r rounding) *big.Int {
	q := roundShift(n.mant, -n.exp, n.neg, r)
	if n.neg {
		q.Neg(q)
	}
	return q
}

// cmpNumber compares numbers that are not NaN.
func cmpNumber(a, b number) int {
	rank := func(n number) int {
		switch {
		case n.inf && n.neg:
			return -1
		case n.inf:
			return 1
		}
		return 0
	}
	if a.inf || b.inf {
		return rank(a) - rank(b)
	}
	d := addNumber(a, b.negate(), nearestEven)
	switch {
	case d.isZero():
		return 0
	case d.neg:
		return -1
	}
	return 1
}
