package devicetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		c    *codes
		x    float64
		code uint32
	}{
		{codesE4M3, 0, 0}, {codesE4M3, math.Copysign(0, -1), 0x80},
		{codesE4M3, 1, 0x38}, {codesE4M3, -1.125, 0xb9}, {codesE4M3, 1.0625, 0x38}, {codesE4M3, 1.1875, 0x3a},
		{codesE4M3, 1.0 / 512, 1}, {codesE4M3, 1.0 / 1024, 0}, {codesE4M3, 3.0 / 1024, 2},
		{codesE4M3, 448, 0x7e}, {codesE4M3, 464, 0x7e}, {codesE4M3, 465, 0x7f},
		{codesE4M3.saturated(), 465, 0x7e}, {codesE4M3.saturated(), math.Inf(-1), 0xfe}, {codesE4M3.saturated(), math.NaN(), 0x7f},
		{codesE5M2, 57344, 0x7b}, {codesE5M2, 61439, 0x7b}, {codesE5M2, 61440, 0x7c},
		{codesE5M2.saturated(), 61440, 0x7b}, {codesE5M2, math.Inf(1), 0x7c},
		{codesF16, 65504, 0x7bff}, {codesF16, 65519, 0x7bff}, {codesF16, 65520, 0x7c00}, {codesF16, 1, 0x3c00},
		{codesBF16, 1, 0x3f80}, {codesBF16, math.MaxFloat32, 0x7f80}, {codesBF16, math.NaN(), 0x7fff},
	} {
		require.Equalf(t, tt.code, tt.c.round(tt.x), "%s of %v", tt.c.name, tt.x)
	}
}

// The list and the exact numbers of format are two ways to the same values.
func TestCodesAreTheFormats(t *testing.T) {
	for _, p := range []struct {
		c *codes
		f *format
	}{{codesE4M3, e4m3}, {codesE5M2, e5m2}, {codesF16, f16}, {codesBF16, bf16}} {
		for code := range uint32(1) << p.c.width {
			v := p.c.value(code)
			n := p.f.unpack(uint64(code))
			require.Equal(t, n.nan, math.IsNaN(v), "%s %#x", p.c.name, code)
			require.Equal(t, n.inf, math.IsInf(v, 0), "%s %#x", p.c.name, code)
			if n.nan {
				continue
			}
			require.Equal(t, code, p.c.round(v), "%s %#x", p.c.name, code)
			require.Equal(t, n.neg, math.Signbit(v), "%s %#x", p.c.name, code)
			if !n.inf {
				require.Equal(t, math.Ldexp(float64(n.mant.Uint64()), n.exp), math.Abs(v), "%s %#x", p.c.name, code)
			}
		}
	}
}
