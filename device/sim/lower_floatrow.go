package sim

import (
	"math"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim/internal/softfloat"
)

// lowerFloatRow returns a row function for f32 arithmetic that kernels do all
// the time, or nil.
func (l *lowering) lowerFloatRow() exec {
	in := l.in
	if in.FTZ || in.Sat || in.Full || in.Approx || roundingMode(in.Round) != softfloat.NearestEven {
		return nil
	}
	switch in.Op {
	case ptx.OpAdd:
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = bits32(math.Float32frombits(a[l]) + math.Float32frombits(b[l]))
			}
		})
	case ptx.OpSub:
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = bits32(math.Float32frombits(a[l]) - math.Float32frombits(b[l]))
			}
		})
	case ptx.OpMul:
		return rows32x2(l.d32(), l.src32(0), l.src32(1), func(d, a, b *row32) {
			for l := range d {
				d[l] = bits32(math.Float32frombits(a[l]) * math.Float32frombits(b[l]))
			}
		})
	case ptx.OpFma, ptx.OpMad:
		return rows32x3(l.d32(), l.src32(0), l.src32(1), l.src32(2), func(d, a, b, c *row32) {
			for l := range d {
				d[l] = fma32(a[l], b[l], c[l])
			}
		})
	}
	return nil
}
