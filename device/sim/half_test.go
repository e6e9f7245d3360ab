package sim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

func TestQuickHalfConversions(t *testing.T) {
	for _, hf := range []*halfFormat{f16Format, bf16Format} {
		for h := range uint32(1 << 16) {
			want := hf.Convert(softfloat.F32, softfloat.NearestEven, uint64(h))
			if hf == bf16Format && hf.IsNaN(uint64(h)) {
				want = uint64(h) << 16
			}
			require.Equal(t, uint32(want), math.Float32bits(hf.toF32(h)))
			// The single itself, its neighbours, and the middle between halves.
			x := uint32(want)
			for _, v := range []uint32{x, x + 1, x - 1, x + 0xfff, x + 0x1000, x + 0x1001, x + 0x7fff, x + 0x8000, x + 0x8001} {
				require.Equal(t, uint32(softfloat.F32.Convert(hf.Format, softfloat.NearestEven, uint64(v))), hf.fromF32(v), "%#x", v)
			}
		}
		r := rand.New(rand.NewPCG(1, 1))
		for range 1 << 16 {
			v := r.Uint32()
			require.Equal(t, uint32(softfloat.F32.Convert(hf.Format, softfloat.NearestEven, uint64(v))), hf.fromF32(v), "%#x", v)
		}
	}
}

// near draws an operand whose exponent is near those of others, so that sums
// cancel and round in interesting ways.
func near(r *rand.Rand, f *softfloat.Format) uint32 {
	x := f.One() - uint64(r.IntN(8))<<(map[*softfloat.Format]int{softfloat.F32: 23, softfloat.F16: 10, softfloat.BF16: 7}[f])
	switch r.IntN(4) {
	case 0:
		x = r.Uint64() & (f.Sign() - 1)
	case 1:
		x |= uint64(r.IntN(4))
	default:
		x ^= r.Uint64() & (f.One()&-f.One() - 1)
	}
	if r.IntN(2) == 0 {
		x |= f.Sign()
	}
	return uint32(x)
}

func TestQuickArithmetic(t *testing.T) {
	const rn = softfloat.NearestEven
	r := rand.New(rand.NewPCG(2, 2))
	for range 100_000 {
		a, b, c := near(r, softfloat.F32), near(r, softfloat.F32), near(r, softfloat.F32)
		if r.IntN(3) == 0 {
			c = uint32(softfloat.F32.Mul(rn, uint64(a), uint64(b))) ^ 1<<31
		}
		require.Equal(t, uint32(softfloat.F32.FMA(rn, uint64(a), uint64(b), uint64(c))), fma32(a, b, c), "%#x %#x %#x", a, b, c)
	}
	for _, hf := range []*halfFormat{f16Format, bf16Format} {
		for range 100_000 {
			a, b, c := near(r, hf.Format), near(r, hf.Format), near(r, hf.Format)
			x, y, z := uint64(a), uint64(b), uint64(c)
			require.Equal(t, uint32(hf.Add(rn, x, y)), hf.round(hf.toF32(a)+hf.toF32(b)), "%#x + %#x", a, b)
			require.Equal(t, uint32(hf.Mul(rn, x, y)), hf.fromF32(oddF32(float64(hf.toF32(a))*float64(hf.toF32(b)))), "%#x * %#x", a, b)
			got := hf.fromF32(oddF32(oddFMA(float64(hf.toF32(a)), float64(hf.toF32(b)), float64(hf.toF32(c)))))
			require.Equal(t, uint32(hf.FMA(rn, x, y, z)), got, "%#x * %#x + %#x", a, b, c)
		}
	}
}
