package topo

import (
	"cmp"
	"math/bits"

	"github.com/ncclgo/ncclgo/internal/result"
)

// LayoutParams are what a user may say of channels. The zero value is NCCL's
// default.
type LayoutParams struct {
	// CollNet asks for CollNet, which every network card must support.
	CollNet bool
	// CollNetNodes is the least number of nodes that use CollNet
	// (NCCL_COLLNET_NODE_THRESHOLD); 0 stands for 2.
	CollNetNodes int
	// MinChannels and MaxChannels bound the channels of rings and trees
	// (NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS); 0 stands for no bound.
	MinChannels, MaxChannels int
	// MinCTAs and MaxCTAs bound the channels of everything, also of NVLS
	// (NCCL_MIN_CTAS, NCCL_MAX_CTAS); 0 stands for no bound.
	MinCTAs, MaxCTAs int
	// NVLSChannels is how many channels NVLS has (NCCL_NVLS_NCHANNELS); 0 leaves
	// it to the kind of GPU.
	NVLSChannels int
	// MinP2PChannels and MaxP2PChannels bound the channels of sends and receives
	// (NCCL_MIN_P2P_NCHANNELS, NCCL_MAX_P2P_NCHANNELS); 0 stands for no bound.
	MinP2PChannels, MaxP2PChannels int
	// P2PPeers is how many peers a rank is expected to send to at the same time
	// (NCCL_MAX_P2P_PEERS); 0 stands for all ranks.
	P2PPeers int
	// FixedNetChannels says that the members' P2PChannels hold as they are, since a
	// user gave their number (NCCL_NCHANNELS_PER_NET_PEER).
	FixedNetChannels bool
}

func (p LayoutParams) collNetNodes() int { return cmp.Or(p.CollNetNodes, 2) }

// check refuses values that no communicator can have.
func (p LayoutParams) check() error {
	for _, v := range []struct {
		name  string
		value int
		most  int
	}{
		{"the node threshold of CollNet", p.CollNetNodes, 1 << 24},
		{"the least number of channels", p.MinChannels, MaxChannels},
		{"the largest number of channels", p.MaxChannels, MaxChannels},
		{"the least number of CTAs", p.MinCTAs, MaxChannels},
		{"the largest number of CTAs", p.MaxCTAs, MaxChannels},
		{"the number of NVLS channels", p.NVLSChannels, MaxChannels},
		{"the least number of channels of sends", p.MinP2PChannels, MaxChannels},
		{"the largest number of channels of sends", p.MaxP2PChannels, MaxChannels},
		{"the number of peers", p.P2PPeers, 1 << 24},
	} {
		if v.value < 0 || v.value > v.most {
			return result.New(result.InvalidArgument, "connect", "%s is %d; 1 to %d are allowed, 0 is the default", v.name, v.value, v.most)
		}
	}
	return nil
}

// Constants of NCCL v2.30 src/graph/connect.cc.
const (
	// fewChannels is the number of channels below which fast rings between nodes
	// get twice as many.
	fewChannels = 16
	// fastRing is the bandwidth of such a ring, GB/s.
	fastRing = 45
)

// countChannels makes every ring of the search two channels, one for each tree,
// then more where two CTAs a ring leave bandwidth unused.
func (l *Layout) countChannels(p LayoutParams) {
	n := 2 * l.counts[GraphRing]
	l.source = make([]int, n)
	for c := range l.source {
		l.source[c] = c
	}
	chain := l.merged[GraphCollNetChain]
	if l.CollNet && chain.BWIntra > chain.BWInter && l.MaxLocalRanks > 1 {
		n = l.copyChannels(n, n+n/2)
	}
	ring := l.merged[GraphRing]
	if ring.MinSM >= 90 && l.NNodes() > 1 && ring.BWIntra > fastRing && n < fewChannels {
		n = l.copyChannels(n, 2*n)
	}
	// First the most, then the least: a user may take the first channels only, and
	// several of each.
	n = min(n, cmp.Or(p.MaxChannels, MaxChannels), cmp.Or(p.MaxCTAs, MaxChannels))
	l.Channels = l.copyChannels(n, max(p.MinChannels, p.MinCTAs))
	l.source = l.source[:l.Channels]
}

// copyChannels makes the channels from start to end copies of those from 0 on, and
// returns their number. MaxChannels is the most.
func (l *Layout) copyChannels(start, end int) int {
	l.source = l.source[:start]
	for c := start; c < min(end, MaxChannels); c++ {
		l.source = append(l.source, l.source[c-start])
	}
	return len(l.source)
}

// nvlsFigures are channels of NVLS, bytes of a chunk and, of the tree between
// nodes, most bytes of a chunk: 0 leaves these to the number of nodes.
type nvlsFigures struct{ channels, chunk, treeChunk int }

// What NCCL measured for NVLS of Hopper GPUs, and of Blackwell GPUs of one node
// (NCCL v2.30 src/transport/nvls.cc).
var (
	nvlsHopper    = nvlsFigures{16, 128 << 10, 0}
	nvlsBlackwell = nvlsFigures{24, 128 << 10, 0}
)

// nvlsBetween is what NCCL measured for NVLS between nodes of Blackwell GPUs, by the
// bandwidth that every rank has to the network, GB/s: 48 is a port of 400 Gbit/s.
// The first entry counts that is met; a bound of 0 is none (NCCL v2.30
// src/transport/nvls.cc).
var nvlsBetween = []struct {
	net, below float32 // at least, and less than
	nodes      int     // at most
	ranks      int     // of the smallest node, at most
	near       bool    // cards and GPUs have no CPU between them
	nvlsFigures
}{
	{net: 48, nodes: 2, ranks: 4, nvlsFigures: nvlsFigures{32, 256 << 10, 256 << 10}},
	{net: 48, below: 96, nodes: 2, ranks: 8, near: true, nvlsFigures: nvlsFigures{32, 128 << 10, 64 << 10}},
	{net: 48, nodes: 2, ranks: 15, nvlsFigures: nvlsFigures{32, 128 << 10, 128 << 10}},
	{net: 48, nodes: 2, nvlsFigures: nvlsFigures{32, 128 << 10, 64 << 10}},
	{net: 96, ranks: 8, nvlsFigures: nvlsFigures{24, 256 << 10, 256 << 10}},
	{net: 96, ranks: 31, nvlsFigures: nvlsFigures{32, 128 << 10, 128 << 10}},
	{net: 96, nvlsFigures: nvlsFigures{32, 128 << 10, 64 << 10}},
	{net: 48, near: true, nvlsFigures: nvlsFigures{24, 128 << 10, 64 << 10}},
	{net: 48, nvlsFigures: nvlsFigures{24, 128 << 10, 128 << 10}},
	{nvlsFigures: nvlsFigures{32, 128 << 10, 0}},
}

// measuredNVLS returns the figures for the GPUs and nodes of l.
func (l *Layout) measuredNVLS() nvlsFigures {
	switch {
	case l.merged[GraphRing].MinSM < 100:
		return nvlsHopper
	case l.NNodes() == 1:
		return nvlsBlackwell
	}
	near := l.merged[GraphNVLS].TypeInter <= PathPXB
	for _, m := range nvlsBetween {
		if l.MinNetBW >= m.net && (m.below == 0 || l.MinNetBW < m.below) && (m.nodes == 0 || l.NNodes() <= m.nodes) &&
			(m.ranks == 0 || l.MinLocalRanks <= m.ranks) && (near || !m.near) {
			return m.nvlsFigures
		}
	}
	panic("BUG: the last entry has no bounds")
}

// countNVLSChannels sets what NVLS has if every node has its graph.
func (l *Layout) countNVLSChannels(p LayoutParams) {
	if l.counts[GraphNVLS] == 0 {
		return
	}
	m := l.measuredNVLS()
	n := min(cmp.Or(p.NVLSChannels, m.channels), cmp.Or(p.MaxCTAs, MaxChannels))
	l.NVLSChannels = max(n, p.MinCTAs)
	l.NVLSChunkBytes = m.chunk
	l.NVLSTreeChunkBytes = m.treeChunk
	if m.treeChunk == 0 {
		l.NVLSTreeChunkBytes = m.chunk
		if l.NNodes() >= 4 {
			l.NVLSTreeChunkBytes = 64 << 10
		}
	}
}

// P2PBatch is how many sends and receives of each direction a channel runs at once
// (NCCL_MAX_DEV_WORK_P2P_PER_BATCH, NCCL v2.30 src/include/device.h).
const P2PBatch = 8

// countP2PChannels makes both counts powers of 2, since peers are mapped to
// channels by bits. Between nodes the network is what limits, and all peers had
// better be served in one round than each by many channels.
func (l *Layout) countP2PChannels(p LayoutParams) {
	total := min(l.Channels, cmp.Or(p.MaxP2PChannels, MaxChannels))
	total = pow2Up(max(total, p.MinP2PChannels))
	each := MaxChannels
	for i := range l.members {
		each = min(each, l.members[i].P2PChannels)
	}
	each = pow2Up(max(each, 1))
	if l.NNodes() > 1 && !p.FixedNetChannels {
		rounds := (cmp.Or(p.P2PPeers, l.NRanks()) + P2PBatch - 1) / P2PBatch
		for each*rounds > total && each > 1 {
			each /= 2
		}
	} else {
		each = min(each, total)
	}
	l.P2PChannels, l.P2PChannelsPerPeer = total, each
}

// pow2Up returns the smallest power of 2 that is at least n >= 1.
func pow2Up(n int) int { return 1 << bits.Len(uint(n-1)) }
