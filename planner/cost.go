package planner

import (
	"fmt"
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// cost is the model of one function with one algorithm and protocol: time is
// latency plus bytes over bandwidth.
type cost struct {
	latency float32 // µs
	bw      float32 // GB/s of the call's bytes
	out     string  // why it is not available; "" if it is
	unsafe  bool    // out says what is unsafe about it
	byUser  bool    // out says by which setting
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

	perNode float32 // ranks of a node, on average
	peers   int     // other ranks of a node, on average, rounded down
	log     int     // of the number of nodes
	hops    [numLinks]algoTable
}

func newTuner(f *Facts, s *Settings) *tuner {
	gen := generationOf(f.MinSM)
	span := min(f.NNodes, numSpans) - 1
	t := &tuner{
		Facts: f, Settings: s, gen: gen,
		ringLL128Max: ringLL128MaxBW[gen][span], treeLL128Max: treeLL128MaxBW[gen][span],
		treeMax: treeMaxBW[gen][span], nvlsTreeMax: nvlsTreeMaxBW[gen][span],
		perNode: float32(f.NRanks) / float32(f.NNodes), peers: f.NRanks/f.NNodes - 1, log: log2(int64(f.NNodes)),
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
		return cost{out: fmt.Sprintf("not defined for %s", f)}
	}
	if a >= coll.Algo(coll.NumNCCLAlgos) {
		return t.direct(f, a, p)
	}
	simple := a != coll.Ring && a != coll.Tree
	// NCCL gives latencies to CollNet whatever the protocol, to others not.
	if simple && p != coll.Simple && a != coll.CollNetDirect && a != coll.CollNetChain {
		return cost{out: fmt.Sprintf("%s has Simple only", a)}
	}
	if out := t.absent(a); out != "" {
		return cost{out: out}
	}
	c := cost{latency: t.latency(f, a, p), bw: t.bandwidth(f, a, p)}
	if simple && p != coll.Simple {
		c.out = fmt.Sprintf("%s has Simple only", a)
	} else {
		c.out = t.excluded(f, a)
	}
	if c.out != "" {
		c.bw = 0
	} else {
		c.out = t.crowded(f, a)
	}
	return c
}

// oneRank is the model of an only rank: nothing moves, whatever the protocol.
func oneRank(a coll.Algo) cost {
	if a != coll.Ring {
		return cost{out: "one rank has nothing to send"}
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
func (t *tuner) absent(a coll.Algo) string {
	switch a {
	case coll.NVLS, coll.NVLSTree:
		if n := t.Graphs[topo.GraphNVLS].Channels; n == 0 {
			return "needs multicast"
		} else if n < 2 {
			return "needs two channels of NVLS"
		}
	case coll.PAT:
		switch {
		case t.MinSM < 60:
			return "needs sm_60"
		case t.PAT == PATOff:
			return "disabled by NCCL_PAT_ENABLE"
		case t.PAT == PATAuto && t.NNodes != t.NRanks:
			return "needs one rank a node"
		}
	}
	return ""
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
	case collNet && gathers && t.MaxLocalRanks > t.CollNetHeads:
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

// bandwidth returns GB/s of the call's bytes.
func (t *tuner) bandwidth(f coll.Func, a coll.Algo, p coll.Proto) float32 {
	g := &t.Graphs[graphOf[a]]
	channels := float64(g.Channels)
	collNet := a == coll.CollNetDirect || a == coll.CollNetChain
	gathers := f == coll.AllGather || f == coll.ReduceScatter

	each := g.BWInter
	if t.NNodes <= 2 || collNet {
		each = g.BWIntra
	}
	if a == coll.NVLS || a == coll.NVLSTree {
		each = t.nvlsChannel(f, a)
	}
	bus := float32(float32(g.Channels) * each)
	switch {
	case a == coll.Ring && p == coll.LL:
		bus = float32(min(t.llMax, float64(float64(bus)*llShare)))
	case a == coll.Ring && p == coll.LL128:
		bus = float32(min(float64(float64(bus)*ringLL128Share), float64(channels*t.ringLL128Max)))
	case a == coll.Tree:
		bus = t.treeBandwidth(bus, channels, p)
	case a == coll.PAT:
		bus = float32(float64(bus) * patShare)
	case collNet && p != coll.Simple:
		bus = 0
	case a == coll.CollNetDirect && gathers:
		bus = float32(t.perNode * min(g.BWIntra, float32(g.BWInter*collNetNetShare)))
	case a == coll.CollNetDirect:
		// Below one network card for each GPU.
		factor := float32(float64(t.perNode) / channels)
		factor -= float32(float32(factor-1) / 2)
		bus = float32(bus / factor)
		if t.MinSM >= 90 {
			bus = float32(float64(bus) * collNetHopperShare)
		}
	}
	// What the network of a bus carries, of the call's bytes.
	switch {
	case a == coll.Ring || (a == coll.NVLS || a == coll.NVLSTree) && !gathers:
		bus = float32(bus * float32(float64(t.NRanks)/float64(steps(f, t.NRanks))))
	case !gathers:
		bus = float32(bus * .5)
	}
	return bus
}

// nvlsChannel returns what a channel of NVLS carries.
func (t *tuner) nvlsChannel(f coll.Func, a coll.Algo) float32 {
	g := &t.Graphs[topo.GraphNVLS]
	n := float32(g.Channels)
	intra := float32(float32(float32(g.BWIntra*nvlsEfficiency[t.gen])*float32(g.Channels-1)) / n)
	if f == coll.AllReduce {
		// Two operations go through the switch at once.
		intra = float32(intra * 2)
	} else {
		intra = float32(intra * float32((t.perNode-1)/t.perNode))
	}
	inter := g.BWInter
	if a == coll.NVLS {
		return min(intra, inter)
	}
	if t.NNodes <= 2 {
		inter = float32(inter * 2)
	}
	return min(intra, inter, float32(t.nvlsTreeMax))
}

func (t *tuner) treeBandwidth(bus float32, channels float64, p coll.Proto) float32 {
	bus = float32(min(float64(float64(bus)*treeShare), float64(channels*t.treeMax)))
	switch p {
	case coll.LL:
		bus = float32(min(float64(bus)/treeLLDivisor, t.llMax))
	case coll.LL128:
		share := treeLL128Share
		if t.NNodes == 1 {
			share = treeLL128NodeShare
		}
		bus = float32(min(float64(float64(bus)*share), float64(channels*t.treeLL128Max)))
	}
	if t.TreePattern == topo.PatternTree {
		bus = float32(float64(bus) * plainTreeShare)
	}
	return bus
}

// steps is how many hops one element makes in a ring.
func steps(f coll.Func, nranks int) int {
	switch f {
	case coll.AllReduce:
		return 2 * (nranks - 1)
	case coll.AllGather, coll.AllGatherV, coll.ReduceScatter:
		return nranks - 1
	default:
		return nranks
	}
}

// latency returns µs.
func (t *tuner) latency(f coll.Func, a coll.Algo, p coll.Proto) float32 {
	g := &t.Graphs[graphOf[a]]
	l := baseLatency[a][p]
	near := linkPCI
	if g.TypeIntra == topo.PathNVL {
		near = linkNVLink
	}
	intra := t.hops[near][a][p]
	inter := t.hops[linkNet][a][p]
	if t.NRanks == t.NNodes {
		// Nothing hides the network then.
		inter = t.hops[linkNet][coll.Tree][p]
	}
	inter += g.LatencyInter
	if p == coll.Simple {
		// The network card flushes too.
		inter += g.LatencyInter
	}
	switch a {
	case coll.Ring:
		return t.ringLatency(f, p, l, near, intra, inter)
	case coll.Tree:
		return l + float32(2*float32(float32(float32(t.peers)*intra)+float32(float32(t.log)*inter)))
	case coll.CollNetDirect:
		hop := float64(float32(float32(min(1, t.peers)) * intra))
		both := float64(2 * float64(hop+float64(float64(t.peers)*collNetPeerLatency)))
		return float32(float64(l) + float64(both+float64(inter)))
	case coll.CollNetChain:
		return l + float32(float32(float32(2*t.peers)*intra)+inter)
	case coll.NVLS:
		if t.NNodes > 1 {
			intra += inter
		}
		return intra
	case coll.NVLSTree:
		return l + float32(intra+float32(float32(2*t.log)*inter))
	default: // PAT
		far := float64(float64(t.log) * float64(float64(inter)/patLogDivisor))
		return float32(float64(l) + float64(far+float64(float64(t.NRanks)*patRankLatency)))
	}
}

func (t *tuner) ringLatency(f coll.Func, p coll.Proto, l float32, near link, intra, inter float32) float32 {
	n := steps(f, t.NRanks)
	if f.Rooted() {
		hw := near
		if t.NNodes > 1 {
			hw = linkNet
		}
		switch hop := t.hops[hw]; {
		case t.Graphs[topo.GraphRing].SameChannels:
			return l + hop[coll.Ring][p]
		case p == coll.Simple:
			// Chunks wait for one another.
			return l + float32(float32(n)*hop[coll.Tree][p])
		default:
			return l + float32(float32(n)*hop[coll.Ring][p])
		}
	}
	far := 0
	if t.NNodes > 1 {
		overhead := t.netOverhead()
		if p == coll.Simple {
			overhead = float32(overhead * simplePosts)
		}
		intra = max(intra, overhead)
		far = t.NNodes - 1
		if f == coll.AllReduce {
			far *= 2
		}
	}
	return l + float32(float32(float32(n-far)*intra)+float32(float32(far)*inter))
}

func (t *tuner) netOverhead() float32 {
	switch {
	case t.NetOverhead != nil:
		return *t.NetOverhead
	case t.Hardware.Arch == topo.ArchX86 && t.Hardware.Vendor == topo.VendorAMD:
		return netOverheadAMD
	}
	return netOverheadDefault
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
		return cost{out: "needs one node"}
	case h.PeerBW == 0:
		return cost{out: "needs NVLink between all GPUs"}
	case p != measured:
		return cost{out: fmt.Sprintf("%s is modelled with %s only", a, measured)}
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

// log2 returns the logarithm of n, rounded down; -1 of 0.
func log2(n int64) int { return bits.Len64(uint64(n)) - 1 }

// time returns the µs that n bytes take, of ops operations that follow one another
// on each channel (ncclTopoGetAlgoTime, NCCL v2.30 src/graph/tuning.cc).
func (m *Model) time(f coll.Func, a coll.Algo, p coll.Proto, n int64, ops int) float32 {
	c := &m.costs[f][a][p]
	latency, bw := c.latency, c.bw
	if m.nranks == 1 {
		return 0
	}
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
	return float32(float32(latency*float32(ops)) + float32(float32(n)/float32(1000*bw)))
}

// unsafe returns why LL128 must not be used over a graph, "" if it may: links other
// than NVLink, and some paths to network cards, may tear its lines of 128 bytes.
func (t *tuner) unsafe(g *topo.Agreed) string {
	worst, allowed := topo.PathPXB, "PXB"
	if !t.NoLL128C2C && t.MinSM >= 90 {
		worst, allowed = topo.PathPXN, "PXN"
	}
	switch {
	case g.TypeIntra > topo.PathNVB:
		return "needs NVLink between neighbours, the channels have " + g.TypeIntra.String()
	case g.TypeInter > worst:
		return "needs network cards no farther than " + allowed + ", the channels have " + g.TypeInter.String()
	case t.MinSM < 70:
		return "needs sm_70"
	case t.MinSM != t.MaxSM && t.MinSM < 90:
		return "needs sm_90 between different GPUs"
	}
	return ""
}

// Unsafe returns why a protocol must not be used over the rings of one node, in a
// clause that continues its name; "" if it may. The cases are those in which NCCL
// does not use LL128 unless NCCL_PROTO names it (ncclTopoTuneModel).
func Unsafe(p coll.Proto, ring *topo.Graph) string {
	if p != coll.LL128 {
		return ""
	}
	f := ringFacts(ring)
	return newTuner(&f, new(Settings)).unsafe(&f.Graphs[topo.GraphRing])
}
