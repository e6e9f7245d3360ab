package check

import (
	"context"
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

// forEachCase runs f for every type and operator at several numbers of ranks.
func forEachCase(t *testing.T, which func(c Case) bool, f func(t *testing.T, c Case)) {
	for dt := range coll.DataType(coll.NumDataTypes) {
		for op := range coll.UserOp(coll.NumUserOps) {
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
	return load(buf[i*c.Type.Size():], c.Type.Size())
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

// Reducing the inputs in any order gives the reference.
func TestAnyOrder(t *testing.T) {
	all := func(Case) bool { return true }
	forEachCase(t, all, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		r := rand.New(rand.NewPCG(1, 2))
		got := make([]byte, len(want))
		for range 20 {
			c.reduction().Fold(got, in, r.Perm(c.NumRanks))
			require.Equal(t, want, got)
		}
	})
}

// Sums, products, minimum and maximum of the inputs, in any order, never round, not
// even in a type without subnormals, so that no arithmetic could make a
// difference. What they give exactly is the reference.
func TestExact(t *testing.T) {
	exact := func(c Case) bool { return c.Type.Float() && c.Op != coll.OpAvg }
	forEachCase(t, exact, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		f := formats[c.Type]
		r := rand.New(rand.NewPCG(1, 2))
		for i := range c.Count {
			contribution := func(rank int) *big.Float {
				v := exactValue(f, bitsOf(c, in[rank], i))
				if c.Op == coll.OpMulSum {
					v.Mul(v, exactValue(f, Scalar(c.Type, rank)))
				}
				return v
			}
			order := r.Perm(c.NumRanks)
			acc := contribution(order[0]).SetPrec(uint(f.precision()))
			for _, rank := range order[1:] {
				v := contribution(rank)
				switch c.Op {
				case coll.OpSum, coll.OpMulSum:
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
			got := exactValue(f, bitsOf(c, want, i))
			require.Zero(t, acc.Cmp(got), "element %d: folded %v, reference %v", i, acc, got)
		}
	})
}

// Averages round: each share is the nearest number to the product, and the result
// the nearest to their sum.
func TestAveragesRound(t *testing.T) {
	averages := func(c Case) bool { return c.Type.Float() && c.Op == coll.OpAvg }
	rounded := map[coll.DataType]int{}
	forEachCase(t, averages, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		f := formats[c.Type]
		share := nearest(f, new(big.Rat).SetFrac64(1, int64(c.NumRanks)))
		for i := range c.Count {
			sum := new(big.Rat)
			for rank := range c.NumRanks {
				x, s := rational(f, bitsOf(c, in[rank], i)), rational(f, share)
				sum.Add(sum, rational(f, nearest(f, x.Mul(x, s))))
			}
			got := bitsOf(c, want, i)
			require.Equal(t, nearest(f, sum), got&^zeroSign(f, got), "element %d", i)
			if rational(f, got).Cmp(sum) != 0 {
				rounded[c.Type]++
			}
		}
	})
	for dt := range formats {
		require.Greater(t, rounded[dt], 50, "%s", dt)
	}
}

// zeroSign returns the sign bit of -0, and 0 for all other bits: a rational has no
// sign if it is zero.
func zeroSign(f format, v uint64) uint64 {
	if v == f.signBit() {
		return v
	}
	return 0
}

func TestIntegersWrap(t *testing.T) {
	integers := func(c Case) bool { return !c.Type.Float() }
	forEachCase(t, integers, func(t *testing.T, c Case) {
		in, want := inputs(t, c), expected(t, c)
		modulus := new(big.Int).Lsh(big.NewInt(1), uint(8*c.Type.Size()))
		for i := range c.Count {
			acc := wholeNumber(c.Type, bitsOf(c, in[0], i))
			for rank := 1; rank < c.NumRanks; rank++ {
				v := wholeNumber(c.Type, bitsOf(c, in[rank], i))
				switch {
				case c.Op == coll.OpMulSum:
					acc.Add(acc, v.Mul(v, big.NewInt(premul(rank))))
				case c.Op == coll.OpSum, c.Op == coll.OpAvg:
					acc.Add(acc, v)
				case c.Op == coll.OpProd:
					acc.Mul(acc, v)
				case c.Op == coll.OpMax && v.Cmp(acc) > 0, c.Op == coll.OpMin && v.Cmp(acc) < 0:
					acc = v
				}
			}
			acc.Mod(acc, modulus)
			if c.Op == coll.OpAvg {
				// Quo is toward zero.
				acc.Quo(wholeNumber(c.Type, acc.Uint64()), big.NewInt(int64(c.NumRanks)))
				acc.Mod(acc, modulus)
			}
			require.Equal(t, acc.Uint64(), bitsOf(c, want, i), "element %d", i)
		}
	})
}

// wholeNumber returns what the bits of an integer mean.
func wholeNumber(dt coll.DataType, v uint64) *big.Int {
	x, width := new(big.Int).SetUint64(v), 8*dt.Size()
	if dt.Signed() && x.Bit(width-1) == 1 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	return x
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
		require.NoError(t, c.fill(t.Context(), got, c.reduced(c.maker(), c.NumRanks-1)))
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
			require.LessOrEqual(t, f.finite(v)&^f.signBit(), f.maxFinite())
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

func BenchmarkExpected(b *testing.B) {
	for _, c := range []Case{
		{Type: coll.Float32, Op: coll.OpSum, NumRanks: 8, Count: 1 << 16},
		{Type: coll.Float16, Op: coll.OpProd, NumRanks: 8, Count: 1 << 16},
		{Type: coll.Int8, Op: coll.OpMax, NumRanks: 8, Count: 1 << 16},
		{Type: coll.F8E4M3, Op: coll.OpAvg, NumRanks: 8, Count: 1 << 16},
		{Type: coll.BFloat16, Op: coll.OpMulSum, NumRanks: 8, Count: 1 << 16},
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
