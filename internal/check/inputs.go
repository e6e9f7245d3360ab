package check

import "github.com/ncclgo/ncclgo/coll"

// maker makes the inputs of a case: the bits of rank's element i, such that every
// order of reducing them gives the same bits.
type maker func(rank, i int) uint64

func (c Case) maker() maker {
	f, isFloat := formats[c.Type]
	switch {
	case !isFloat:
		return c.random
	case c.Op == coll.OpSum, c.Op == coll.OpMulSum:
		return newExactSums(c, f).element
	case c.Op == coll.OpProd:
		return exactProducts{c, f}.element
	case c.Op == coll.OpAvg:
		return pairs{c, f}.element
	default:
		return func(rank, i int) uint64 { return f.finite(c.random(rank, i)) }
	}
}

// exactSums makes numbers that are small integers times a power of two shared by
// all ranks: the sum of any subset of the ranks' elements, each times its rank's
// factor, has at most precision bits, so every product and every partial sum is
// exact whatever the order and whatever wider type it is computed in.
type exactSums struct {
	c Case
	f format
	// limit bounds the integers' magnitude.
	limit int64
	// takers is how many ranks have an integer other than 0: all of them unless
	// there are more ranks than the type can count.
	takers int
}

func newExactSums(c Case, f format) exactSums {
	budget := int64(1) << f.precision()
	var total, largest int64
	for rank := range c.NumRanks {
		total += c.factor(rank)
		largest = max(largest, c.factor(rank))
	}
	a := exactSums{c, f, budget / total, c.NumRanks}
	if a.limit == 0 {
		a.limit, a.takers = 1, int(budget/largest)
	}
	return a
}

func (a exactSums) element(rank, i int) uint64 {
	return a.f.encode(a.integer(rank, i), a.scale(i))
}

func (a exactSums) integer(rank, i int) int64 {
	if a.takers < a.c.NumRanks && (rank+i)%a.c.NumRanks >= a.takers {
		return 0
	}
	return int64(a.c.random(rank, i)%uint64(2*a.limit+1)) - a.limit
}

// scale is from -4 to 4: with that, 2^precision is finite and the last bit is
// representable in every format.
func (a exactSums) scale(i int) int { return int(a.c.random(everyRank, i)%9) - 4 }

// exactProducts makes powers of two of either sign; in each element one rank has a
// full random significand. So every partial product is exact.
type exactProducts struct {
	c Case
	f format
}

func (a exactProducts) element(rank, i int) uint64 {
	r := a.c.random(rank, i)
	significand, exponent := int64(1), 0
	// Beyond this many ranks the product could leave the normal numbers.
	if room := -a.f.minExponent() - 1; (rank+i)%a.c.NumRanks < room {
		exponent = int(r>>8%3) - 1
	}
	if rank == int(a.c.random(everyRank, i)%uint64(a.c.NumRanks)) {
		significand = 1<<a.f.fractionBits | int64(r>>12)&(1<<a.f.fractionBits-1)
		exponent -= a.f.fractionBits
	}
	if r&1 != 0 {
		significand = -significand
	}
	return a.f.encode(significand, exponent)
}

// pairs makes full random significands for two ranks of each element, which two
// differs between elements, and +0 for the rest. An average rounds each product and the one sum of
// two numbers; adding zeros rounds nothing, so the order is all the same.
type pairs struct {
	c Case
	f format
}

func (a pairs) element(rank, i int) uint64 {
	n := uint64(a.c.NumRanks)
	shared := a.c.random(everyRank, i)
	first := shared % n
	// From 1 to n-1 ranks after the first; itself if it is alone.
	second := (first + 1 + shared>>32%max(1, n-1)) % n
	if r := uint64(rank); r != first && r != second {
		return 0
	}
	r := a.c.random(rank, i)
	significand := int64(1)<<a.f.fractionBits | int64(r>>12)&(1<<a.f.fractionBits-1)
	if r&1 != 0 {
		significand = -significand
	}
	return a.f.encode(significand, int(r>>1%9)-4-a.f.fractionBits)
}
