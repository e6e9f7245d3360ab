package check

import "github.com/ncclgo/ncclgo/coll"

// exactSums adds floating-point numbers that are small integers times a power
// of two shared by all ranks: the sum of any subset of the ranks' elements has
// at most precision bits, so every partial sum is exact whatever the order and
// whatever wider type it is computed in.
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
	a := exactSums{c, f, budget / int64(c.NumRanks), c.NumRanks}
	if a.limit == 0 {
		a.limit, a.takers = 1, int(budget)
	}
	return a
}

func (a exactSums) element(rank, i int) uint64 {
	return a.f.encode(a.integer(rank, i), a.scale(i))
}

func (a exactSums) reduced(i int) uint64 {
	var sum int64
	for rank := range a.c.NumRanks {
		sum += a.integer(rank, i)
	}
	return a.f.encode(sum, a.scale(i))
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

// exactProducts multiplies powers of two of either sign; in each element one
// rank has a full random significand. So every partial product is exact.
type exactProducts struct {
	c Case
	f format
}

func (a exactProducts) element(rank, i int) uint64 {
	significand, exponent := a.factor(rank, i)
	return a.f.encode(significand, exponent)
}

func (a exactProducts) reduced(i int) uint64 {
	product, exponent := int64(1), 0
	for rank := range a.c.NumRanks {
		s, e := a.factor(rank, i)
		product *= s
		exponent += e
	}
	return a.f.encode(product, exponent)
}

// factor returns rank's element as an integer and the exponent of its unit.
func (a exactProducts) factor(rank, i int) (significand int64, exponent int) {
	r := a.c.random(rank, i)
	significand = 1
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
	return significand, exponent
}

// extremes takes the minimum or maximum of finite floating-point numbers.
type extremes struct {
	c Case
	f format
}

func (a extremes) element(rank, i int) uint64 { return a.f.finite(a.c.random(rank, i)) }

func (a extremes) reduced(i int) uint64 {
	best := a.element(0, i)
	for rank := 1; rank < a.c.NumRanks; rank++ {
		v := a.element(rank, i)
		if a.c.Op == coll.OpMax && a.f.order(v) > a.f.order(best) ||
			a.c.Op == coll.OpMin && a.f.order(v) < a.f.order(best) {
			best = v
		}
	}
	return best
}
