package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

var ops = []coll.UserOp{coll.OpSum, coll.OpProd, coll.OpMax, coll.OpMin}

// forEachCase runs f for every type and operator at several numbers of ranks.
func forEachCase(t *testing.T, which func(c Case) bool, f func(t *testing.T, c Case)) {
	for dt := range coll.DataType(coll.NumDataTypes) {
		for _, op := range ops {
			for _, n := range []int{1, 2, 3, 8, 33} {
				c := Case{Type: dt, Op: op, NumRanks: n, Count: 97, Seed: 5}
				if which(c) {
					t.Run(fmt.Sprintf("%s/%s/%d", dt, op, n), func(t *testing.T) { f(t, c) })
				}
			}
		}
	}
}

// bitsOf returns element i of buf.
func bitsOf(c Case, buf []byte, i int) uint64 {
	size := c.Type.Size()
	var word [8]byte
	copy(word[:], buf[i*size:(i+1)*size])
	return binary.LittleEndian.Uint64(word[:])
}

func inputs(t *testing.T, c Case) [][]byte {
	in := make([][]byte, c.NumRanks)
	for rank := range in {
		d, err := c.Input(t.Context(), rank)
		require.NoError(t, err)
		in[rank] = make([]byte, c.Bytes())
		d.Fill(in[rank], 0)
	}
	return in
}

func expected(t *testing.T, c Case) []byte {
	d, err := c.Expected(t.Context())
	require.NoError(t, err)
	want := make([]byte, c.Bytes())
	d.Fill(want, 0)
	return want
}

// wrong compares bytes with what c's ranks must end up with.
func wrong(t *testing.T, c Case, got []byte) (count, first int) {
	d, err := c.Expected(t.Context())
	require.NoError(t, err)
	return d.Wrong(got, 0, c.Type.Size())
}

// value decodes the bits of a floating-point element by its definition.
func value(t *testing.T, dt coll.DataType, v uint64) *big.Float {
	f := formats[dt]
	fraction := v & (1<<f.fractionBits - 1)
	exponent := int(v >> f.fractionBits & (1<<f.exponentBits - 1))
	if f.finiteTop {
		require.False(t, exponent == 1<<f.exponentBits-1 && fraction == 1<<f.fractionBits-1, "NaN %#x", v)
	} else {
		require.NotEqual(t, 1<<f.exponentBits-1, exponent, "%#x is not finite", v)
	}
	significand := fraction
	if exponent == 0 {
		exponent = 1
	} else {
		significand |= 1 << f.fractionBits
	}
	x := new(big.Float).SetPrec(2000).SetUint64(significand)
	x.SetMantExp(x, exponent-f.bias()-f.fractionBits)
	if v&f.signBit() != 0 {
		x.Neg(x)
	}
	return x
}

// Folding the inputs in any order, rounding after every step to the type's
// precision, never rounds and gives the reference.
func TestFloatsExactInAnyOrder(t *testing.T) {
	floats := func(c Case) bool { return c.Type.Float() }
	forEachCase(t, floats, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		f := formats[c.Type]
		r := rand.New(rand.NewPCG(1, 2))
		for i := range c.Count {
			order := r.Perm(c.NumRanks)
			acc := value(t, c.Type, bitsOf(c, in[order[0]], i)).SetPrec(uint(f.precision()))
			for _, rank := range order[1:] {
				v := value(t, c.Type, bitsOf(c, in[rank], i))
				switch c.Op {
				case coll.OpSum:
					acc.Add(acc, v)
				case coll.OpProd:
					acc.Mul(acc, v)
				case coll.OpMax:
					if v.Cmp(acc) > 0 {
						acc.Set(v)
					}
				case coll.OpMin:
					if v.Cmp(acc) < 0 {
						acc.Set(v)
					}
				}
				require.Equal(t, big.Exact, acc.Acc())
				if acc.Sign() != 0 && c.Op == coll.OpProd {
					require.GreaterOrEqual(t, acc.MantExp(nil)-1, f.minExponent())
				}
			}
			got := value(t, c.Type, bitsOf(c, want, i))
			require.Zero(t, acc.Cmp(got), "element %d: folded %v, reference %v", i, acc, got)
		}
	})
}

func TestIntegersWrap(t *testing.T) {
	integers := func(c Case) bool { return !c.Type.Float() }
	forEachCase(t, integers, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		width := uint(8 * c.Type.Size())
		modulus := new(big.Int).Lsh(big.NewInt(1), width)
		number := func(v uint64) *big.Int {
			x := new(big.Int).SetUint64(v)
			if c.Type.Signed() && x.Bit(int(width)-1) == 1 {
				x.Sub(x, modulus)
			}
			return x
		}
		for i := range c.Count {
			acc := number(bitsOf(c, in[0], i))
			for rank := 1; rank < c.NumRanks; rank++ {
				v := number(bitsOf(c, in[rank], i))
				switch {
				case c.Op == coll.OpSum:
					acc.Add(acc, v)
				case c.Op == coll.OpProd:
					acc.Mul(acc, v)
				case c.Op == coll.OpMax && v.Cmp(acc) > 0, c.Op == coll.OpMin && v.Cmp(acc) < 0:
					acc = v
				}
			}
			acc.Mod(acc, modulus)
			require.Equal(t, acc.Uint64(), bitsOf(c, want, i), "element %d", i)
		}
	})
}

// A result that misses a rank or counts one twice is wrong in many elements,
// whatever the operator: the inputs tell ranks apart.
func TestInputsTellRanksApart(t *testing.T) {
	// Of many ranks only a few decide a minimum or a narrow sum.
	few := func(c Case) bool { return c.NumRanks > 1 && c.NumRanks <= 8 }
	forEachCase(t, few, func(t *testing.T, c Case) {
		c.Count = 4096
		got := make([]byte, c.Bytes())
		// The inputs stay those of all ranks; only the fold stops one rank short.
		switch a := c.arithmetic().(type) {
		case integers:
			a.c.NumRanks--
			require.NoError(t, c.fill(t.Context(), got, a.reduced))
		case exactSums:
			a.c.NumRanks--
			require.NoError(t, c.fill(t.Context(), got, a.reduced))
		case extremes:
			a.c.NumRanks--
			require.NoError(t, c.fill(t.Context(), got, a.reduced))
		case exactProducts:
			require.NoError(t, c.fill(t.Context(), got, func(i int) uint64 {
				product, exponent := int64(1), 0
				for rank := range c.NumRanks - 1 {
					s, e := a.factor(rank, i)
					product *= s
					exponent += e
				}
				return a.f.encode(product, exponent)
			}))
		}
		count, first := wrong(t, c, got)
		require.Greater(t, count, c.Count/20)
		require.GreaterOrEqual(t, first, 0)
	})
}

func TestSeedsDiffer(t *testing.T) {
	c := Case{Type: coll.Int32, Op: coll.OpSum, NumRanks: 2, Count: 1000, Seed: 1}
	next := c
	next.Seed++
	count, _ := wrong(t, c, expected(t, next))
	require.Greater(t, count, 990)
	require.Equal(t, expected(t, c), expected(t, c))
}

func TestEncode(t *testing.T) {
	tests := []struct {
		dt    coll.DataType
		m     int64
		scale int
		want  uint64
	}{
		{coll.Float16, 1, 0, 0x3c00},
		{coll.Float16, -2, 0, 0xc000},
		{coll.Float16, 2047, 5, 0x7bff}, // 65504, the largest
		{coll.Float16, 1, -24, 0x0001},  // the smallest subnormal
		{coll.Float16, 1 << 11, -4, 0x5800},
		{coll.BFloat16, 3, -1, 0x3fc0},
		{coll.F8E4M3, 7, 6, 0x7e}, // 448, the largest
		{coll.F8E4M3, 1, -9, 0x01},
		{coll.F8E5M2, 7, 13, 0x7b}, // 57344, the largest
		{coll.Float32, 0, 3, 0},
		{coll.Float32, -12345, -3, uint64(math.Float32bits(-12345.0 / 8))},
		{coll.Float64, 1<<53 - 1, 4, math.Float64bits(math.Ldexp(1<<53-1, 4))},
		{coll.Float64, 1 << 53, -4, math.Float64bits(1 << 49)},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%d*2^%d", tt.dt, tt.m, tt.scale), func(t *testing.T) {
			require.Equal(t, tt.want, formats[tt.dt].encode(tt.m, tt.scale))
		})
	}
}

func TestFinite(t *testing.T) {
	for dt, f := range formats {
		if dt.Size() > 2 {
			continue
		}
		for v := range f.signBit() << 1 {
			bits := f.finite(v)
			value(t, dt, bits)
			require.NotEqual(t, f.signBit(), bits, "-0 of %s", dt)
		}
	}
}

func TestWrong(t *testing.T) {
	c := Case{Type: coll.Uint32, Op: coll.OpSum, NumRanks: 3, Count: 10}
	got := expected(t, c)
	count, first := wrong(t, c, got)
	require.Zero(t, count)
	require.Equal(t, -1, first)
	got[4*4+3]++
	got[9*4]++
	count, first = wrong(t, c, got)
	require.Equal(t, 2, count)
	require.Equal(t, 4, first)
}

func TestSupports(t *testing.T) {
	for op := range coll.UserOp(coll.NumUserOps) {
		if op == coll.OpAvg || op == coll.OpMulSum {
			require.ErrorContains(t, Supports(op), op.String())
		} else {
			require.NoError(t, Supports(op))
		}
	}
}

func BenchmarkExpected(b *testing.B) {
	for _, c := range []Case{
		{Type: coll.Float32, Op: coll.OpSum, NumRanks: 8, Count: 1 << 16},
		{Type: coll.Float16, Op: coll.OpProd, NumRanks: 8, Count: 1 << 16},
		{Type: coll.Int8, Op: coll.OpMax, NumRanks: 8, Count: 1 << 16},
		{Type: coll.Float16, Op: coll.OpProd, NumRanks: 8, Count: 1 << 29},
	} {
		b.Run(fmt.Sprintf("%s/%s/%d", c.Type, c.Op, c.Count), func(b *testing.B) {
			b.SetBytes(int64(c.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.Expected(b.Context())
				require.NoError(b, err)
			}
		})
	}
}

// Making data ends with the context, within a few milliseconds of work.
func TestFillEndsWithTheContext(t *testing.T) {
	for _, count := range []int{1, share, 64 * share} {
		ctx, cancel := context.WithCancel(t.Context())
		c := Case{Type: coll.Int8, Op: coll.OpSum, NumRanks: 1, Count: count, Seed: 1}
		made := atomic.Int64{}
		err := c.fill(ctx, make([]byte, count), func(int) uint64 {
			if made.Add(1) == 1 {
				cancel()
			}
			return 1
		})
		require.ErrorIs(t, err, context.Canceled)
		require.LessOrEqual(t, made.Load(), int64(share*runtime.GOMAXPROCS(0)))
		_, err = c.Input(ctx, 0)
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.Expected(ctx)
		require.ErrorIs(t, err, context.Canceled)
	}
}
