package softfloat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var formats = map[string]*Format{"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}

// exact returns a finite x as a big rational.
func (f *Format) exact(x uint64) *big.Rat {
	mag := x & (f.Sign() - 1)
	e, frac := int(mag>>f.manBits), mag&(1<<f.manBits-1)
	if e == 0 {
		e = 1
	} else {
		frac |= 1 << f.manBits
	}
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(frac))
	r.Mul(r, pow2(e-f.bias()-f.manBits))
	if x&f.Sign() != 0 {
		r.Neg(r)
	}
	return r
}

func pow2(n int) *big.Rat {
	p := new(big.Int).Lsh(big.NewInt(1), uint(max(n, -n)))
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// nearest rounds an exact value by search over the patterns of the format:
// slow, and nothing like round.
func (f *Format) nearest(m Mode, v *big.Rat, zeroNeg bool) uint64 {
	if v.Sign() == 0 {
		return f.signed(zeroNeg, 0)
	}
	neg := v.Sign() < 0
	a := new(big.Rat).Abs(v)
	lo, hi := uint64(0), f.maxFinite+1
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if f.exact(mid).Cmp(a) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	low := f.exact(lo)
	if low.Cmp(a) == 0 {
		return f.signed(neg, lo)
	}
	up := false
	switch m {
	case Down:
		up = neg
	case Up:
		up = !neg
	case NearestEven, NearestAway:
		var next *big.Rat
		if lo == f.maxFinite {
			next = new(big.Rat).Add(low, new(big.Rat).Sub(low, f.exact(lo-1)))
		} else {
			next = f.exact(lo + 1)
		}
		c := new(big.Rat).Add(low, next)
		c.Mul(c, big.NewRat(1, 2))
		switch a.Cmp(c) {
		case 1:
			up = true
		case 0:
			up = m == NearestAway || lo&1 != 0
		}
	}
	if up {
		lo++
		if lo > f.maxFinite {
			lo = f.inf
		}
	}
	return f.signed(neg, lo)
}

// operand draws values whose exponents are near each other, near the ends of
// the range, or anywhere.
func (f *Format) operand(r *rand.Rand) uint64 {
	frac := r.Uint64() & (1<<f.manBits - 1)
	if r.IntN(3) == 0 {
		frac = []uint64{0, 1, 1<<f.manBits - 1, 1 << (f.manBits - 1)}[r.IntN(4)]
	}
	top := 1<<f.expBits - 1
	var e int
	switch r.IntN(4) {
	case 0:
		e = r.IntN(top)
	case 1:
		e = r.IntN(3)
	case 2:
		e = f.bias() + r.IntN(5) - 2
	case 3:
		e = top - 1 - r.IntN(2)
	}
	return f.signed(r.IntN(2) == 0, uint64(e)<<f.manBits|frac)
}

func TestArithmeticIsExactlyRounded(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			n := 1500
			if testing.Short() || f == F64 {
				n = 300
			}
			for range n {
				a, b, c := f.operand(r), f.operand(r), f.operand(r)
				if r.IntN(4) == 0 { // cancellation
					c = f.Mul(NearestEven, a, b) ^ f.Sign()
					if c&(f.Sign()-1) > f.maxFinite {
						continue
					}
				}
				m := Mode(r.IntN(5))
				x, y, z := f.exact(a), f.exact(b), f.exact(c)
				xy := new(big.Rat).Mul(x, y)
				sum := new(big.Rat).Add(xy, z)
				pneg := (a^b)&f.Sign() != 0
				zneg := c&f.Sign() != 0
				if pneg != zneg || xy.Sign() != 0 || z.Sign() != 0 {
					zneg = m == Down
				}
				if xy.Sign() == 0 && z.Sign() == 0 && pneg == (c&f.Sign() != 0) {
					zneg = pneg
				}
				require.Equalf(t, f.nearest(m, sum, zneg), f.FMA(m, a, b, c), "fma mode %d %#x %#x %#x", m, a, b, c)
				require.Equalf(t, f.nearest(m, xy, pneg), f.Mul(m, a, b), "mul mode %d %#x %#x", m, a, b)
				if y.Sign() != 0 {
					require.Equalf(t, f.nearest(m, new(big.Rat).Quo(x, y), pneg), f.Div(m, a, b), "div mode %d %#x %#x", m, a, b)
				}
			}
		})
	}
}

func TestSqrtBrackets(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for range 2000 {
				a := f.operand(r) &^ f.Sign()
				lo, hi := f.Sqrt(TowardZero, a), f.Sqrt(Up, a)
				x := f.exact(a)
				l, h := f.exact(lo), f.exact(hi)
				require.LessOrEqual(t, new(big.Rat).Mul(l, l).Cmp(x), 0, "%#x", a)
				require.GreaterOrEqual(t, new(big.Rat).Mul(h, h).Cmp(x), 0, "%#x", a)
				require.LessOrEqual(t, hi-lo, uint64(1), "%#x", a)
				mid := new(big.Rat).Add(l, h)
				mid.Mul(mid, big.NewRat(1, 2))
				want := lo
				if new(big.Rat).Mul(mid, mid).Cmp(x) < 0 {
					want = hi
				}
				require.Equal(t, want, f.Sqrt(NearestEven, a), "%#x", a)
			}
		})
	}
	require.Equal(t, math.Float64bits(math.Sqrt(2)), F64.Sqrt(NearestEven, math.Float64bits(2)))
	require.Equal(t, F32.NaN, F32.Sqrt(NearestEven, F32.Sign()|1))
	require.Equal(t, F32.Sign(), F32.Sqrt(NearestEven, F32.Sign()))
}

func TestSpecialValues(t *testing.T) {
	f := F32
	inf, ninf, nan, one := f.Inf(), f.Inf()|f.Sign(), uint64(0x7fc12345), f.One()
	require.Equal(t, f.NaN, f.Add(NearestEven, inf, ninf))
	require.Equal(t, inf, f.Add(NearestEven, inf, one))
	require.Equal(t, f.NaN, f.Add(NearestEven, nan, one))
	require.Equal(t, f.NaN, f.Sub(NearestEven, one, nan))
	require.Equal(t, f.NaN, f.Mul(NearestEven, inf, 0))
	require.Equal(t, f.NaN, f.Div(NearestEven, 0, 0))
	require.Equal(t, f.NaN, f.Div(NearestEven, inf, inf))
	require.Equal(t, ninf, f.Div(NearestEven, one|f.Sign(), 0))
	require.Equal(t, f.Sign(), f.Div(NearestEven, one|f.Sign(), inf))
	require.Equal(t, f.Sign(), f.Add(Down, one, one|f.Sign()))
	require.Equal(t, uint64(0), f.Add(NearestEven, one, one|f.Sign()))
}

func TestConvert(t *testing.T) {
	t.Run("every half through single and back", func(t *testing.T) {
		for x := uint64(0); x < 1<<16; x++ {
			for _, f := range []*Format{F16, BF16} {
				w := f.Convert(F32, NearestEven, x)
				if f.IsNaN(x) {
					require.Equal(t, F32.NaN, w)
					continue
				}
				require.Equal(t, x, F32.Convert(f, NearestEven, w))
			}
		}
	})
	t.Run("rounds as the exact value does", func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for range 4000 {
			x := F32.operand(r)
			m := Mode(r.IntN(5))
			for _, to := range []*Format{F16, BF16, TF32, E4M3, E5M2} {
				want := to.nearest(m, F32.exact(x), x&F32.Sign() != 0)
				require.Equalf(t, want, F32.Convert(to, m, x), "%#x mode %d", x, m)
			}
		}
	})
	t.Run("double to single as the host does", func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for range 4000 {
			x := F64.operand(r)
			want := math.Float32bits(float32(math.Float64frombits(x)))
			require.Equal(t, uint64(want), F64.Convert(F32, NearestEven, x))
		}
	})
}

func TestIntegers(t *testing.T) {
	cases := []struct {
		name   string
		m      Mode
		x      float64
		width  int
		signed bool
		want   uint64
	}{
		{"tie to even down", NearestEven, 2.5, 32, true, 2},
		{"tie to even up", NearestEven, 3.5, 32, true, 4},
		{"half", NearestEven, 0.5, 32, true, 0},
		{"over half", NearestEven, 0.50001, 32, true, 1},
		{"toward zero", TowardZero, -2.9, 32, true, ^uint64(1)},
		{"down", Down, -2.1, 32, true, ^uint64(2)},
		{"down tiny", Down, -1e-300, 32, true, ^uint64(0)},
		{"up", Up, 2.1, 32, true, 3},
		{"clamp high", NearestEven, 3e9, 32, true, math.MaxInt32},
		{"clamp low", NearestEven, -3e9, 32, true, 0xffffffff80000000},
		{"clamp negative unsigned", NearestEven, -3, 32, false, 0},
		{"clamp unsigned", NearestEven, 1e30, 32, false, math.MaxUint32},
		{"clamp u64", NearestEven, 1e30, 64, false, math.MaxUint64},
		{"exact 2^63", NearestEven, 1 << 63, 64, false, 1 << 63},
		{"min s64", NearestEven, -(1 << 63), 64, true, 1 << 63},
		{"rounds past u64", Up, math.Inf(1), 64, false, math.MaxUint64},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := F64.ToInt(c.m, math.Float64bits(c.x), c.width, c.signed)
			require.True(t, ok)
			require.Equal(t, c.want, got)
		})
	}
	_, ok := F64.ToInt(NearestEven, F64.NaN, 32, true)
	require.False(t, ok)
	for i := range uint64(4000) {
		require.Equal(t, uint64(math.Float32bits(float32(i*7919*7919*13))), F32.FromInt(NearestEven, false, i*7919*7919*13))
	}
	for _, x := range []float64{0.5, 1.5, 2.5, -0.5, -1.7, 1e300, 0.2, 4503599627370495.5} {
		require.Equal(t, math.Float64bits(math.RoundToEven(x)), F64.RoundToInt(NearestEven, math.Float64bits(x)))
		require.Equal(t, math.Float64bits(math.Trunc(x)), F64.RoundToInt(TowardZero, math.Float64bits(x)))
		require.Equal(t, math.Float64bits(math.Floor(x)), F64.RoundToInt(Down, math.Float64bits(x)))
		require.Equal(t, math.Float64bits(math.Ceil(x)), F64.RoundToInt(Up, math.Float64bits(x)))
	}
}

func TestFlushing(t *testing.T) {
	f := F32.Flushing()
	const minNormal = 0x00800000
	below := uint64(0x3f7fffff) // 1 - 2^-24
	require.Equal(t, uint64(minNormal), F32.Mul(NearestEven, below, minNormal))
	require.Equal(t, uint64(0), f.Mul(NearestEven, below, minNormal))
	require.Equal(t, uint64(0), f.Mul(Up, below, minNormal))
	require.Equal(t, f.Sign(), f.Mul(Up, below|f.Sign(), minNormal))
	// A product that rounds up to the smallest normal number stays.
	require.Equal(t, uint64(minNormal), f.Mul(NearestEven, 0x3f7fffff, 0x00800001))
	require.Equal(t, uint64(0), f.Add(NearestEven, 1, 1))
	require.Equal(t, f.One(), f.Add(NearestEven, f.One(), 0x007fffff))
	require.Equal(t, f.Inf(), f.Div(NearestEven, f.One(), 1))
}
