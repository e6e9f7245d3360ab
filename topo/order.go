package topo

import (
	"cmp"
	"slices"
)

// score is how well a GPU may follow another. NCCL cuts bandwidths to whole
// GB/s.
type score struct {
	gpu            int32
	distance       int32 // in the order of the system
	intraBW, hops  int32
	netBW, netHops int32
	pciBW          int32
}

// compareScores puts the best first: by what a GPU has to the network, then to
// the GPU before (cmpScore, NCCL v2.30 src/graph/search.cc).
func compareScores(a, b *score) int {
	switch {
	case a.netBW != b.netBW:
		return cmp.Compare(b.netBW, a.netBW)
	case a.pciBW != b.pciBW:
		return cmp.Compare(b.pciBW, a.pciBW)
	case a.netHops != b.netHops:
		return cmp.Compare(a.netHops, b.netHops)
	case a.intraBW != b.intraBW:
		return cmp.Compare(b.intraBW, a.intraBW)
	case a.hops != b.hops:
		return cmp.Compare(a.hops, b.hops)
	default:
		return cmp.Compare(a.distance, b.distance)
	}
}

// orders are the GPUs that may follow each GPU, best first, as far as that does
// not depend on what is taken of links.
type orders struct {
	// alone[gpu] is where only the way between GPUs counts.
	alone [][]score
	// toNet[port][gpu] is where a channel that came in by a port goes back to the
	// network; nil until asked for.
	toNet [][][]score
}

// followers returns the GPUs that may follow one, best first, if the channel
// came in by port and goes back to the network, or if port is none.
func (t *terrain) followers(gpu, port int) []score {
	if port == none {
		if t.orders.alone == nil {
			t.orders.alone = make([][]score, t.gpus)
		}
		if t.orders.alone[gpu] == nil {
			t.orders.alone[gpu] = t.rank(gpu, nil)
		}
		return t.orders.alone[gpu]
	}
	if t.orders.toNet == nil {
		t.orders.toNet = make([][][]score, t.nets)
	}
	if t.orders.toNet[port] == nil {
		t.orders.toNet[port] = make([][]score, t.gpus)
	}
	order := &t.orders.toNet[port][gpu]
	if *order == nil {
		*order = t.rank(gpu, t.netGPU[port*t.gpus:(port+1)*t.gpus])
	}
	return *order
}

// rank returns the GPUs to which there is a way from one, best first. toNet, if
// not nil, are the ways from the port to each.
func (t *terrain) rank(gpu int, toNet []route) []score {
	list := make([]score, 0, t.gpus)
	for i := 1; i < t.gpus; i++ {
		to := (gpu + i) % t.gpus
		r := &t.gpuGPU[gpu*t.gpus+to]
		if r.links == 0 {
			continue
		}
		s := score{gpu: int32(to), distance: int32(i), hops: int32(r.links), intraBW: int32(r.bw)}
		if toNet != nil {
			s.netHops, s.netBW = int32(toNet[to].links), int32(toNet[to].bw)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b score) int { return compareScores(&a, &b) })
	return list
}

// pushNext appends the GPUs that may follow one, in a channel that came in by
// port and goes back to the network, to w.scores, best first. It reports whether
// all are alike to the GPU before.
func (w *walker) pushNext(gpu, port int) (alike bool) {
	begin := len(w.scores)
	bit := uint64(1) << w.g.n
	order := w.followers(gpu, port)
	alike = true
	for i := range order {
		s := &order[i]
		if w.used[s.gpu]&bit != 0 {
			continue
		}
		w.scores = append(w.scores, *s)
		list := w.scores[begin:]
		j := len(list) - 1
		list[j].pciBW = w.pciBW(int(s.gpu))
		alike = alike && list[j].intraBW == list[0].intraBW && list[j].hops == list[0].hops
		// Mostly in order: what is taken of PCI links seldom differs.
		for ; j > 0 && compareScores(&list[j], &list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return alike
}

// pciBW returns what is left of the PCI link of a GPU, -1 if it has none.
func (w *walker) pciBW(gpu int) int32 {
	l := w.pciLinks[gpu]
	if l[0] < 0 {
		return none
	}
	return int32(min(w.ledger.free[l[0]], w.ledger.free[l[1]]))
}

// neighbours returns the GPUs that may follow one below NVSwitches, which like
// traffic between few: those beside it, in the order to try.
func (w *walker) neighbours(gpu int) [2]int {
	after, before := (gpu+1)%w.gpus, (gpu+w.gpus-1)%w.gpus
	try := [2]int{after, none}
	switch w.g.pattern {
	case PatternRing:
		try = [2]int{before, after}
	case PatternSplitTree, PatternBalancedTree:
		try = [2]int{after, before}
	}
	if try[0] == try[1] {
		try[1] = none
	}
	bit := uint64(1) << w.g.n
	for i, to := range try {
		if to != none && (to == gpu || w.gpuGPU[gpu*w.gpus+to].links == 0 || w.used[to]&bit != 0) {
			try[i] = none
		}
	}
	return try
}
