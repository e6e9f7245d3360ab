package topo

import "math"

// ledger is what no channel has yet of each link, GB/s. What is left is
// rounded, so taking and giving back may leave a link with another thousandth
// than it had: a ledger is carried from one search to the next, as NCCL does,
// whose results depend on it.
type ledger struct {
	free []float32 // [link]
}

func newLedger(s *System) ledger {
	l := ledger{free: make([]float32, s.numLinks)}
	for _, nodes := range s.Nodes {
		for _, n := range nodes {
			for i := range n.Links {
				l.free[n.Links[i].seq] = n.Links[i].BW
			}
		}
	}
	return l
}

// less returns a-b in thousandths, rounded half away from zero, each operation
// in float32 (SUB_ROUND, NCCL v2.30 src/graph/search.cc).
func less(a, b float32) float32 {
	thousandths := float32(float32(a-b) * 1000)
	if thousandths >= 0 && thousandths < 1<<31 {
		// float64 holds the sum exactly, so cutting it off rounds.
		return float32(int64(float64(thousandths)+0.5)) / 1000
	}
	return float32(math.Round(float64(thousandths))) / 1000
}

// take takes bw from the links of the first n steps of r, or gives it back
// where bw is negative. It stops before the first step that has not enough and
// returns how many it has taken from.
func (l *ledger) take(r *route, n int, bw float32) int {
	if r.plain {
		for i := range r.steps[:n] {
			free := &l.free[r.steps[i].link]
			if *free < bw {
				return i
			}
			*free = less(*free, bw)
		}
		return n
	}
	pci := bw
	if r.viaIntel {
		// 64-byte packets carry a sixth less (INTEL_P2P_OVERHEAD, NCCL v2.30
		// src/graph/topo.h).
		pci = float32(bw*6) / 5
	}
	for i := range r.steps[:n] {
		st := &r.steps[i]
		there, back := bw, float32(0)
		if st.pci {
			there = pci
		}
		if st.eighth {
			back += float32(there / 8)
		}
		if st.full {
			back += there
		}
		if l.free[st.link] < there || back != 0 && l.free[st.back] < back {
			return i
		}
		l.free[st.link] = less(l.free[st.link], there)
		if back != 0 {
			l.free[st.back] = less(l.free[st.back], back)
		}
	}
	return n
}
