package topo

import "cmp"

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

// rank appends the GPUs that may follow one at a position of the channel to
// w.scores, best first. It reports whether they are to be tried in reverse:
// where all are alike to the GPU before, and the channel goes to the network
// later, the nearest to it are kept for later.
func (w *walker) rank(gpu, position int, t turns) (reverse bool) {
	begin := len(w.scores)
	var toNet []route
	if t.net != none {
		port := int(w.g.inter[w.g.n*2])
		toNet = w.netGPU[port*w.gpus : (port+1)*w.gpus]
	}
	bit := uint64(1) << w.g.n
	for i := 1; i < w.gpus; i++ {
		to := gpu + i
		if to >= w.gpus {
			to -= w.gpus
		}
		r := &w.gpuGPU[gpu*w.gpus+to]
		if len(r.steps) == 0 || w.used[to]&bit != 0 {
			continue
		}
		s := score{gpu: int32(to), distance: int32(i), hops: int32(len(r.steps)), intraBW: int32(r.bw)}
		if toNet != nil {
			s.netHops, s.netBW, s.pciBW = int32(len(toNet[to].steps)), int32(toNet[to].bw), w.pciBW(to)
		}
		w.scores = append(w.scores, s)
	}
	list := w.scores[begin:]
	alike := true
	for i := range list {
		if list[i].intraBW != list[0].intraBW || list[i].hops != list[0].hops {
			alike = false
		}
		for j := i; j > 0 && compareScores(&list[j], &list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return alike && t.net != none && t.net != position+1
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
		if to != none && (to == gpu || len(w.gpuGPU[gpu*w.gpus+to].steps) == 0 || w.used[to]&bit != 0) {
			try[i] = none
		}
	}
	return try
}
