package devicetest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The references are themselves checked: against this processor's arithmetic,
// which rounds to nearest, against math/big, whose rounding is another program,
// and against values written out by hand.

func samples(k *kind, n int) []uint64 {
	r := rand.New(rand.NewPCG(7, 7))
	out := append([]uint64(nil), k.corners...)
	for range n {
		out = append(out, k.random(r))
	}
	return out
}

func TestArithmeticAgainstProcessor(t *testing.T) {
	check64 := func(name string, want float64, got uint64, from ...uint64) {
		if math.IsNaN(want) {
			require.True(t, f64.isNaN(got), "%s %#x", name, from)
			return
		}
		require.Equal(t, math.Float64bits(want), got, "%s %#x", name, from)
	}
	check32 := func(name string, want float32, got uint64, from ...uint64) {
		if want != want {
			require.True(t, f32.isNaN(got), "%s %#x", name, from)
			return
		}
		require.Equal(t, uint64(math.Float32bits(want)), got, "%s %#x", name, from)
	}
	s64, s32 := samples(double, 200), samples(single, 200)
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		a, b, c := s64[r.IntN(len(s64))], s64[r.IntN(len(s64))], s64[r.IntN(len(s64))]
		x, y, z := f64.unpack(a), f64.unpack(b), f64.unpack(c)
		p, q, s := math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)
		check64("add", p+q, f64.pack(addNumber(x, y, nearestEven), nearestEven), a, b)
		check64("mul", p*q, f64.pack(mulNumber(x, y), nearestEven), a, b)
		check64("div", p/q, f64.pack(divNumber(x, y), nearestEven), a, b)
		check64("sqrt", math.Sqrt(p), f64.pack(sqrtNumber(x), nearestEven), a)
		check64("fma", math.FMA(p, q, s), f64.pack(fmaNumber([]number{x, y, z}, nearestEven), nearestEven), a, b, c)
		check32("f64 to f32", float32(p), f32.pack(x, nearestEven), a)
		check64("floor", math.Floor(p), conversion{to: double, from: double, round: ".rmi"}.convert(a), a)
		check64("round", math.RoundToEven(p), conversion{to: double, from: double, round: ".rni"}.convert(a), a)

		d, e := s32[r.IntN(len(s32))], s32[r.IntN(len(s32))]
		u, v := f32.unpack(d), f32.unpack(e)
		f, g := math.Float32frombits(uint32(d)), math.Float32frombits(uint32(e))
		check32("add", f+g, f32.pack(addNumber(u, v, nearestEven), nearestEven), d, e)
		check32("mul", f*g, f32.pack(mulNumber(u, v), nearestEven), d, e)
		check32("div", f/g, f32.pack(divNumber(u, v), nearestEven), d, e)
	}
}

// TestDirectedRounding rounds quotients in all modes and compares with
// big.Float, for results in the normal range.
func TestDirectedRounding(t *testing.T) {
	modes := map[rounding]big.RoundingMode{
		nearestEven: big.ToNearestEven, nearestAway: big.ToNearestAway, towardZero: big.ToZero,
		downward: big.ToNegativeInf, upward: big.ToPositiveInf,
	}
	r := rand.New(rand.NewPCG(3, 3))
	for _, f := range []*format{f16, bf16, f32, f64, e4m3, e5m2, tf32} {
		for range 500 {
			a, b := r.Int64N(1<<40)-1<<39, r.Int64N(1000)+1
			if a == 0 {
				continue
			}
			x := divNumber(intNumber(big.NewInt(a)), intNumber(big.NewInt(b)))
			// Scale into the range of the format.
			x.exp -= x.exp + x.mant.BitLen() - 1
			for mode, m := range modes {
				exact := new(big.Float).SetMantExp(new(big.Float).SetPrec(400).SetInt(x.mant), x.exp)
				if x.neg {
					exact.Neg(exact)
				}
				want := new(big.Float).SetPrec(uint(f.man + 1)).SetMode(m).Set(exact)
				got, _ := want.Float64()
				require.Equal(t, got, f.float(f.pack(x, mode)), "%s %s %d/%d", f.name, mode, a, b)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	for _, v := range []struct {
		f     *format
		bits  uint64
		value float64
	}{
		{f16, 0x3c00, 1}, {f16, 0xc000, -2}, {f16, 0x7bff, 65504}, {f16, 1, 0x1p-24}, {f16, 0x0400, 0x1p-14},
		{bf16, 0x3f80, 1}, {bf16, 0x7f7f, 0x1.fep127}, {bf16, 1, 0x1p-133},
		{f32, 0x3f800000, 1}, {f32, 0x7f7fffff, math.MaxFloat32}, {f32, 1, math.SmallestNonzeroFloat32},
		{e4m3, 0x7e, 448}, {e4m3, 0x01, 0x1p-9}, {e4m3, 0x38, 1}, {e4m3, 0x08, 0x1p-6},
		{e5m2, 0x7b, 57344}, {e5m2, 0x01, 0x1p-16}, {e5m2, 0x3c, 1},
		{tf32, 0x3f800000, 1}, {tf32, 0x7f7fe000, 0x1.ffcp127},
	} {
		require.Equal(t, v.value, v.f.float(v.bits), "%s %#x", v.f.name, v.bits)
		require.Equal(t, v.bits, v.f.fromFloat(v.value), "%s %v", v.f.name, v.value)
	}
	for _, v := range []struct {
		f    *format
		r    rounding
		from float64
		want uint64
	}{
		{f16, nearestEven, 65519.99, 0x7bff}, {f16, nearestEven, 65520, 0x7c00}, {f16, towardZero, 1e9, 0x7bff},
		{f16, upward, -1e9, 0xfbff}, {f16, downward, -1e9, 0xfc00}, {f16, upward, 1e-30, 1}, {f16, downward, -1e-30, 0x8001},
		{f16, nearestEven, 0x1p-25, 0}, {f16, nearestEven, 0x1.8p-24, 2}, {f16, nearestEven, 0x1.000002p-25, 1},
		{f16, nearestEven, 2049, 0x6800}, {f16, nearestEven, 2051, 0x6802},
		{e4m3, nearestEven, 464, 0x7e}, {e4m3, nearestEven, 465, 0x7f}, {e5m2, nearestEven, 61440, 0x7c},
		{tf32, nearestAway, 0x1.002p0, 0x3f802000}, {f32, nearestEven, 0x1.000001p0, 0x3f800000}, {f32, nearestEven, 0x1.000003p0, 0x3f800002},
	} {
		require.Equal(t, v.want, v.f.pack(f64.unpack(math.Float64bits(v.from)), v.r), "%s %s %v", v.f.name, v.r, v.from)
	}
	// Every value of the small formats survives a round trip.
	for _, f := range []*format{f16, bf16, e4m3, e5m2} {
		for bits := range uint64(1) << f.bits() {
			if !f.isNaN(bits) {
				require.Equal(t, bits, f.pack(f.unpack(bits), nearestEven), "%s %#x", f.name, bits)
			}
		}
	}
}

func TestMinMaxAndModifiers(t *testing.T) {
	nan, one, two, negZero := uint64(0x7fc00001), uint64(0x3f800000), uint64(0x40000000), uint64(0x80000000)
	require.Equal(t, one, minMax(f32, false, false, false, false, one, two))
	require.Equal(t, two, minMax(f32, true, false, false, false, one, two))
	require.Equal(t, one, minMax(f32, false, false, false, false, nan, one))
	require.Equal(t, f32.nan(), minMax(f32, false, false, true, false, nan, one))
	require.Equal(t, f32.nan(), minMax(f32, true, false, false, false, nan, nan))
	require.Equal(t, negZero, minMax(f32, false, false, false, false, 0, negZero))
	require.Equal(t, uint64(0), minMax(f32, true, false, false, false, negZero, 0))
	require.Equal(t, one|negZero, minMax(f32, false, false, false, true, one|negZero, two))
	require.Equal(t, uint64(0), f32.saturate(nan))
	require.Equal(t, uint64(0), f32.saturate(negZero))
	require.Equal(t, one, f32.saturate(two))
	require.Equal(t, f32.nan(), f32.relu(nan))
	require.Equal(t, uint64(0), f32.relu(one|negZero))
	require.Equal(t, negZero, f32.flush(0x80000001))
	require.Equal(t, uint64(0x00800000), f32.flush(0x00800000))
}

func TestFloatToInteger(t *testing.T) {
	for _, v := range []struct {
		to, from *kind
		round    string
		x        float64
		want     uint64
	}{
		{s32, double, ".rzi", -1.9, 0xffffffff}, {s32, double, ".rmi", -1.1, 0xfffffffe}, {s32, double, ".rpi", 1.1, 2},
		{s32, double, ".rni", 2.5, 2}, {s32, double, ".rni", 3.5, 4}, {u32, double, ".rzi", -5, 0}, {u32, double, ".rzi", 1e10, 0xffffffff},
		{s32, double, ".rzi", -1e10, 0x80000000}, {u8, double, ".rzi", 300, 255}, {s8, double, ".rzi", -300, 0xff80},
		{s32, double, ".rzi", math.NaN(), 0x80000000}, {u64, double, ".rzi", math.NaN(), 1 << 63}, {s64, double, ".rzi", math.Inf(1), 1<<63 - 1},
	} {
		got := conversion{to: v.to, from: v.from, round: v.round}.convert(math.Float64bits(v.x))
		require.Equal(t, v.want, got, fmt.Sprint(v))
	}
	require.Equal(t, uint64(0), conversion{to: s32, from: single, round: ".rzi"}.convert(0x7fffffff))
	require.Equal(t, uint64(1)<<63, conversion{to: u64, from: single, round: ".rzi"}.convert(0x7fffffff))
}
