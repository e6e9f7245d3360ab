package planner

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
)

// log2 returns the logarithm of n, rounded down; -1 of 0.
func log2(n int64) int { return bits.Len64(uint64(n)) - 1 }

// terms returns what the time of n bytes is made of, of ops operations that follow one
// another on each channel: µs, and GB/s (ncclTopoGetAlgoTime, NCCL v2.30
// src/graph/tuning.cc).
func (m *Model) terms(f coll.Func, a coll.Algo, p coll.Proto, n int64, ops int) (latency, bw float32) {
	c := &m.costs[f][a][p]
	latency, bw = c.latency, c.bw
	if f == coll.AllReduce {
		size := log2(n >> 6)
		switch {
		case size < 0:
		case a == coll.Tree && size < treeCorrections,
			a == coll.NVLSTree && size < nvlsTreeCorrections && m.correctNVLSTree:
			bw = float32(bw * treeCorrection[p][size])
		}
		if a == coll.Ring && p == coll.Simple && n >= m.plateau {
			latency = float32(float64(latency) * m.plateauFactor)
		}
	}
	if a != coll.Ring {
		ops = (ops + batchedOps - 1) / batchedOps
	}
	return float32(latency * float32(ops)), bw
}

// time returns the µs that n bytes take, of ops operations that follow one another.
func (m *Model) time(f coll.Func, a coll.Algo, p coll.Proto, n int64, ops int) float32 {
	if m.nranks == 1 {
		return 0
	}
	latency, bw := m.terms(f, a, p, n, ops)
	return float32(latency + float32(float32(n)/float32(1000*bw)))
}
