package planner

import (
	"fmt"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// cost is the model of one function with one algorithm and protocol: time is
// latency plus bytes over bandwidth.
type cost struct {
	latency float32 // µs
	bw      float32 // GB/s of the call's bytes
	out     string  // why it is not available; "" if it is
	barrier barrier // of out
}

// tuner makes the costs of a communicator (ncclTopoTuneModel, NCCL v2.30
// src/graph/tuning.cc). Every product has an explicit conversion, and is float32
// or float64 as NCCL's is.
type tuner struct {
	*Facts
	*Settings
	gen   generation
	llMax float64
	// treeLL128Max and so on are of a channel.
	ringLL128Max, treeLL128Max, treeMax, nvlsTreeMax float64

	perNode  float32 // ranks of a node, on average
	peers    int     // other ranks of a node, on average, rounded down
	logNodes int     // logarithm of the number of nodes
	hops     [numLinks]algoTable
}

func newTuner(f *Facts, s *Settings) *tuner {
	gen := generationOf(f.MinSM)
	span := min(f.NNodes, numSpans) - 1
	t := &tuner{
		Facts: f, Settings: s, gen: gen,
		ringLL128Max: ringLL128MaxBW[gen][span], treeLL128Max: treeLL128MaxBW[gen][span],
		treeMax: treeMaxBW[gen][span], nvlsTreeMax: nvlsTreeMaxBW[gen][span],
		perNode: float32(f.NRanks) / float32(f.NNodes), peers: f.NRanks/f.NNodes - 1, logNodes: log2(int64(f.NNodes)),
		hops: hopLatency,
	}
	row := gen
	if f.NNodes > 1 {
		// What limits is the network, and so the CPU.
		row = 0
		if v := f.Hardware.Vendor; v == topo.VendorAMD || v == topo.VendorMixed {
			row = 1
		}
	}
	t.llMax = llMaxBW[row][span]
	if f.Hardware.Arch == topo.ArchPOWER {
		// Trees are preferred to rings there.
		t.hops[linkPCI][coll.Tree][coll.Simple] = t.hops[linkPCI][coll.Ring][coll.Simple]
	}
	return t
}

// cost returns the model of a function with an algorithm and a protocol.
func (t *tuner) cost(f coll.Func, a coll.Algo, p coll.Proto) cost {
	if t.NRanks == 1 {
		return oneRank(a)
	}
	if !hasAlgo(f, a) {
		return cost{out: fmt.Sprintf("not defined for %s", f), barrier: nature}
	}
	if a >= coll.Algo(coll.NumNCCLAlgos) {
		return t.direct(f, a, p)
	}
	simple := a != coll.Ring && a != coll.Tree
	// NCCL gives latencies to CollNet whatever the protocol, to others not.
	if simple && p != coll.Simple && a != coll.CollNetDirect && a != coll.CollNetChain {
		return cost{out: fmt.Sprintf("%s has Simple only", a), barrier: nature}
	}
	if out, why := t.absent(a); out != "" {
		return cost{out: out, barrier: why}
	}
	c := cost{latency: t.latency(f, a, p), bw: t.bandwidth(f, a, p)}
	if simple && p != coll.Simple {
		c.out, c.barrier = fmt.Sprintf("%s has Simple only", a), nature
	} else {
		c.out, c.barrier = t.excluded(f, a), machine
	}
	switch {
	case c.out != "":
		c.bw = 0
	case !(c.bw > 0):
		c.bw, c.out = 0, "carries nothing on these GPUs and links"
	default:
		c.out = t.crowded(f, a)
	}
	if c.out == "" {
		c.barrier = open
	}
	return c
}

// oneRank is the model of an only rank: nothing moves, whatever the protocol.
func oneRank(a coll.Algo) cost {
	if a != coll.Ring {
		return cost{out: "one rank has nothing to send", barrier: nature}
	}
	return cost{}
}

// hasAlgo reports whether a function runs with an algorithm.
func hasAlgo(f coll.Func, a coll.Algo) bool {
	switch a {
	case coll.Ring, coll.OneShot:
		return true
	case coll.TwoShot:
		return f == coll.AllReduce
	}
	switch f {
	case coll.AllReduce:
		return a != coll.PAT
	case coll.AllGather, coll.ReduceScatter:
		return a == coll.CollNetDirect || a == coll.NVLS || a == coll.PAT
	default:
		return false
	}
}

// absent returns why an algorithm has no model, not even a latency.
func (t *tuner) absent(a coll.Algo) (string, barrier) {
	switch a {
	case coll.NVLS, coll.NVLSTree:
		switch n := t.Graphs[topo.GraphNVLS].Channels; {
		case t.NoNVLS && t.MinSM >= 90 && t.Hardware.NVSwitch:
			return "disabled by NCCL_NVLS_ENABLE", setting
		case t.NoNVLS || n == 0:
			return "needs multicast", machine
		case n < 2:
			return "needs two channels of NVLS", machine
		}
	case coll.PAT:
		switch {
		case t.MinSM < 60:
			return "needs sm_60", machine
		case t.PAT == PATOff:
			return "disabled by NCCL_PAT_ENABLE", setting
		case t.PAT == PATAuto && t.NNodes != t.NRanks:
			return "needs one rank a node, or NCCL_PAT_ENABLE=1", setting
		}
	}
	return "", open
}

// excluded returns why a function must not run with an algorithm although it has a
// latency.
func (t *tuner) excluded(f coll.Func, a coll.Algo) string {
	gathers := f == coll.AllGather || f == coll.ReduceScatter
	collNet := a == coll.CollNetDirect || a == coll.CollNetChain || a == coll.NVLS && t.NNodes > 1
	switch {
	case a == coll.NVLSTree && t.NNodes == 1:
		return "needs two nodes"
	case a == coll.CollNetDirect && !t.Hardware.NVSwitch:
		return "needs an NVSwitch"
	case collNet && !t.CollNet:
		return "needs CollNet"
	case a == coll.CollNetChain && !t.CollNetChains:
		return "needs chains that begin at CollNet's heads"
	case collNet && gathers && t.NNodes > 1 && t.MaxLocalRanks > t.CollNetHeads:
		return "needs a network card for each rank"
	case t.Graphs[graphOf[a]].Channels == 0:
		return fmt.Sprintf("no %v graph was found", graphOf[a])
	}
	return ""
}

// crowded returns why nodes have too many ranks for an algorithm (updateCollCostTable,
// NCCL v2.30 src/enqueue.cc).
func (t *tuner) crowded(f coll.Func, a coll.Algo) string {
	most := t.MaxLocalRanks
	switch a {
	case coll.CollNetDirect, coll.CollNetChain:
		most = maxCollNetRanks
	case coll.NVLS, coll.NVLSTree:
		if f != coll.AllReduce {
			most = maxNVLSRanks
		}
	}
	if t.MaxLocalRanks > most {
		return fmt.Sprintf("serves up to %d ranks a node", most)
	}
	return ""
}

// direct returns the model of the algorithms in which ranks write to all peers. What
// a rank writes goes through its links once for each peer.
func (t *tuner) direct(f coll.Func, a coll.Algo, p coll.Proto) cost {
	latency, share := oneShotLatency, oneShotShare
	measured := coll.LL
	if a == coll.TwoShot {
		latency, share, measured = twoShotLatency, twoShotShare, coll.Simple
	}
	h := &t.Hardware
	switch {
	case t.NNodes > 1:
		return cost{out: "needs one node", barrier: machine}
	case h.PeerBW == 0:
		return cost{out: "needs NVLink between all GPUs", barrier: machine}
	case p != measured:
		return cost{out: fmt.Sprintf("%s is modelled with %s only", a, measured), barrier: nature}
	}
	// Of each byte of the call, how many leave a GPU.
	peers, ranks := float32(t.NRanks-1), float32(t.NRanks)
	leaving := peers
	switch {
	case a == coll.TwoShot:
		leaving = float32(float32(2*peers) / ranks)
	case f == coll.AllGather || f == coll.AllGatherV || f == coll.ReduceScatter:
		leaving = float32(peers / ranks)
	}
	links := h.PeerBW
	if !h.NVSwitch {
		links = float32(links * peers)
	}
	return cost{latency: latency, bw: float32(float32(links*share) / leaving)}
}
