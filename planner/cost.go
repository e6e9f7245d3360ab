package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// The constants of the cost model (ncclTunerConstantsDefaults, NCCL v2.30
// src/graph/tuning.cc). Latencies are µs, bandwidths GB/s.

// protoTable is a value for each protocol: LL, LL128, Simple.
type protoTable [coll.NumProtos]float32

// ringBaseLatency is what a ring costs before its first hop (baseLatencies).
var ringBaseLatency = protoTable{6.6, 14, 8.4}

// Latencies of a hop of a ring, over NVLink and over PCIe (hwLatencies).
var (
	ringHopNVLink = protoTable{0.6, 1.9, 3.4}
	ringHopPCI    = protoTable{1.0, 2.5, 5.7}
)

// Latencies of a hop of a tree with Simple, which NCCL also takes for rooted
// rings whose channels differ (hwLatencies).
const (
	treeHopSimpleNVLink float32 = 4.0
	treeHopSimplePCI    float32 = 4.0
)

// generation is the kind of GPU that the tables below distinguish.
type generation uint8

const (
	volta generation = iota
	ampere
	hopper
	blackwell
)

func generationOf(sm int) generation {
	switch {
	case sm >= 100:
		return blackwell
	case sm >= 90:
		return hopper
	case sm >= 80:
		return ampere
	default:
		return volta
	}
}

// llMaxBW is the most that all channels together carry with LL inside one node
// (llMaxBws, column N1).
var llMaxBW = [...]float64{volta: 39, ampere: 87.7, hopper: 141, blackwell: 2 * 141}

// ringLL128MaxBW is the most that a channel carries with LL128 in a ring
// inside one node (perChMaxRingLL128Bws, column N1).
var ringLL128MaxBW = [...]float64{volta: 20, ampere: 20, hopper: 36.7, blackwell: 40}

// slowRingBW: rings that carry no more than a PCIe Gen3 x16 link are driven
// with half the threads (PCI_BW, NCCL v2.30 src/graph/topo.h).
const slowRingBW = 12

// Bytes for each thread below which fewer channels, then fewer threads, take
// part (NCCL_*_THREAD_THRESHOLD, NCCL v2.30 src/include/comm.h). A ring's LL
// threshold is for each rank.
const (
	thresholdLL     = 8
	thresholdLL128  = 8
	thresholdSimple = 64
)

// Most threads of a CTA (NCCL_LL_MAX_NTHREADS and so on, NCCL v2.30
// src/include/device.h).
var maxThreads = [coll.NumProtos]int{coll.LL: 512, coll.LL128: 640, coll.Simple: 512}

// slowThreads is the most threads of Simple in rings as slow as PCIe.
const slowThreads = 256

// cost is the model of one function with one algorithm and protocol: time is
// latency plus bytes over bandwidth.
type cost struct {
	latency float32 // µs
	bw      float32 // GB/s of the call's bytes; 0: there is no model
	// unsafe, if not empty, is why the protocol must not be used.
	unsafe string
}

// time returns the µs that n bytes take (ncclTopoGetAlgoTime).
func (c *cost) time(n int64) float32 {
	return float32(c.latency + float32(float32(n)/float32(1000*c.bw)))
}

// ringSteps is how many hops one element makes: NCCL's nsteps.
func ringSteps(f coll.Func, nranks int) int {
	switch f {
	case coll.AllReduce:
		return 2 * (nranks - 1)
	case coll.AllGather, coll.AllGatherV, coll.ReduceScatter:
		return nranks - 1
	default:
		return nranks
	}
}

// ringCost returns the model of a function over the rings of one node
// (ncclTopoTuneModel).
func ringCost(f coll.Func, p coll.Proto, g *topo.Graph) cost {
	c := cost{latency: ringBaseLatency[p], unsafe: Unsafe(p, g)}
	gen := generationOf(g.MinSM)
	steps := ringSteps(f, g.NRanks)
	bus := float32(float32(len(g.Channels)) * g.BWIntra)
	switch p {
	case coll.LL:
		// Half of each word is flag.
		bus = float32(min(llMaxBW[gen], float64(float64(bus)*.5)))
	case coll.LL128:
		// 120 of 128 bytes are data, less what NCCL measured.
		bus = float32(min(float64(float64(bus)*.92), float64(float64(len(g.Channels))*ringLL128MaxBW[gen])))
	}
	if steps == 0 {
		// One rank: nothing moves over a link.
		c.bw = bus
		return c
	}
	c.bw = float32(bus * float32(float64(g.NRanks)/float64(steps)))

	hop, treeHop := ringHopPCI[p], treeHopSimplePCI
	if g.TypeIntra == topo.PathNVL {
		hop, treeHop = ringHopNVLink[p], treeHopSimpleNVLink
	}
	switch {
	case !f.Rooted():
		c.latency += float32(float32(steps) * hop)
	case g.SameChannels:
		c.latency += hop
	default:
		if p == coll.Simple {
			hop = treeHop
		}
		c.latency += float32(float32(steps) * hop)
	}
	return c
}

// Unsafe returns why a protocol must not be used over a ring, in a clause that
// continues its name; "" if it may. Links other than NVLink may tear the 128-byte
// lines of LL128. The cases are those in which NCCL does not use it unless
// NCCL_PROTO names it (ncclTopoTuneModel).
func Unsafe(p coll.Proto, ring *topo.Graph) string {
	switch {
	case p != coll.LL128:
		return ""
	case ring.TypeIntra > topo.PathNVB:
		return "needs NVLink between neighbours, the ring has " + ring.TypeIntra.String()
	case ring.MinSM < 70:
		return "needs sm_70"
	case ring.MinSM != ring.MaxSM && ring.MinSM < 90:
		return "needs sm_90 between different GPUs"
	}
	return ""
}
