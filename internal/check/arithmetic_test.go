package check

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

// exactValue decodes the bits of a finite number by the definition of its format.
func exactValue(f format, v uint64) *big.Float {
	fraction := v & (1<<f.fractionBits - 1)
	exponent := int(v >> f.fractionBits & (1<<f.exponentBits - 1))
	significand := fraction
	if exponent == 0 {
		exponent = 1
	} else {
		significand |= 1 << f.fractionBits
	}
	x := new(big.Float).SetPrec(2200).SetUint64(significand)
	x.SetMantExp(x, exponent-f.bias()-f.fractionBits)
	if v&f.signBit() != 0 {
		x.Neg(x)
	}
	return x
}

func rational(f format, v uint64) *big.Rat {
	r, _ := exactValue(f, v).Rat(nil)
	return r
}

// nearest finds the bits of the number nearest to x by definition: it looks
// for the largest magnitude that is not above, and compares the distances. +0 is
// the only zero it gives.
func nearest(f format, x *big.Rat) uint64 {
	magnitude := new(big.Rat).Abs(x)
	// The value above the largest one counts as if its exponent were there.
	lo, hi := uint64(0), f.maxFinite()+1
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; rational(f, mid).Cmp(magnitude) <= 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	below := new(big.Rat).Sub(magnitude, rational(f, lo))
	above := new(big.Rat).Sub(rational(f, hi), magnitude)
	if c := below.Cmp(above); c > 0 || c == 0 && lo&1 == 1 {
		lo = hi
	}
	if f.saturates {
		lo = min(lo, f.maxFinite())
	}
	if x.Sign() < 0 && lo != 0 {
		lo |= f.signBit()
	}
	return lo
}

// pairsOf returns pairs of operands: all of 8-bit types, else random ones of which
// many are close to each other, small or large.
func pairsOf(dt coll.DataType, n int) [][2]uint64 {
	f := formats[dt]
	var all [][2]uint64
	if dt.Size() == 1 {
		for v := range uint64(1 << 16) {
			all = append(all, [2]uint64{v & 0xff, v >> 8})
		}
		return all
	}
	r := rand.New(rand.NewPCG(3, uint64(dt)))
	mask := f.signBit()<<1 - 1
	for range n {
		x, y := r.Uint64()&mask, r.Uint64()&mask
		switch r.IntN(4) {
		case 0: // neighbours in the exponent
			y = x ^ r.Uint64()&(4<<f.fractionBits-1) ^ r.Uint64()&f.signBit()
		case 1: // subnormal sums and products
			x &= f.signBit() | 2<<f.fractionBits - 1
		case 2: // their products are near the smallest numbers
			y = uint64(f.bias()+f.minExponent()-f.fractionBits/2)<<f.fractionBits - x&^f.signBit() + y&(1<<f.fractionBits-1)
			y &= mask
		}
		all = append(all, [2]uint64{x, y})
	}
	return all
}

// Sums and products of finite numbers are the nearest numbers to the exact ones.
func TestNearest(t *testing.T) {
	for dt, f := range formats {
		t.Run(dt.String(), func(t *testing.T) {
			a := arithmeticOf(dt)
			finite := func(v uint64) bool { return v&^f.signBit() <= f.maxFinite() }
			same := func(want, got uint64, x, y uint64, op string) {
				if got&^zeroSign(f, got) != want {
					require.Equal(t, want, got, "%#x %s %#x", x, op, y)
				}
			}
			checked := 0
			for _, p := range pairsOf(dt, 3000) {
				x, y := p[0], p[1]
				if !finite(x) || !finite(y) {
					continue
				}
				rx, ry := rational(f, x), rational(f, y)
				same(nearest(f, new(big.Rat).Add(rx, ry)), a.add(x, y), x, y, "+")
				same(nearest(f, rx.Mul(rx, ry)), a.mul(x, y), x, y, "*")
				checked++
			}
			require.Greater(t, checked, 1500)
			for n := 1; n < 2000; n += 7 {
				require.Equal(t, nearest(f, new(big.Rat).SetFrac64(1, int64(n))), a.reciprocal(n), "1/%d", n)
			}
		})
	}
}

// A wider type that is rounded to again does not show: bf16 through f32, fp8 through
// f16.
func TestThroughAWiderType(t *testing.T) {
	for narrowType, wideType := range map[coll.DataType]coll.DataType{
		coll.BFloat16: coll.Float32, coll.F8E4M3: coll.Float16, coll.F8E5M2: coll.Float16,
	} {
		t.Run(narrowType.String(), func(t *testing.T) {
			a, wide := newNarrow(formats[narrowType]), newNarrow(formats[wideType])
			widen := func(v uint64) uint64 { return wide.round(a.value(v)) }
			narrowed := func(v uint64) uint64 { return a.round(wide.value(v)) }
			for _, p := range pairsOf(narrowType, 1<<18) {
				x, y := p[0], p[1]
				for op, both := range map[string][2]uint64{
					"+":   {a.add(x, y), narrowed(wide.add(widen(x), widen(y)))},
					"*":   {a.mul(x, y), narrowed(wide.mul(widen(x), widen(y)))},
					"min": {a.min(x, y), narrowed(wide.min(widen(x), widen(y)))},
					"max": {a.max(x, y), narrowed(wide.max(widen(x), widen(y)))},
				} {
					if both[0] != both[1] {
						require.Equal(t, both[0], both[1], "%#x %s %#x", x, op, y)
					}
				}
			}
		})
	}
}

// The worked examples of docs/ARITHMETIC.md, and the rules of NaN, zeros and
// infinities.
func TestPage(t *testing.T) {
	scalars := []uint64{1, 2}
	for _, row := range []struct {
		dt       coll.DataType
		op       coll.UserOp
		operands []uint64
		want     uint64
	}{
		{coll.Float16, coll.OpSum, []uint64{0x6800, 0x3c00, 0x3c00}, 0x6800},
		{coll.Float16, coll.OpSum, []uint64{0x3c00, 0x3c00, 0x6800}, 0x6801},
		{coll.Float16, coll.OpSum, []uint64{0x7bff, 0x4c00}, 0x7c00},
		{coll.Float16, coll.OpAvg, []uint64{0x3c00, 0x4000, 0x4200}, 0x4000},
		{coll.BFloat16, coll.OpSum, []uint64{0x3f80, 0x3b80}, 0x3f80},
		{coll.BFloat16, coll.OpSum, []uint64{0x3f81, 0x3b80}, 0x3f82},
		{coll.Float32, coll.OpMax, []uint64{0x80000000, 0}, 0},
		{coll.Float32, coll.OpMax, []uint64{0xffc00001, 0x3f800000}, 0x3f800000},
		{coll.F8E4M3, coll.OpSum, []uint64{0x7e, 0x7e}, 0x7e},
		{coll.F8E4M3, coll.OpSum, []uint64{0x38, 0x18}, 0x38},
		{coll.F8E4M3, coll.OpAvg, []uint64{0x38, 0x38, 0x38}, 0x38},
		{coll.F8E5M2, coll.OpSum, []uint64{0x7c, 0xfc}, 0x7f},
		{coll.Uint8, coll.OpSum, []uint64{200, 100}, 44},
		{coll.Uint8, coll.OpAvg, []uint64{200, 100}, 22},
		{coll.Int8, coll.OpAvg, []uint64{0xfd, 0xfc}, 0xfd},
		{coll.Int32, coll.OpMulSum, []uint64{5, 7}, 19},

		// 1/3 is 0x3555 in f16, so shares are not exact thirds.
		{coll.Float16, coll.OpAvg, []uint64{0x3c00, 0, 0}, 0x3555},
		{coll.F8E4M3, coll.OpAvg, []uint64{0x38, 0, 0}, 0x2b},

		// NaN of sums and products.
		{coll.Float16, coll.OpSum, []uint64{0xfe01, 0x3c00}, 0x7fff},
		{coll.Float16, coll.OpProd, []uint64{0x7c00, 0}, 0x7fff},
		{coll.BFloat16, coll.OpSum, []uint64{0x3f80, 0xff81}, 0x7fff},
		{coll.Float32, coll.OpSum, []uint64{0x7f800000, 0xff800000}, 0x7fffffff},
		{coll.F8E4M3, coll.OpSum, []uint64{0xff, 0x38}, 0x7f},
		{coll.F8E5M2, coll.OpProd, []uint64{0x7c, 0}, 0x7f},
		{coll.Float64, coll.OpSum, []uint64{0x7ff0000000000000, 0xfff0000000000000}, 0xfff8000000000000},
		{coll.Float64, coll.OpSum, []uint64{0x7ff0000000000456, 0x3ff0000000000000}, 0x7ff8000000000456},
		{coll.Float64, coll.OpProd, []uint64{0x7ff8000000000123, 0xfff0000000000789}, 0xfff8000000000789},

		// Minimum and maximum of NaN, zeros and infinities.
		{coll.Float16, coll.OpMin, []uint64{0x7e00, 0xfe01}, 0x7fff},
		{coll.Float16, coll.OpMin, []uint64{0, 0x8000}, 0x8000},
		{coll.Float16, coll.OpMax, []uint64{0x8000, 0xfc00}, 0x8000},
		{coll.F8E4M3, coll.OpMax, []uint64{0xff, 0xfe}, 0xfe},
		{coll.F8E5M2, coll.OpMax, []uint64{0x7c, 0x3c}, 0x7b},
		{coll.F8E5M2, coll.OpMin, []uint64{0x7d, 0xfc}, 0xfb},
		{coll.F8E5M2, coll.OpMin, []uint64{0x7d, 0xff}, 0x7f},
		{coll.Float64, coll.OpMax, []uint64{0x7ff0000000000456, 0x3ff0000000000000}, 0x3ff0000000000000},
		{coll.Float64, coll.OpMax, []uint64{0x7ff8000000000123, 0xfff0000000000789}, 0xfff8000000000789},
		{coll.Int8, coll.OpMax, []uint64{0x80, 0x7f}, 0x7f},
		{coll.Uint8, coll.OpMax, []uint64{0x80, 0x7f}, 0x80},

		// Infinite operands of e5m2, infinite results of the others.
		{coll.F8E5M2, coll.OpSum, []uint64{0x7c, 0x3c}, 0x7b},
		{coll.F8E5M2, coll.OpProd, []uint64{0x7b, 0xfb}, 0xfb},
		{coll.BFloat16, coll.OpProd, []uint64{0x7f7f, 0xff7f}, 0xff80},
		{coll.Float64, coll.OpSum, []uint64{0x7fefffffffffffff, 0x7fefffffffffffff}, 0x7ff0000000000000},

		// One rank: nothing is touched, but by a product.
		{coll.Float32, coll.OpSum, []uint64{0xffc00001}, 0xffc00001},
		{coll.F8E5M2, coll.OpMax, []uint64{0x7c}, 0x7c},
		{coll.Float32, coll.OpAvg, []uint64{0xffc00001}, 0x7fffffff},
		{coll.Float32, coll.OpAvg, []uint64{0x80000000}, 0x80000000},
		{coll.Int64, coll.OpAvg, []uint64{1 << 63}, 1 << 63},
	} {
		t.Run(fmt.Sprintf("%s/%s/%x", row.dt, row.op, row.operands), func(t *testing.T) {
			size := row.dt.Size()
			var inputs [][]byte
			var order []int
			for rank, v := range row.operands {
				inputs = append(inputs, make([]byte, size))
				store(inputs[rank], size, v)
				order = append(order, rank)
			}
			got := make([]byte, size)
			Reduction{row.dt, row.op, len(order), scalars}.Fold(got, inputs, order)
			require.Equal(t, row.want, load(got, size), "%#x", load(got, size))
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, dt := range []coll.DataType{coll.Uint32, coll.Float16, coll.F8E4M3, coll.Float64} {
		for _, op := range []coll.UserOp{coll.OpSum, coll.OpAvg} {
			b.Run(fmt.Sprintf("%s/%s", dt, op), func(b *testing.B) {
				c := Case{Type: dt, Op: op, NumRanks: 8, Count: 1 << 16}
				var inputs [][]byte
				order := []int{3, 4, 5, 6, 7, 0, 1, 2}
				for rank := range c.NumRanks {
					d, err := c.Input(b.Context(), rank)
					require.NoError(b, err)
					inputs = append(inputs, make([]byte, c.Bytes()))
					d.Fill(inputs[rank], 0)
				}
				got := make([]byte, c.Bytes())
				b.SetBytes(int64(c.Bytes()))
				for b.Loop() {
					c.reduction().Fold(got, inputs, order)
				}
			})
		}
	}
}
