package devicetest

import (
	"hash/fnv"
	"math/rand/v2"
)

// operands generates the operands of n threads: all corners against all corners
// where that fills no more than half of them, then mixtures of corners, random
// values and values next to the operand before. They depend on the row's name
// alone.
func (r *row) operands(n int) []thread {
	h := fnv.New64a()
	h.Write([]byte(r.name))
	rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
	product := r.cornerProduct(n / 2)
	g := make([]thread, n)
	next := 0 // combination of corners
	for i := range g {
		a := make([]uint64, len(r.in))
		rest := next
		for j, k := range r.in {
			switch {
			case next < product:
				a[j] = k.corners[rest%len(k.corners)]
				rest /= len(k.corners)
			case j > 0 && k == r.in[j-1] && rnd.IntN(10) == 0:
				a[j] = k.near(a[j-1], rnd)
			case rnd.IntN(3) == 0:
				a[j] = k.corners[rnd.IntN(len(k.corners))]
			default:
				a[j] = k.random(rnd)
			}
			if k.bits == 8 {
				// Garbage above the value: instructions must not see it.
				a[j] |= rnd.Uint64N(256) << 8
			}
		}
		if r.inputs != nil {
			r.inputs(i, a)
		}
		g[i] = thread{a: a, d: make([]uint64, len(r.out))}
		if !r.thinned() || !left(i) {
			next++
		}
	}
	return g
}

// cornerProduct is how many combinations of corners there are, or 0 if more
// than limit.
func (r *row) cornerProduct(limit int) int {
	product := 1
	for _, k := range r.in {
		if product *= len(k.corners); product > limit {
			return 0
		}
	}
	return product
}

// size is the number of threads that run a row.
func (r *row) size(short bool) int {
	n := rowThreads
	switch {
	case r.threads != 0:
		n = r.threads
	case r.group == wholeGrid:
		n = gridThreads
	}
	if short && r.group != wholeGrid {
		n = min(n, shortThreads)
	}
	return n
}
