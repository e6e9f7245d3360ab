package softfloat

import "math/bits"

// Mode is a rounding mode.
type Mode uint8

// The rounding modes of PTX.
const (
	NearestEven Mode = iota // rn
	TowardZero              // rz
	Down                    // rm
	Up                      // rp
	NearestAway             // rna
)

// Format is a binary floating point format: a sign, expBits of biased exponent
// and manBits of fraction.
type Format struct {
	expBits, manBits int
	// NaN is the bit pattern that operations give as NaN.
	NaN uint64
	// maxFinite is the largest finite magnitude.
	maxFinite uint64
	// inf is the pattern of infinity; formats without one have their NaN here.
	inf uint64
	// flush makes the format one without subnormal numbers.
	flush bool
}

// Flushing returns the format with subnormal operands and results replaced by
// zeros of their sign. A result is subnormal if it is below the smallest normal
// number when rounded as if the exponent had no bound: an H200 multiplies
// 1-2^-24 by 2^-126 to 0 with .ftz, though the product without rounds to 2^-126.
func (f *Format) Flushing() *Format {
	g := *f
	g.flush = true
	return &g
}

// The formats. NaN of single and half precision is 0x7fffffff and 0x7fff (PTX
// ISA, "add" and "Half precision floating point instructions": NaN results are
// canonical); double precision has the quiet NaN without payload.
var (
	F16  = &Format{expBits: 5, manBits: 10, NaN: 0x7fff, maxFinite: 0x7bff, inf: 0x7c00}
	BF16 = &Format{expBits: 8, manBits: 7, NaN: 0x7fff, maxFinite: 0x7f7f, inf: 0x7f80}
	F32  = &Format{expBits: 8, manBits: 23, NaN: 0x7fffffff, maxFinite: 0x7f7fffff, inf: 0x7f800000}
	F64  = &Format{expBits: 11, manBits: 52, NaN: 0x7ff8000000000000, maxFinite: 0x7fefffffffffffff, inf: 0x7ff0000000000000}
	// TF32 is single precision with 10 bits of fraction; its patterns are the
	// upper 19 bits of a float32.
	TF32 = &Format{expBits: 8, manBits: 10, NaN: 0x3ffff, maxFinite: 0x3fbff, inf: 0x3fc00}
	// E4M3 has no infinity: exponent 15 is finite but for 0x7f, its NaN
	// (Micikevicius et al., FP8 Formats for Deep Learning, table 1).
	E4M3 = &Format{expBits: 4, manBits: 3, NaN: 0x7f, maxFinite: 0x7e, inf: 0x7f}
	E5M2 = &Format{expBits: 5, manBits: 2, NaN: 0x7f, maxFinite: 0x7b, inf: 0x7c}
)

// Sign returns the sign bit of the format.
func (f *Format) Sign() uint64 { return 1 << (f.expBits + f.manBits) }

// Inf returns the pattern of positive infinity, or NaN in a format without.
func (f *Format) Inf() uint64 { return f.inf }

// MaxFinite returns the largest finite value.
func (f *Format) MaxFinite() uint64 { return f.maxFinite }

// One returns the pattern of 1.
func (f *Format) One() uint64 { return uint64(f.bias()) << f.manBits }

// IsNaN reports whether x is a NaN.
func (f *Format) IsNaN(x uint64) bool {
	if f.inf == f.NaN { // E4M3
		return x&0x7f == 0x7f
	}
	return x&(f.Sign()-1) > f.inf
}

// IsSubnormal reports whether x is not zero and smaller than the smallest
// normal number.
func (f *Format) IsSubnormal(x uint64) bool {
	mag := x & (f.Sign() - 1)
	return mag != 0 && mag < 1<<f.manBits
}

// Flush replaces a subnormal x by a zero of its sign.
func (f *Format) Flush(x uint64) uint64 {
	if f.IsSubnormal(x) {
		return x & f.Sign()
	}
	return x
}

func (f *Format) bias() int { return 1<<(f.expBits-1) - 1 }

type class uint8

const (
	zero class = iota
	finite
	infinite
	nan
)

// number is an unpacked value: (-1)^neg * man/2^63 * 2^exp, bit 63 of man set
// if finite.
type number struct {
	class class
	neg   bool
	exp   int
	man   uint64
}

func (f *Format) unpack(x uint64) number {
	n := number{neg: x&f.Sign() != 0}
	mag := x & (f.Sign() - 1)
	switch {
	case f.IsNaN(x):
		n.class = nan
	case mag == f.inf:
		n.class = infinite
	case mag == 0:
	default:
		n.class = finite
		frac := mag & (1<<f.manBits - 1)
		e := int(mag >> f.manBits)
		if e == 0 {
			if f.flush {
				n.class = zero
				break
			}
			e = 1
		} else {
			frac |= 1 << f.manBits
		}
		shift := bits.LeadingZeros64(frac)
		n.man = frac << shift
		n.exp = e - f.bias() + 63 - shift - f.manBits
	}
	return n
}

func (f *Format) signed(neg bool, mag uint64) uint64 {
	if neg {
		return mag | f.Sign()
	}
	return mag
}

// roundUp tells whether the truncated magnitude is to be increased: half is the
// first bit cut off, rest whether any later one was set.
func (m Mode) roundUp(neg, odd, half, rest bool) bool {
	switch m {
	case NearestEven:
		return half && (rest || odd)
	case NearestAway:
		return half
	case Down:
		return neg && (half || rest)
	case Up:
		return !neg && (half || rest)
	}
	return false
}

// round packs man/2^63 * 2^exp, bit 63 of man set; rest says that the exact
// value is a little larger in magnitude.
func (f *Format) round(m Mode, neg bool, exp int, man uint64, rest bool) uint64 {
	keep := f.manBits + 1
	field := exp + f.bias()
	tiny := field < 1
	if tiny && !f.flush {
		keep -= 1 - field
		field = 1
	}
	var kept uint64
	var half bool
	switch {
	case keep < 0:
		rest = true
	case keep == 0:
		half, rest = true, rest || man<<1 != 0
	default:
		kept = man >> (64 - keep)
		half = man>>(63-keep)&1 != 0
		rest = rest || man<<(keep+1) != 0
	}
	if m.roundUp(neg, kept&1 != 0, half, rest) {
		kept++
	}
	if tiny && f.flush {
		if field == 0 && kept>>keep != 0 {
			return f.signed(neg, 1<<f.manBits)
		}
		return f.signed(neg, 0)
	}
	// A carry out of the fraction, or into the first normal number, is the
	// carry of this sum.
	mag := uint64(field-1)<<f.manBits + kept
	if mag > f.maxFinite || field >= 1<<f.expBits {
		return f.overflow(m, neg)
	}
	return f.signed(neg, mag)
}

func (f *Format) overflow(m Mode, neg bool) uint64 {
	if m == TowardZero || m == Down && !neg || m == Up && neg {
		return f.signed(neg, f.maxFinite)
	}
	return f.signed(neg, f.inf)
}
