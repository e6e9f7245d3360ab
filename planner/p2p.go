package planner

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// P2PConfig is what sends and receives depend on besides those of a group. All of
// it is equal on all ranks.
type P2PConfig struct {
	// Nodes are the ranks of each node, nodes in order.
	Nodes [][]int
	// Channels is how many channels sends and receives have together, PerPeer how
	// many of them serve one peer at most: powers of 2.
	Channels, PerPeer int
	// NVLink says that all ranks of a node reach one another through NVLink.
	NVLink bool
	// Arch is that of all CPUs, MinSM the lowest compute capability, times 10.
	Arch  topo.Arch
	MinSM int
	// BufferBytes and NumSteps are as in [Limits].
	BufferBytes [coll.NumProtos]int
	NumSteps    int
	P2PLimits
}

// P2PLimits are what a user may say of sends and receives. Start from
// [DefaultP2PLimits].
type P2PLimits struct {
	// NetChunk, NVLinkChunk and PCIChunk are the chunks of Simple between nodes, and
	// in a node with and without NVLink, bytes.
	NetChunk, NVLinkChunk, PCIChunk int
	// LLBytes is the most that a channel sends with LL, bytes.
	LLBytes int64
	// NetLL allows LL between nodes too.
	NetLL bool
	// GroupSize is as in [NewP2PSchedule].
	GroupSize int
}

// DefaultP2PLimits returns NCCL's: chunks of 128 KiB, 512 KiB and 128 KiB
// (NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE, NCCL_P2P_PCI_CHUNKSIZE), LL up to
// 16 KiB in a node (NCCL_P2P_LL_THRESHOLD), groups of 8.
func DefaultP2PLimits() P2PLimits {
	return P2PLimits{NetChunk: 128 << 10, NVLinkChunk: 512 << 10, PCIChunk: 128 << 10, LLBytes: 16 << 10, GroupSize: topo.P2PBatch}
}

// P2PConfigOf returns the configuration of a communicator over a layout, with
// buffers of l and NCCL's defaults.
func P2PConfigOf(layout *topo.Layout, l *Limits) *P2PConfig {
	h := layout.Hardware()
	c := &P2PConfig{
		Channels: layout.P2PChannels, PerPeer: layout.P2PChannelsPerPeer, NVLink: h.AllNVLink, Arch: h.Arch,
		BufferBytes: l.BufferBytes, NumSteps: l.NumSteps, P2PLimits: DefaultP2PLimits(),
	}
	c.MinSM, _ = layout.SMs()
	for node := range layout.NNodes() {
		c.Nodes = append(c.Nodes, layout.NodeRanks(node))
	}
	return c
}

// P2P plans the sends and receives of a communicator: in which round, on which
// channels, in which chunks. It is immutable and safe for concurrent use.
type P2P struct {
	schedule          *P2PSchedule
	node              []int32 // [rank]
	nodes             int
	channels, perPeer int
	// fewest is how many channels a peer begins with, so that as many peers as
	// possible have some of their own.
	fewest  int
	chunk   int // of Simple, bytes
	llChunk int // data of a slot of LL, bytes
	llBytes int64
	netLL   bool
}

// NewP2P makes the planner of sends and receives of a communicator.
func NewP2P(c *P2PConfig) (*P2P, error) {
	bad := func(format string, args ...any) error {
		return result.New(result.InvalidArgument, "p2p", format, args...)
	}
	pow2 := func(n int) bool { return n >= 1 && n <= topo.MaxChannels && n&(n-1) == 0 }
	switch {
	case !pow2(c.Channels) || !pow2(c.PerPeer) || c.PerPeer > c.Channels:
		return nil, bad("%d channels, %d for each peer; powers of 2 up to %d are allowed, the second not above the first", c.Channels, c.PerPeer, topo.MaxChannels)
	case c.NumSteps < 1:
		return nil, bad("a FIFO of %d slots; at least 1 is needed", c.NumSteps)
	case min(c.NetChunk, c.NVLinkChunk, c.PCIChunk) < chunkAlign:
		return nil, bad("chunks of %d, %d and %d bytes; %d or more are allowed", c.NetChunk, c.NVLinkChunk, c.PCIChunk, chunkAlign)
	}
	schedule, err := NewP2PSchedule(c.Nodes, c.GroupSize)
	if err != nil {
		return nil, err
	}
	p := &P2P{
		schedule: schedule, node: make([]int32, schedule.NRanks()), nodes: len(c.Nodes),
		channels: c.Channels, perPeer: c.PerPeer, fewest: c.PerPeer,
		chunk: c.chunk(), llChunk: c.BufferBytes[coll.LL] / c.NumSteps / 2, llBytes: c.LLBytes, netLL: c.NetLL,
	}
	if p.chunk < chunkAlign || p.llChunk < chunkAlign {
		return nil, bad("buffers of %d bytes of LL and %d of Simple; a slot of each must hold %d bytes of data", c.BufferBytes[coll.LL], c.BufferBytes[coll.Simple], chunkAlign)
	}
	for node, ranks := range c.Nodes {
		for _, rank := range ranks {
			p.node[rank] = int32(node)
		}
	}
	for p.fewest > 1 && p.fewest*schedule.NRanks() > c.Channels {
		p.fewest /= 2
	}
	return p, nil
}

// chunk returns the size of chunks of Simple (computeBuffSizes, NCCL v2.30
// src/init.cc). Hosts with Blackwell GPUs and ARM CPUs have half as many GPUs as
// others, so twice as much of each goes to the network at once.
func (c *P2PConfig) chunk() int {
	size := c.PCIChunk
	switch {
	case len(c.Nodes) > 1:
		size = c.NetChunk
		if c.Arch == topo.ArchARM && c.MinSM >= 100 {
			size *= 2
		}
	case c.NVLink:
		size = c.NVLinkChunk
	}
	return min(size, c.BufferBytes[coll.Simple]/c.NumSteps)
}

// ChunkBytes returns the size of chunks of Simple where nothing else makes them
// smaller, bytes.
func (p *P2P) ChunkBytes() int { return p.chunk }

// Schedule returns in which round a rank turns to whom.
func (p *P2P) Schedule() *P2PSchedule { return p.schedule }

// firstChannel returns the channel of the first part of what is sent and received
// in a round: neighbouring rounds of a batch share channels, batches lie far apart
// (ncclP2pChannelBaseForRound, NCCL v2.30 src/include/channel.h).
func (p *P2P) firstChannel(round int) int {
	base := round
	if p.nodes > 1 {
		size := p.schedule.GroupSize()
		base = round/size*((size+topo.P2PBatch-1)/topo.P2PBatch) + round%size/topo.P2PBatch
	}
	n := bits.Len(uint(p.channels - 1))
	return int(bits.Reverse32(uint32(base)) >> (32 - n))
}

// Half is what a rank sends, or what it receives, in a round.
type Half struct {
	Task  int // index into the group's sends, or its receives; -1: none
	Peer  int // whom the schedule has for the round
	Bytes int64
	// Channels is how many channels share the bytes; one where there are none, since
	// peers still wait for each other, and 0 without a task.
	Channels int
	Proto    coll.Proto
	// ChunkBytes is what goes in one slot of a connection's FIFO.
	ChunkBytes int
}

// partAlign is what the parts of channels are multiples of, bytes
// (ncclP2pPartBounds, NCCL v2.30 src/include/device.h).
const partAlign = 4 << 10

// Part returns the bytes of the half that the k-th of its channels moves,
// 0 <= k < Channels. Channels beyond the last byte have none.
func (h *Half) Part(k int) (first, bytes int64) {
	part := roundUp(ceilDiv(h.Bytes, int64(h.Channels)), partAlign)
	first = min(int64(k)*part, h.Bytes)
	return first, min(part, h.Bytes-first)
}

// half returns how a number of bytes is sent to a peer, or received from it
// (addP2pToPlan, NCCL v2.30 src/enqueue.cc).
func (p *P2P) half(rank, peer, task int, bytes int64) Half {
	h := Half{Task: task, Peer: peer, Bytes: bytes, Channels: 1, Proto: coll.Simple}
	net := p.node[rank] != p.node[peer]
	if bytes > 0 {
		// The most that a channel should move before others help, and the least that
		// is worth another one.
		least, most := int64(p.chunk/8), int64(p.chunk)*32
		if p.nodes > 1 {
			least, most = int64(p.chunk/2), int64(p.chunk)
		}
		h.Channels = int(min(int64(p.fewest), ceilDiv(bytes, least)))
		part := max(least, ceilDiv(bytes, int64(h.Channels)))
		for part > most && h.Channels <= p.perPeer/2 {
			h.Channels *= 2
			part = ceilDiv(bytes, int64(h.Channels))
		}
	}
	if rank != peer && (!net || p.netLL) && bytes <= int64(h.Channels)*p.llBytes {
		h.Proto = coll.LL
	}
	h.ChunkBytes = p.chunk
	slot := int64(p.chunk)
	if h.Proto == coll.LL {
		h.ChunkBytes, slot = p.llChunk, int64(2*p.llChunk)
	}
	if net {
		// Small messages in small pieces, so that the network is under way early.
		switch {
		case h.Proto == coll.Simple && bytes < slot:
			h.ChunkBytes /= 4
		case bytes < 8*slot:
			h.ChunkBytes /= 2
		}
	}
	h.ChunkBytes = max(chunkAlign, h.ChunkBytes/chunkAlign*chunkAlign)
	return h
}
