package devicetest

import (
	"math"
	"sort"
)

// codes is a small float format as the list of its magnitudes: a second reference
// for conversions, beside format's exact numbers, that is quick enough for all
// operands there are. A float64 holds every magnitude, every sum of two
// neighbours and every float32 exactly.
type codes struct {
	name   string
	width  int // bits
	finite int // magnitudes that are numbers; code finite is infinity, if there is one
	nan    uint32
	// saturates is set if what is too large becomes the largest number.
	saturates bool
	// magnitudes has the value of each code below finite and, last, the number that
	// would follow if the format had one more exponent.
	magnitudes []float64
}

// newCodes lists a format of exp bits of exponent and man of mantissa.
func newCodes(name string, exp, man, finite int, nan uint32) *codes {
	c := &codes{name: name, width: 1 + exp + man, finite: finite, nan: nan}
	bias := 1<<(exp-1) - 1
	for code := range finite + 1 {
		e, m := code>>man, code&(1<<man-1)
		if e == 0 {
			e = 1 // subnormal
		} else {
			m |= 1 << man
		}
		c.magnitudes = append(c.magnitudes, math.Ldexp(float64(m), e-bias-man))
	}
	return c
}

// saturated is the format with .satfinite.
func (c codes) saturated() *codes {
	c.saturates = true
	return &c
}

// value is what a code stands for.
func (c *codes) value(code uint32) float64 {
	magnitude := int(code & (1<<(c.width-1) - 1))
	switch {
	case magnitude < c.finite:
		return math.Copysign(c.magnitudes[magnitude], c.sign(code))
	case magnitude == c.finite && c.hasInf():
		return math.Copysign(math.Inf(1), c.sign(code))
	}
	return math.NaN()
}

func (c *codes) sign(code uint32) float64 {
	if code>>(c.width-1)&1 != 0 {
		return -1
	}
	return 1
}

// hasInf reports whether a code is left for infinity beside NaN.
func (c *codes) hasInf() bool { return uint32(c.finite) != c.nan }

// round returns the code of the number nearest to x, of two the even one.
func (c *codes) round(x float64) uint32 {
	if math.IsNaN(x) {
		return c.nan
	}
	magnitude := math.Abs(x)
	// The first code above x; the one before is not above it.
	code := sort.Search(len(c.magnitudes), func(i int) bool { return c.magnitudes[i] > magnitude })
	if code < len(c.magnitudes) {
		below, above := magnitude-c.magnitudes[code-1], c.magnitudes[code]-magnitude
		if below < above || below == above && (code-1)%2 == 0 {
			code--
		}
	} else {
		code = c.finite
	}
	if code == c.finite && c.saturates {
		code--
	}
	if math.Signbit(x) {
		code |= 1 << (c.width - 1)
	}
	return uint32(code)
}

// The formats of 8 and 16 bits. NaN is what conversions make of one.
var (
	codesE4M3 = newCodes("e4m3", 4, 3, 0x7f, 0x7f)
	codesE5M2 = newCodes("e5m2", 5, 2, 0x7c, 0x7f)
	codesF16  = newCodes("f16", 5, 10, 0x7c00, 0x7fff)
	codesBF16 = newCodes("bf16", 8, 7, 0x7f80, 0x7fff)
)
