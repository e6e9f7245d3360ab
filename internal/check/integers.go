package check

// integers computes with unsigned or two's complement integers modulo 2^width.
type integers struct {
	width  int // bits
	signed bool
}

func (a integers) mask() uint64 { return ^uint64(0) >> (64 - a.width) }

func (a integers) add(x, y uint64) uint64 { return (x + y) & a.mask() }
func (a integers) mul(x, y uint64) uint64 { return x * y & a.mask() }

func (a integers) min(x, y uint64) uint64 {
	if a.less(y, x) {
		return y
	}
	return x
}

func (a integers) max(x, y uint64) uint64 {
	if a.less(x, y) {
		return y
	}
	return x
}

func (a integers) less(x, y uint64) bool {
	if a.signed {
		return a.extend(x) < a.extend(y)
	}
	return x < y
}

// extend returns the value of a signed integer.
func (a integers) extend(x uint64) int64 { return int64(x<<(64-a.width)) >> (64 - a.width) }

func (a integers) reciprocal(int) uint64 { panic("nccl: BUG: integers have no reciprocal") }

func (a integers) divide(z uint64, n int) uint64 {
	if a.signed {
		return uint64(a.extend(z)/int64(n)) & a.mask()
	}
	return z / uint64(n)
}
