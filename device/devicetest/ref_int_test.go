package devicetest

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	require.Equal(t, int64(-1), bigOf(0xff, 8, true).Int64())
	require.Equal(t, int64(255), bigOf(0x1ff, 8, false).Int64())
	require.Equal(t, uint64(0xfffe), wrapBig(big.NewInt(-2), 16))
	require.Equal(t, uint64(0), wrapBig(big.NewInt(1<<16), 16))
	require.Equal(t, int64(127), clampBig(big.NewInt(1000), 8, true).Int64())
	require.Equal(t, int64(-128), clampBig(big.NewInt(-1000), 8, true).Int64())
	require.Equal(t, int64(0), clampBig(big.NewInt(-1), 8, false).Int64())
	r := rand.New(rand.NewPCG(5, 5))
	for range 1000 {
		x := r.Uint64()
		require.Equal(t, bits.Reverse64(x), bitwise(64, func(i int) uint64 { return bit(x, 63-i) }))
		require.Equal(t, uint64(int64(int32(x))), wrapBig(bigOf(x, 32, true), 64))
		hi, lo := bits.Mul64(x, x>>3)
		p := bigMul([]*big.Int{bigOf(x, 64, false), bigOf(x>>3, 64, false)})
		require.Equal(t, lo, wrapBig(p, 64))
		require.Equal(t, hi, wrapBig(p.Rsh(p, 64), 64))
	}
}

func TestBitReferences(t *testing.T) {
	require.Equal(t, uint64(0x34), bitField(0x12345678, 16, 8, 32, false))
	require.Equal(t, uint64(0xfffffff8), bitField(0x00008000, 12, 4, 32, true))
	require.Equal(t, uint64(0), bitField(0xffffffff, 4, 0, 32, true))
	require.Equal(t, uint64(0xffffffff), bitField(0x80000000, 40, 3, 32, true))
	require.Equal(t, uint64(0x1ab45678), insertField(0x1ab, 0x12345678, 20, 12, 32))
	require.Equal(t, uint64(5), highestDiffering(0x3f, 32, false))
	require.Equal(t, uint64(0xffffffff), highestDiffering(0xffffffff, 32, true))
	require.Equal(t, uint64(7), highestDiffering(0xffffff7f, 32, true))
	require.Equal(t, uint64(0xaabbccdd), permute(0xaabbccdd, 0x11223344, 0x3210, ""))
	require.Equal(t, uint64(0x44ffff00), permute(0x00ffff80, 0x11223344, 0x4883, ""))
	require.Equal(t, uint64(0x44aabbcc), permute(0xaabbccdd, 0x11223344, 1, "f4e"))
	a, b, c := uint64(0xf0f0f0f0), uint64(0xcccccccc), uint64(0xaaaaaaaa)
	require.Equal(t, a&b&c, lut3(a, b, c, 0x80))
	require.Equal(t, a^b^c, lut3(a, b, c, 0x96))
	require.Equal(t, (a&b|c)^a, lut3(a, b, c, 0x1a))
	require.Equal(t, uint64(4), nthSet(0b10110, 0, 3))
	require.Equal(t, uint64(1), nthSet(0b10110, 4, -3))
	require.Equal(t, uint64(0xffffffff), nthSet(0b10110, 0, 4))
	require.Equal(t, uint64(2), nthSet(0b10110, 2, 0))
	require.Equal(t, uint64(0xffffffff), nthSet(0b10110, 3, 0))
}

func TestShuffleReference(t *testing.T) {
	for _, v := range []struct {
		mode       string
		lane, b, c int
		from       int
		ok         bool
	}{
		{"up", 5, 2, 0, 3, true}, {"up", 1, 2, 0, 1, false}, {"up", 9, 2, 0x1800, 9, false},
		{"down", 5, 2, 0x1f, 7, true}, {"down", 31, 1, 0x1f, 31, false}, {"down", 7, 1, 0x181f, 7, false},
		{"bfly", 5, 1, 0x1f, 4, true}, {"bfly", 3, 16, 0x0f, 3, false},
		{"idx", 9, 3, 0x181f, 11, true}, {"idx", 0, 9, 0x7, 0, false},
	} {
		from, ok := shuffleSource(v.mode, v.lane, v.b, v.c)
		require.Equal(t, v.from, from, "%+v", v)
		require.Equal(t, v.ok, ok, "%+v", v)
	}
}
