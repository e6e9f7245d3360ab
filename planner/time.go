package planner

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
)

// log2 returns the logarithm of n, rounded down; -1 of 0.
func log2(n int64) int { return bits.Len64(uint64(n)) - 1 }

// load is what the time of a call depends on besides its costs.
type load struct {
	bytes      int64
	asFloat    float32 // bytes
	all        bool    // an all-reduce
	lossy      bool    // rings round its elements too often
	size       int     // logarithm of units of 64 bytes, -1: less than one
	ring, rest int     // how often the latency of a ring, and of anything else, counts
}

// load returns that of a call of n bytes, or of ops such operations that follow one
// another on each channel.
func (m *Model) load(c Call, n int64, ops int) load {
	return load{
		bytes: n, asFloat: float32(n), all: c.Func == coll.AllReduce, size: log2(n >> 6),
		lossy: c.Func.Reduces() && (c.Type == coll.F8E4M3 || c.Type == coll.F8E5M2) && m.nranks > exactRingRanks,
		ring:  ops, rest: (ops + batchedOps - 1) / batchedOps,
	}
}

// terms returns what a time is made of: µs, and GB/s of the call's bytes
// (ncclTopoGetAlgoTime, NCCL v2.30 src/graph/tuning.cc).
func (m *Model) terms(l *load, c *cost, a coll.Algo, p coll.Proto) (latency, bw float32) {
	latency, bw = c.latency, c.bw
	if a == coll.Ring {
		if l.all && p == coll.Simple && l.bytes >= m.plateau {
			latency = float32(float64(latency) * m.plateauFactor)
		}
		return float32(latency * float32(l.ring)), bw
	}
	if l.all && l.size >= 0 && (a == coll.Tree && l.size < treeCorrections ||
		a == coll.NVLSTree && l.size < nvlsTreeCorrections && m.correctNVLSTree) {
		bw = float32(bw * treeCorrection[p][l.size])
	}
	return float32(latency * float32(l.rest)), bw
}

// time returns the µs that a call takes.
func (m *Model) time(l *load, c *cost, a coll.Algo, p coll.Proto) float32 {
	if m.nranks == 1 {
		return 0
	}
	latency, bw := m.terms(l, c, a, p)
	t := float32(latency + float32(l.asFloat/float32(1000*bw)))
	if l.lossy && a == coll.Ring {
		t = float32(t * lossyFactor)
	}
	return t
}
