package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// ringHops is how many hops one element makes in a ring.
func ringHops(f coll.Func, nranks int) int {
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
		return l + float32(2*float32(float32(float32(t.peers)*intra)+float32(float32(t.logNodes)*inter)))
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
		return l + float32(intra+float32(float32(2*t.logNodes)*inter))
	default: // PAT
		far := float64(float64(t.logNodes) * float64(float64(inter)/patLogDivisor))
		return float32(float64(l) + float64(far+float64(float64(t.NRanks)*patRankLatency)))
	}
}

func (t *tuner) ringLatency(f coll.Func, p coll.Proto, l float32, near link, intra, inter float32) float32 {
	n := ringHops(f, t.NRanks)
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
