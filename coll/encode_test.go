package coll_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

func TestEncode(t *testing.T) {
	inf := math.Inf(1)
	for _, row := range []struct {
		t    coll.DataType
		v    float64
		want uint64
	}{
		{coll.Float16, 1, 0x3c00},
		{coll.Float16, -2, 0xc000},
		{coll.Float16, 1.0 / 3, 0x3555},
		{coll.Float16, 2049, 0x6800}, // ties go to even
		{coll.Float16, 2051, 0x6802},
		{coll.Float16, 65519, 0x7bff},
		{coll.Float16, 65520, 0x7c00},
		{coll.Float16, -inf, 0xfc00},
		{coll.Float16, 0x1p-24, 1},
		{coll.Float16, 0x1p-25, 0},
		{coll.Float16, 0x1.8p-25, 1},
		{coll.Float16, 0x0.ffep-14, 0x0400}, // rounds up to the smallest normal
		{coll.Float16, math.Copysign(0, -1), 0x8000},
		{coll.Float16, math.NaN(), 0x7fff},
		{coll.Float32, 0.1, 0x3dcccccd},
		{coll.Float32, 0x1p-149, 1},
		{coll.Float64, 0.1, 0x3fb999999999999a},
		{coll.Float64, 0x1p-1074, 1},
		{coll.Float64, math.MaxFloat64, 0x7fefffffffffffff},
		{coll.BFloat16, 1.0 / 3, 0x3eab},
		{coll.BFloat16, 0x1p-133, 1},
		{coll.BFloat16, 1e39, 0x7f80},
		{coll.F8E4M3, 1.0 / 3, 0x2b},
		{coll.F8E4M3, 448, 0x7e},
		{coll.F8E4M3, 1000, 0x7e},
		{coll.F8E4M3, -inf, 0xfe},
		{coll.F8E4M3, math.NaN(), 0x7f},
		{coll.F8E5M2, 57344, 0x7b},
		{coll.F8E5M2, inf, 0x7b},
		{coll.F8E5M2, 0x1p-16, 1},
	} {
		t.Run(fmt.Sprintf("%v %v", row.t, row.v), func(t *testing.T) {
			require.Equal(t, row.want, row.t.Encode(row.v), "%#x", row.t.Encode(row.v))
		})
	}
}

// Encode of single precision is Go's own conversion.
func TestEncodeFloat32(t *testing.T) {
	for i := range uint32(1 << 16) {
		v := math.Float64frombits(uint64(i*0x9e3779b1)<<32 | uint64(i*0x85ebca6b))
		// Into the range of single precision, and somewhat beyond.
		v = math.Ldexp(math.Float64frombits(math.Float64bits(v)&^(0x7ff<<52)|1023<<52), int(i%300)-155)
		require.Equal(t, uint64(math.Float32bits(float32(v))), coll.Float32.Encode(v), "%v", v)
	}
}

func TestAvgArg(t *testing.T) {
	require.Equal(t, uint64(0x3555), coll.AvgArg(coll.Float16, 3))
	require.Equal(t, uint64(0x3e000000), coll.AvgArg(coll.Float32, 8))
	require.Equal(t, uint64(0x2b), coll.AvgArg(coll.F8E4M3, 3))
	// 1/8283 is below a tie of f16 that single precision rounds it to.
	require.NotEqual(t, coll.Float16.Encode(float64(float32(1.0/8283))), coll.AvgArg(coll.Float16, 8283))
	require.Equal(t, uint64(3<<1), coll.AvgArg(coll.Uint8, 3))
	require.Equal(t, uint64(3<<1|1), coll.AvgArg(coll.Int64, 3))
}
