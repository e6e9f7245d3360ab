package conformance

import "math/rand/v2"

// candidates is how many random rows each row of a covering array is the best
// of. More make fewer rows and take longer.
const candidates = 24

// pairwise returns rows of one value for each axis, axis a having sizes[a] of
// them, such that any two values of any two axes stand together in some row. The
// same arguments give the same rows.
func pairwise(sizes []int, seed uint64) [][]int {
	rng := rand.New(rand.NewPCG(seed, uint64(len(sizes))))
	open := newPairSet(sizes)
	var rows [][]int
	for open.left > 0 {
		var best []int
		most := 0
		for range candidates {
			row := open.candidate(rng)
			if n := open.count(row); n > most {
				best, most = row, n
			}
		}
		open.remove(best)
		rows = append(rows, best)
	}
	return rows
}

// pairSet is a set of pairs of values of two axes.
type pairSet struct {
	sizes []int
	has   [][][]bool // by a*axes+b with a < b, then value of a, then value of b
	left  int
}

func newPairSet(sizes []int) *pairSet {
	s := &pairSet{sizes: sizes, has: make([][][]bool, len(sizes)*len(sizes))}
	for b := range sizes {
		for a := range b {
			table := make([][]bool, sizes[a])
			for v := range table {
				table[v] = make([]bool, sizes[b])
				for w := range table[v] {
					table[v][w] = true
					s.left++
				}
			}
			s.has[a*len(sizes)+b] = table
		}
	}
	return s
}

// candidate returns a random row around a pair of the set, which is not empty.
// Each further axis, in random order, takes the value that makes most pairs of
// the set with those that have one.
func (s *pairSet) candidate(rng *rand.Rand) []int {
	row := make([]int, len(s.sizes))
	var done []int
	a, b, v, w := s.pick(rng)
	row[a], row[b] = v, w
	done = append(done, a, b)
	for _, axis := range rng.Perm(len(s.sizes)) {
		if axis == a || axis == b {
			continue
		}
		most := -1
		offset := rng.IntN(s.sizes[axis])
		for i := range s.sizes[axis] {
			value := (i + offset) % s.sizes[axis]
			n := 0
			for _, d := range done {
				if s.contains(axis, value, d, row[d]) {
					n++
				}
			}
			if n > most {
				row[axis], most = value, n
			}
		}
		done = append(done, axis)
	}
	return row
}

// pick returns one of the first pairs at or after a random place.
func (s *pairSet) pick(rng *rand.Rand) (a, b, v, w int) {
	n := len(s.sizes)
	for start := rng.IntN(n * n); ; start++ {
		at := start % (n * n)
		for v, row := range s.has[at] {
			for w, has := range row {
				if has {
					return at / n, at % n, v, w
				}
			}
		}
	}
}

func (s *pairSet) contains(a, v, b, w int) bool {
	if a > b {
		a, v, b, w = b, w, a, v
	}
	return s.has[a*len(s.sizes)+b][v][w]
}

// count returns how many pairs of a row are in the set.
func (s *pairSet) count(row []int) (n int) {
	for b := range row {
		for a := range b {
			if s.has[a*len(row)+b][row[a]][row[b]] {
				n++
			}
		}
	}
	return n
}

// remove takes the pairs of a row out of the set.
func (s *pairSet) remove(row []int) {
	for b := range row {
		for a := range b {
			if has := &s.has[a*len(row)+b][row[a]][row[b]]; *has {
				*has = false
				s.left--
			}
		}
	}
}
