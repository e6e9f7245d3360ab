package check

import "github.com/ncclgo/ncclgo/coll"

// arithmetic computes with single elements of one type, given and returned as
// bits in the low bytes, by the rules of docs/ARITHMETIC.md. Where the operands of
// a commutative operation matter (f64 NaN) the second is this rank's own.
type arithmetic interface {
	add(received, own uint64) uint64
	mul(received, own uint64) uint64
	min(received, own uint64) uint64
	max(received, own uint64) uint64
	// reciprocal returns 1/n, rounded. Integers have none.
	reciprocal(n int) uint64
	// divide returns z/n, toward zero. Only integers are divided.
	divide(z uint64, n int) uint64
}

// arithmeticOf returns the arithmetic of t.
func arithmeticOf(t coll.DataType) arithmetic {
	switch f, isFloat := formats[t]; {
	case !isFloat:
		return integers{width: 8 * t.Size(), signed: t.Signed()}
	case t == coll.Float64:
		return doubles{f}
	default:
		return newNarrow(f)
	}
}

// Reduction is an operator on elements of a type, among ranks.
type Reduction struct {
	Type     coll.DataType
	Op       coll.UserOp
	NumRanks int
	// Scalars holds the bits of each rank's scalar in the low bytes; of mulsum
	// only.
	Scalars []uint64
}

// steps returns what happens to an element: pre to each rank's input, combine to
// two contributions, post to the complete result. A nil pre or post changes
// nothing.
func (r Reduction) steps() (pre func(rank int, x uint64) uint64, combine func(received, own uint64) uint64, post func(z uint64) uint64) {
	a := arithmeticOf(r.Type)
	switch r.Op {
	case coll.OpProd:
		return nil, a.mul, nil
	case coll.OpMax:
		return nil, a.max, nil
	case coll.OpMin:
		return nil, a.min, nil
	case coll.OpMulSum:
		return func(rank int, x uint64) uint64 { return a.mul(x, r.Scalars[rank]) }, a.add, nil
	case coll.OpAvg:
		if !r.Type.Float() {
			return nil, a.add, func(z uint64) uint64 { return a.divide(z, r.NumRanks) }
		}
		share := a.reciprocal(r.NumRanks)
		return func(_ int, x uint64) uint64 { return a.mul(x, share) }, a.add, nil
	default:
		return nil, a.add, nil
	}
}

// Fold reduces inputs, which are by rank and as long as dst, in the order given: the
// first two ranks of order are combined, then the third with what came out, and
// so on. Every partial result is rounded to the type. It writes the results to
// dst, little-endian as GPUs are, and changes no input.
func (r Reduction) Fold(dst []byte, inputs [][]byte, order []int) {
	pre, combine, post := r.steps()
	size := r.Type.Size()
	for at := 0; at < len(dst); at += size {
		acc := load(inputs[order[0]][at:], size)
		if pre != nil {
			acc = pre(order[0], acc)
		}
		for _, rank := range order[1:] {
			x := load(inputs[rank][at:], size)
			if pre != nil {
				x = pre(rank, x)
			}
			acc = combine(acc, x)
		}
		if post != nil {
			acc = post(acc)
		}
		store(dst[at:], size, acc)
	}
}
