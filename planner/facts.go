package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// Facts are what all ranks of a communicator know of it once they have exchanged
// what each found. Nothing else of the machines enters a decision, so that all
// ranks decide the same.
type Facts struct {
	NRanks, NNodes int
	// MinLocalRanks and MaxLocalRanks are the numbers of ranks of the smallest and
	// the largest node.
	MinLocalRanks, MaxLocalRanks int
	// RanksPerGPU is the largest number of ranks that share a GPU.
	RanksPerGPU int
	// MinSM and MaxSM are the lowest and the highest compute capability, times 10.
	MinSM, MaxSM int
	Hardware     topo.Hardware
	// Graphs are the figures of the graphs by [topo.GraphID].
	Graphs [topo.NumGraphs]topo.Agreed
	// TreePattern is the largest pattern of any node's trees.
	TreePattern topo.Pattern
	// Channels is how many channels rings and trees have, NVLSChannels those of
	// NVLS, 0 if it is not in use.
	Channels, NVLSChannels int
	// NVLSHeads is how many multicast groups a node has, NVLSChunkBytes the chunk of
	// each, and NVLSTreeChunkBytes the largest one between nodes.
	NVLSHeads, NVLSChunkBytes, NVLSTreeChunkBytes int
	// CollNet says that CollNet is in use, CollNetChains that its chains may be.
	CollNet, CollNetChains bool
	// CollNetHeads is how many ranks of each node talk to the network for CollNet,
	// DirectHeads how many of them a channel without chains has.
	CollNetHeads, DirectHeads int
}

// FactsOf returns the facts of a layout.
func FactsOf(l *topo.Layout) Facts {
	f := Facts{
		NRanks: l.NRanks(), NNodes: l.NNodes(),
		MinLocalRanks: l.MinLocalRanks, MaxLocalRanks: l.MaxLocalRanks, RanksPerGPU: l.RanksPerGPU(),
		Hardware: l.Hardware(), TreePattern: l.MaxTreePattern,
		Channels: l.Channels, NVLSChannels: l.NVLSChannels,
		NVLSHeads: l.NVLSHeads(), NVLSChunkBytes: l.NVLSChunkBytes, NVLSTreeChunkBytes: l.NVLSTreeChunkBytes,
		CollNet: l.CollNet, CollNetChains: l.CollNetChains(),
		CollNetHeads: l.CollNetHeadCount(), DirectHeads: l.CollNetDirectHeads(),
	}
	f.MinSM, f.MaxSM = l.SMs()
	for id := range topo.GraphID(topo.NumGraphs) {
		f.Graphs[id] = l.Agreed(id)
	}
	return f
}

// graphOf says which graph an algorithm runs over (initTransportsRank, NCCL v2.30
// src/init.cc). The direct algorithms take the GPUs of a ring.
var graphOf = [coll.NumAlgos]topo.GraphID{
	coll.Tree: topo.GraphTree, coll.Ring: topo.GraphRing,
	coll.CollNetDirect: topo.GraphCollNetDirect, coll.CollNetChain: topo.GraphCollNetChain,
	coll.NVLS: topo.GraphNVLS, coll.NVLSTree: topo.GraphNVLS,
	coll.PAT:     topo.GraphTree,
	coll.OneShot: topo.GraphRing, coll.TwoShot: topo.GraphRing,
}

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
