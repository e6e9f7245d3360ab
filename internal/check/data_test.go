package check

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

// Data that repeats is the same from wherever it is taken, and the same as what
// its elements' definition gives.
func TestDataRepeats(t *testing.T) {
	for _, dt := range []coll.DataType{coll.Int8, coll.Float32} {
		c := Case{Type: dt, Op: coll.OpSum, NumRanks: 3, Count: 2*period + 177, Seed: 9}
		d, err := c.Input(t.Context(), 2)
		require.NoError(t, err)
		whole := make([]byte, c.Bytes())
		d.Fill(whole, 0)
		element := c.maker()
		for _, i := range []int{0, 1, 76, period - 1, period, period + 1, 2*period - 1, 2 * period, c.Count - 1} {
			mask := uint64(1)<<(8*dt.Size()) - 1
			require.Equal(t, element(2, i%period)&mask, bitsOf(c, whole, i), "element %d", i)
		}
		for _, at := range []int{0, 1, period - 3, 2*period + 1} {
			part := make([]byte, 100)
			d.Fill(part, at)
			require.Equal(t, whole[at:at+100], part, "from byte %d", at)
		}
	}
}

// Parts that trade places show, whatever their length below the period.
func TestDisplacedPartsShow(t *testing.T) {
	require.True(t, big.NewInt(period).ProbablyPrime(0))
	c := Case{Type: coll.Int32, Op: coll.OpSum, NumRanks: 2, Count: 3 * period, Seed: 4}
	want := expected(t, c)
	d, err := c.Expected(t.Context())
	require.NoError(t, err)
	for _, part := range []int{4096, 1 << 16, 1_000_000, 1 << 20} { // elements
		got := append([]byte{}, want...)
		copy(got[4*part:8*part], want[:4*part])
		count, first := d.Wrong(got, 0, 4)
		require.Equal(t, part, first)
		require.Greater(t, count, part-part/100)
	}
}

// A part of a buffer is compared with that part of the data, across the place
// where it repeats too.
func TestWrongInAPart(t *testing.T) {
	c := Case{Type: coll.Float16, Op: coll.OpMax, NumRanks: 2, Count: period + 50, Seed: 4}
	d, err := c.Expected(t.Context())
	require.NoError(t, err)
	const at = 2 * (period - 10)
	got := make([]byte, 2*40)
	d.Fill(got, at)
	count, first := d.Wrong(got, at, 2)
	require.Zero(t, count)
	require.Equal(t, -1, first)
	got[2*9+1] ^= 1
	got[2*10] ^= 1
	count, first = d.Wrong(got, at, 2)
	require.Equal(t, 2, count)
	require.Equal(t, 9, first)
}

func TestConstant(t *testing.T) {
	d := Constant(0xa5)
	got := make([]byte, 3*constantUnit+1)
	d.Fill(got, 5)
	for _, b := range got {
		if b != 0xa5 {
			require.Equal(t, byte(0xa5), b)
		}
	}
	count, _ := d.Wrong(got[:3*constantUnit], 16, 8)
	require.Zero(t, count)
	got[constantUnit+3]++
	count, first := d.Wrong(got[:3*constantUnit], 0, 8)
	require.Equal(t, 1, count)
	require.Equal(t, constantUnit/8, first)
}
