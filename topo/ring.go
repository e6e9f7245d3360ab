package topo

import (
	"cmp"
	"math"
	"slices"
)

// ringSteps is how many hops a ring search tries before it settles for the
// best ring so far. All rings of 8 GPUs are tried well within it.
const ringSteps = 1 << 18

// moreRingSteps is that for each further ring.
const moreRingSteps = 1 << 14

// ring is a ring and what it is worth.
type ring struct {
	ranks []int
	hop   PathType // worst hop
	bw    float32  // GB/s it carries
}

// atLeast reports whether r is as good as a ring of that worst hop and
// bandwidth, or better: the hop counts first.
func (r *ring) atLeast(hop PathType, bw float32) bool {
	return cmp.Or(cmp.Compare(r.hop, hop), cmp.Compare(bw, r.bw)) <= 0
}

// ringSearch is a depth-first search with the bounds of what was found.
type ringSearch struct {
	*System
	near  [][]int   // [rank]: the other ranks, nearest first
	free  []float32 // [link]: GB/s that no channel has
	used  []bool    // [rank]
	order []int     // ranks of the ring so far
	load  []int     // [link]: hops of the ring so far that go over it
	steps int       // left
	best  ring
	// enough is a ring with which the search ends.
	enough ring
}

func newRingSearch(s *System) *ringSearch {
	n := s.NRanks()
	r := &ringSearch{
		System: s,
		near:   make([][]int, n),
		free:   make([]float32, s.numLinks),
		used:   make([]bool, n),
		order:  []int{0},
		load:   make([]int, s.numLinks),
	}
	r.used[0] = true
	for _, nodes := range s.Nodes {
		for _, node := range nodes {
			for _, l := range node.Links {
				r.free[l.seq] = l.BW
			}
		}
	}
	for rank := range n {
		for i := 1; i < n; i++ {
			r.near[rank] = append(r.near[rank], (rank+i)%n)
		}
		slices.SortStableFunc(r.near[rank], func(a, b int) int {
			pa, pb := s.Path(rank, a), s.Path(rank, b)
			return cmp.Or(cmp.Compare(pa.Type, pb.Type), cmp.Compare(pb.BW, pa.BW))
		})
	}
	return r
}

// first returns the best ring.
func (r *ringSearch) first() ring {
	r.best, r.enough, r.steps = ring{hop: PathDIS}, ring{hop: PathLOC, bw: bwLOC}, ringSteps
	n := r.NRanks()
	// Each rank has two neighbours, so its second best path bounds the worst hop
	// of any ring; with two ranks both are the same.
	for rank := range n {
		if n > 1 {
			second := r.near[rank][min(1, n-2)]
			r.enough.hop = max(r.enough.hop, r.Path(rank, second).Type)
		}
	}
	// With that worst hop no ring carries more than a rank's best path.
	for rank := range n {
		most := float32(0)
		for _, to := range r.near[rank] {
			if p := r.Path(rank, to); p.Type <= r.enough.hop {
				most = max(most, p.BW)
			}
		}
		if n > 1 {
			r.enough.bw = min(r.enough.bw, most)
		}
	}
	r.extend(0, PathLOC, bwLOC)
	return r.best
}

// another returns a ring with no worse hop than hop that carries bw of what is
// free, nil if none is found.
func (r *ringSearch) another(hop PathType, bw float32) []int {
	r.best = ring{hop: hop, bw: math.Nextafter32(bw, 0)}
	r.enough, r.steps = ring{hop: hop, bw: bw}, moreRingSteps
	r.extend(0, PathLOC, bwLOC)
	return r.best.ranks
}

// hops calls f with the path of each hop of a ring.
func (r *ringSearch) hops(ranks []int, f func(*Path)) {
	if len(ranks) < 2 {
		return
	}
	for i, from := range ranks {
		f(r.Path(from, ranks[(i+1)%len(ranks)]))
	}
}

// carries returns what a ring carries of what is free.
func (r *ringSearch) carries(ranks []int) float32 {
	bw := bwLOC
	r.hops(ranks, func(p *Path) { bw = min(bw, r.add(p, 1)) })
	r.hops(ranks, func(p *Path) { r.add(p, -1) })
	return bw
}

// reserve takes bandwidth for a channel. What is left is rounded to 1/1000, half
// away from zero, as in NCCL (SUB_ROUND, NCCL v2.30 src/graph/search.cc).
func (r *ringSearch) reserve(ranks []int, bw float32) {
	r.hops(ranks, func(p *Path) {
		for _, l := range p.Links {
			left := float32(float32(r.free[l.seq]-bw) * 1000)
			r.free[l.seq] = float32(math.Round(float64(left))) / 1000
		}
	})
}

// extend tries all ways to complete the ring, whose last rank is last, worst
// hop so far hop, bandwidth so far bw.
func (r *ringSearch) extend(last int, hop PathType, bw float32) {
	if len(r.order) == r.NRanks() {
		if r.NRanks() > 1 {
			p := r.Path(last, 0)
			hop, bw = max(hop, p.Type), min(bw, r.add(p, 1))
			defer r.add(p, -1)
		}
		if !r.best.atLeast(hop, bw) {
			r.best = ring{slices.Clone(r.order), hop, bw}
		}
		return
	}
	for _, next := range r.near[last] {
		if r.used[next] {
			continue
		}
		// Without any ring yet, and none required to be as good as something,
		// the search goes on.
		if r.steps--; r.steps < 0 && r.best.hop < PathDIS {
			return
		}
		p := r.Path(last, next)
		if h, b := max(hop, p.Type), min(bw, r.add(p, 1)); !r.best.atLeast(h, b) {
			r.used[next] = true
			r.order = append(r.order, next)
			r.extend(next, h, b)
			r.order = r.order[:len(r.order)-1]
			r.used[next] = false
		}
		r.add(p, -1)
		if r.best.atLeast(r.enough.hop, r.enough.bw) {
			return
		}
	}
}

// add changes the load of each link of a path and returns the least bandwidth
// that any of them leaves for one hop.
func (r *ringSearch) add(p *Path, hops int) float32 {
	least := bwLOC
	for _, l := range p.Links {
		r.load[l.seq] += hops
		if n := r.load[l.seq]; n > 0 {
			least = min(least, r.free[l.seq]/float32(n))
		}
	}
	return least
}
