package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

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
		bus = float32(bus * float32(float64(t.NRanks)/float64(ringHops(f, t.NRanks))))
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
		bus = float32(float64(bus) * topo.PlainTreeShare)
	}
	return bus
}
