package planner

import "github.com/ncclgo/ncclgo/coll"

// The constants of the cost model. Unless another source is given they are those
// of NCCL v2.30 src/graph/tuning.cc. Latencies are µs, bandwidths GB/s.

// protoTable is a value for each protocol: LL, LL128, Simple.
type protoTable [coll.NumProtos]float32

// algoTable is a value for each algorithm and protocol.
type algoTable [coll.NumAlgos]protoTable

// link is the kind of link that a hop goes over.
type link uint8

const (
	linkNVLink link = iota
	linkPCI
	linkNet

	numLinks = iota
)

// generation is the kind of GPU that tables distinguish, span the number of
// nodes: one, two, more.
type generation uint8

const (
	volta generation = iota
	ampere
	hopper
	blackwell

	numGenerations = iota
)

const numSpans = 3

// channelTable is what a channel, or all of them, carry at most, by generation
// and span.
type channelTable [numGenerations][numSpans]float64

// baseLatency is what an operation costs before its first hop (baseLatencies).
// NVLS has its own in its hop.
var baseLatency = algoTable{
	coll.Tree: {6.8, 14, 8.4},
	coll.Ring: {6.6, 14, 8.4},
	coll.PAT:  {8, 8, 8},
}

// hopLatency is that of a hop (hwLatencies).
var hopLatency = [numLinks]algoTable{
	linkNVLink: {
		coll.Tree: {0.6, 1.25, 4}, coll.Ring: {0.6, 1.9, 3.4},
		coll.CollNetDirect: {0, 0, 3.7}, coll.CollNetChain: {0, 0, 2.8},
		coll.NVLS: {0, 0, 25}, coll.NVLSTree: {0, 0, 25},
		coll.PAT: {0, 0, 4},
	},
	linkPCI: {
		coll.Tree: {1, 1.9, 4}, coll.Ring: {1, 2.5, 5.7},
		coll.CollNetDirect: {0, 0, 3.7}, coll.CollNetChain: {0, 0, 2.8},
		coll.PAT: {0, 0, 4},
	},
	linkNet: {
		coll.Tree: {5, 8.5, 14}, coll.Ring: {2.7, 4, 14},
		coll.CollNetDirect: {0, 0, 31}, coll.CollNetChain: {0, 0, 30},
		coll.NVLS: {0, 0, 18}, coll.NVLSTree: {0, 0, 20.9},
		coll.PAT: {0, 0, 14},
	},
}

// llMaxBW is the most that all channels together carry with LL (llMaxBws). On one
// node the row is the GPUs' generation; on several it is 0, or 1 where CPUs are
// AMD's or of several makers.
var llMaxBW = channelTable{
	{39, 39, 20.4},
	{87.7, 22.5, 19},
	{141, 45, 35},
	{2 * 141, 2 * 45, 2 * 35},
}

// What a channel carries at most (perChMax*Bws).
var (
	ringLL128MaxBW = channelTable{
		volta: {20, 20, 20}, ampere: {20, 20, 20}, hopper: {36.7, 36.7, 36.7}, blackwell: {40, 40, 40},
	}
	treeLL128MaxBW = channelTable{
		volta: {20, 20, 20}, ampere: {20, 20, 20}, hopper: {36.7, 36.7, 29}, blackwell: {55.6, 31.67, 20},
	}
	treeMaxBW = channelTable{
		volta: {26.5, 18.5, 10}, ampere: {24, 23.6, 17.8}, hopper: {38.7, 41.4, 36}, blackwell: {70, 42.8, 24},
	}
	nvlsTreeMaxBW = channelTable{
		volta: {26.5, 18.5, 10}, ampere: {24, 23.6, 17.8}, hopper: {0, 57.7, 45.5}, blackwell: {0, 96, 80},
	}
)

// nvlsEfficiency is the share of its links' bandwidth that NVLS reaches
// (nvlsEfficiency).
var nvlsEfficiency = [numGenerations]float32{hopper: 0.85, blackwell: 0.74}

// Shares of bandwidth that are left for data (ncclTopoTuneModel).
const (
	llShare            = .5  // half of each word is flag
	ringLL128Share     = .92 // 120 of 128 bytes are data, less what was measured
	treeShare          = .92
	treeLLDivisor      = 3.8
	treeLL128Share     = 120.0 / 128.0
	treeLL128NodeShare = 7.0 / 9.0 // on one node
	patShare           = .75
	collNetHopperShare = .85
	collNetNetShare    = 0.9
)

// Network overhead of posting a send, µs (getNetOverhead). Simple has three posts
// a step.
const (
	netOverheadDefault float32 = 1
	netOverheadAMD     float32 = 2
	simplePosts        float32 = 3
)

// Further latencies (ncclTopoTuneModel).
const (
	collNetPeerLatency = 0.4 // µs of each peer, as they are served one after the other
	patLogDivisor      = 3.5 // of the network's latency, for each doubling of nodes
	patRankLatency     = 2.8 // µs of each rank
)

// The latency of rings between nodes with Simple grows by these factors once each
// rank has plateauBytes in each channel (ncclTopoGetAlgoTime).
const (
	plateauBytes       = 64
	plateauFactor      = 1.4
	plateauFactorVolta = 1.9
)

// treeCorrection is what trees reach of their predicted bandwidth, by the
// logarithm of the size in units of 64 bytes (treeCorrectionFactor).
var treeCorrection = [coll.NumProtos][24]float32{
	coll.LL:     {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
	coll.LL128:  {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
	coll.Simple: {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}

// Sizes, in units of 64 bytes and as logarithms, from which corrections end.
const (
	treeCorrections     = 23
	nvlsTreeCorrections = 24
)

// Rings of more ranks than exactRingRanks sum 8-bit floats with too many roundings,
// so they are taken only if there is nothing else (updateCollCostTable, NCCL v2.30
// src/enqueue.cc).
const (
	exactRingRanks = 8
	lossyFactor    = 1024
)

// batchedOps is how many pipelined operations share the latency of anything but a
// ring: those of a batch of 1 KiB, at 128 bytes each (NCCL_MAX_DEV_WORK_BATCH_COLLS,
// NCCL v2.30 src/include/device.h).
const batchedOps = 8

// slowRingBW: rings that carry no more than a PCIe Gen3 x16 link are driven with
// half the threads (PCI_BW, NCCL v2.30 src/graph/topo.h).
const slowRingBW = 12

// Bytes for each thread below which fewer channels, then fewer threads, take part
// (NCCL_*_THREAD_THRESHOLD, NCCL v2.30 src/include/comm.h, and
// ncclTopoTuneModel). A ring's LL threshold is for each rank.
const (
	thresholdLL      = 8
	thresholdLL128   = 8
	thresholdSimple  = 64
	thresholdCollNet = 512
)

// Threads of a CTA (NCCL_*_MAX_NTHREADS and WARP_SIZE, NCCL v2.30
// src/include/device.h; getNthreads' minimum; topoGetAlgoInfo, NCCL v2.30
// src/enqueue.cc).
const (
	warpSize        = 32
	minThreads      = 2 * warpSize
	maxThreadsAny   = 640
	slowThreads     = 256          // of Simple in rings as slow as PCIe
	minLaunch       = 3 * warpSize // what NCCL launches at least
	ringSyncThreads = warpSize     // what NCCL adds for Simple in a ring
	treeSyncThreads = 4 * warpSize
)

// maxThreads is the most threads of a CTA by protocol.
var maxThreads = [coll.NumProtos]int{coll.LL: 512, coll.LL128: 640, coll.Simple: 512}

// minLL128Threads is the fewest that NCCL_LL128_NTHREADS may ask for.
const minLL128Threads = 640 / 4

// Most ranks of a node (NCCL_MAX_DIRECT_ARITY + 1 and NCCL_MAX_NVLS_ARITY, NCCL
// v2.30 src/include/device.h).
const (
	maxCollNetRanks = 8
	maxNVLSRanks    = 32
)

// What the direct algorithms reach, fitted to a trial on two H200s joined by 18
// NVLinks of a generation 4 switch (370.8 GB/s): one-shot LL took 1.9 µs and
// carried 148 GB/s, two-shot by writes 5.25 µs and 363 GB/s.
const (
	oneShotLatency float32 = 1.9
	twoShotLatency float32 = 5.25
	oneShotShare   float32 = 148.0 / 370.8
	twoShotShare   float32 = 363.0 / 370.8
)
