package check

import "github.com/ncclgo/ncclgo/coll"

// integers reduces two's complement and unsigned integers: any bits, and sums
// and products modulo 2^width, which truncation by the caller gives.
type integers struct{ c Case }

func (a integers) element(rank, i int) uint64 { return a.c.random(rank, i) }

func (a integers) reduced(i int) uint64 {
	acc := a.element(0, i)
	for rank := 1; rank < a.c.NumRanks; rank++ {
		v := a.element(rank, i)
		switch a.c.Op {
		case coll.OpSum:
			acc += v
		case coll.OpProd:
			acc *= v
		case coll.OpMax:
			if a.less(acc, v) {
				acc = v
			}
		case coll.OpMin:
			if a.less(v, acc) {
				acc = v
			}
		}
	}
	return acc
}

// less compares the low bits of x and y as values of the case's type.
func (a integers) less(x, y uint64) bool {
	up := 64 - 8*a.c.Type.Size()
	if a.c.Type.Signed() {
		return int64(x<<up) < int64(y<<up)
	}
	return x<<up < y<<up
}
