package planner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

func p2pConfig(nodes [][]int, channels, perPeer int) *P2PConfig {
	l := DefaultLimits()
	return &P2PConfig{
		Nodes: nodes, Channels: channels, PerPeer: perPeer, NVLink: true, Arch: topo.ArchX86, MinSM: 90,
		BufferBytes: l.BufferBytes, NumSteps: l.NumSteps, P2PLimits: DefaultP2PLimits(),
	}
}

func newP2P(t testing.TB, c *P2PConfig) *P2P {
	p, err := NewP2P(c)
	require.NoError(t, err)
	return p
}

// allToAll returns what each of n ranks sends, or receives.
func allToAll(n int, bytes int64) []Transfer {
	list := make([]Transfer, n)
	for peer := range list {
		list[peer] = Transfer{peer, bytes}
	}
	return list
}

// TestHalves: channels, protocol and chunk of a send, by size. The expectations are
// worked out from NCCL's rules by hand.
func TestHalves(t *testing.T) {
	one := newP2P(t, p2pConfig(consecutive(8), 32, 32)) // 4 channels for each of 8 peers to begin with
	two := newP2P(t, p2pConfig(consecutive(8, 8), 16, 4))
	for _, test := range []struct {
		name  string
		p     *P2P
		peer  int
		bytes int64
		want  Half
	}{
		{"nothing", one, 1, 0, Half{Channels: 1, Proto: coll.LL, ChunkBytes: 32 << 10}},
		{"one part", one, 1, 16 << 10, Half{Channels: 1, Proto: coll.LL, ChunkBytes: 32 << 10}},
		{"too much for LL", one, 1, 16<<10 + 1, Half{Channels: 1, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"two parts", one, 1, 64<<10 + 1, Half{Channels: 2, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"as many as there are to begin with", one, 1, 64 << 20, Half{Channels: 4, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"more help", one, 1, 64<<20 + 1, Half{Channels: 8, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"all help", one, 1, 1 << 30, Half{Channels: 32, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"to itself", one, 0, 8, Half{Channels: 1, Proto: coll.Simple, ChunkBytes: 512 << 10}},
		{"between nodes, small", two, 9, 100, Half{Channels: 1, Proto: coll.Simple, ChunkBytes: 32 << 10}},
		{"between nodes, medium", two, 9, 128 << 10, Half{Channels: 1, Proto: coll.Simple, ChunkBytes: 64 << 10}},
		{"between nodes, large", two, 9, 1 << 20, Half{Channels: 4, Proto: coll.Simple, ChunkBytes: 128 << 10}},
		{"in a node of several", two, 1, 100, Half{Channels: 1, Proto: coll.LL, ChunkBytes: 32 << 10}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Peer, test.want.Bytes = test.peer, test.bytes
			got := test.p.half(0, test.peer, 0, test.bytes)
			require.Equal(t, test.want, got)
			next := int64(0)
			for k := range got.Channels {
				first, bytes := got.Part(k)
				require.Equal(t, next, first)
				require.GreaterOrEqual(t, bytes, int64(0))
				next += bytes
			}
			require.Equal(t, test.bytes, next)
		})
	}
}

// TestP2PChunks: chunks of Simple by what joins ranks, and never above a slot.
func TestP2PChunks(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(c *P2PConfig)
		want   int
	}{
		{"NVLink", func(*P2PConfig) {}, 512 << 10},
		{"PCIe", func(c *P2PConfig) { c.NVLink = false }, 128 << 10},
		{"network", func(c *P2PConfig) { c.Nodes = consecutive(8, 8) }, 128 << 10},
		{"small hosts", func(c *P2PConfig) { c.Nodes, c.Arch, c.MinSM = consecutive(4, 4), topo.ArchARM, 100 }, 256 << 10},
		{"small hosts of older GPUs", func(c *P2PConfig) { c.Nodes, c.Arch = consecutive(4, 4), topo.ArchARM }, 128 << 10},
		{"small buffers", func(c *P2PConfig) { c.BufferBytes[coll.Simple] = 1 << 20 }, 128 << 10},
		{"as the user says", func(c *P2PConfig) { c.NVLinkChunk = 64 << 10 }, 64 << 10},
	} {
		c := p2pConfig(consecutive(8), 32, 32)
		test.change(c)
		require.Equal(t, test.want, newP2P(t, c).ChunkBytes(), test.name)
	}
}

// TestFirstChannels: rounds that follow one another in a node have channels far
// apart; between nodes those of a batch share theirs.
func TestFirstChannels(t *testing.T) {
	one, two := newP2P(t, p2pConfig(consecutive(8), 16, 4)), newP2P(t, p2pConfig(consecutive(8, 8, 8), 16, 4))
	var in, between []int
	for round := range 8 {
		in = append(in, one.firstChannel(round))
		between = append(between, two.firstChannel(8*(round/3)+round))
	}
	require.Equal(t, []int{0, 8, 4, 12, 2, 10, 6, 14}, in)
	require.Equal(t, []int{0, 0, 0, 8, 8, 8, 4, 4}, between)
	require.Zero(t, newP2P(t, p2pConfig(consecutive(8), 1, 1)).firstChannel(5))
}

// TestAllToAll: every rank's plan has every peer once, in batches of up to 8, and
// both sides of each transfer agree.
func TestAllToAll(t *testing.T) {
	for _, nodes := range [][]int{{1}, {3}, {8}, {8, 8}, {8, 4, 8}, {72}, {5, 5, 5, 4}} {
		layout := consecutive(nodes...)
		p := newP2P(t, p2pConfig(layout, 16, 4))
		n := p.Schedule().NRanks()
		plans := make([]*P2PPlan, n)
		for rank := range n {
			var err error
			plans[rank], err = p.Plan(rank, allToAll(n, 1<<20), allToAll(n, 1<<20))
			require.NoError(t, err)
			require.Len(t, plans[rank].Exchanges, n)
			for _, batches := range plans[rank].Batches {
				for _, batch := range batches {
					require.LessOrEqual(t, len(batch), topo.P2PBatch)
				}
			}
		}
		require.True(t, completes(p.channels, plans), "%v", nodes)
	}
}

// completes runs the plans of all ranks on a machine without buffers, where a part
// moves only while both sides have it in the batch that their channel is at, and
// reports whether all batches end.
func completes(channels int, plans []*P2PPlan) bool {
	type part struct{ from, to, epoch, round, channel int }
	type place struct{ rank, channel int }
	at := map[place]int{}
	parts := func(rank, channel, batch int) (sends, recvs []part) {
		plan := plans[rank]
		for _, i := range plan.Batches[channel][batch] {
			e := &plan.Exchanges[i]
			k := (channel - e.Channel + channels) % channels
			if k < e.Send.Channels && e.Send.Peer != rank {
				sends = append(sends, part{rank, e.Send.Peer, e.Epoch, e.Round, channel})
			}
			if k < e.Recv.Channels && e.Recv.Peer != rank {
				recvs = append(recvs, part{e.Recv.Peer, rank, e.Epoch, e.Round, channel})
			}
		}
		return sends, recvs
	}
	offered := func(rank, channel int, p part, want func(sends, recvs []part) []part) bool {
		plan := plans[rank]
		if channel >= len(plan.Batches) {
			return false
		}
		// What a side is past has moved.
		for batch := range min(at[place{rank, channel}]+1, len(plan.Batches[channel])) {
			if slices.Contains(want(parts(rank, channel, batch)), p) {
				return true
			}
		}
		return false
	}
	for {
		moved, left := false, false
		for rank, plan := range plans {
			for channel := range plan.Batches {
				here := place{rank, channel}
				if at[here] == len(plan.Batches[channel]) {
					continue
				}
				left = true
				sends, recvs := parts(rank, channel, at[here])
				done := true
				for _, s := range sends {
					done = done && offered(s.to, channel, s, func(_, r []part) []part { return r })
				}
				for _, r := range recvs {
					done = done && offered(r.from, channel, r, func(s, _ []part) []part { return s })
				}
				if done {
					at[here]++
					moved = true
				}
			}
		}
		if !left || !moved {
			return !left
		}
	}
}

// TestTransfers: random sends and receives of all ranks, several to one peer among
// them, of random sizes: both sides agree on when, where and how each takes place,
// and all of them end whatever the order on other channels.
func TestTransfers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		var sizes []int
		for range 1 + r.IntN(4) {
			sizes = append(sizes, 1+r.IntN(8))
		}
		layout := consecutive(sizes...)
		c := p2pConfig(layout, 1<<r.IntN(5), 1)
		c.PerPeer = min(c.Channels, 1<<r.IntN(4))
		p := newP2P(t, c)
		n := p.Schedule().NRanks()
		sends, recvs := make([][]Transfer, n), make([][]Transfer, n)
		for range r.IntN(40) {
			from, to, bytes := r.IntN(n), r.IntN(n), r.Int64N(1<<r.IntN(28))
			sends[from] = append(sends[from], Transfer{to, bytes})
			recvs[to] = append(recvs[to], Transfer{from, bytes})
		}
		plans := make([]*P2PPlan, n)
		type when struct{ from, to, epoch, round int }
		type how struct {
			channel, channels, chunk int
			proto                    coll.Proto
			bytes                    int64
		}
		sent, received := map[when]how{}, map[when]how{}
		total := 0
		for rank := range n {
			plan, err := p.Plan(rank, sends[rank], recvs[rank])
			require.NoError(t, err)
			plans[rank] = plan
			total += len(sends[rank])
			var out, in []int
			for i := range plan.Exchanges {
				e := &plan.Exchanges[i]
				if h := e.Send; h.Task >= 0 {
					out = append(out, h.Task)
					require.Equal(t, sends[rank][h.Task], Transfer{h.Peer, h.Bytes})
					sent[when{rank, h.Peer, e.Epoch, e.Round}] = how{e.Channel, h.Channels, h.ChunkBytes, h.Proto, h.Bytes}
				}
				if h := e.Recv; h.Task >= 0 {
					in = append(in, h.Task)
					require.Equal(t, recvs[rank][h.Task], Transfer{h.Peer, h.Bytes})
					received[when{h.Peer, rank, e.Epoch, e.Round}] = how{e.Channel, h.Channels, h.ChunkBytes, h.Proto, h.Bytes}
				}
			}
			slices.Sort(out)
			slices.Sort(in)
			require.Len(t, slices.Compact(out), len(sends[rank]))
			require.Len(t, slices.Compact(in), len(recvs[rank]))
		}
		require.Equal(t, sent, received)
		require.Len(t, sent, total)
		require.True(t, completes(p.channels, plans))
	}
}

func TestP2PText(t *testing.T) {
	p := newP2P(t, p2pConfig(consecutive(2), 4, 2))
	plan, err := p.Plan(0, []Transfer{{1, 8}, {1, 1 << 20}}, []Transfer{{1, 100}})
	require.NoError(t, err)
	require.Equal(t, `SendRecv: 4 x 640 threads
  round 1, from channel 2 on: 8 bytes to rank 1 (LL, 1 channel, chunks of 32768); 100 bytes from rank 1 (LL, 1 channel, chunks of 32768)
  round 1 again, from channel 2 on: 1048576 bytes to rank 1 (Simple, 2 channels, chunks of 524288)
  channel 2: round 1
  channel 2 then: round 1 again
  channel 3: round 1 again
`, plan.String())
	plan, err = p.Plan(0, []Transfer{{0, 8}, {1, 8}}, []Transfer{{0, 8}, {1, 8}})
	require.NoError(t, err)
	require.Equal(t, `SendRecv: 3 x 640 threads
  round 0, from channel 0 on: 8 bytes to rank 0, and from rank 0 (Simple, 1 channel, chunks of 524288)
  round 1, from channel 2 on: 8 bytes to rank 1, and from rank 1 (LL, 1 channel, chunks of 32768)
  channel 0: round 0
  channel 2: round 1
`, plan.String())
	plan, err = p.Plan(0, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "nothing to launch\n", plan.String())
}

func TestP2PRefusals(t *testing.T) {
	p := newP2P(t, p2pConfig(consecutive(2), 4, 2))
	for _, test := range []struct {
		rank         int
		sends, recvs []Transfer
		want         string
	}{
		{2, nil, nil, "p2p: rank 2; 0 to 1 are allowed"},
		{0, []Transfer{{2, 1}}, nil, "p2p: send to rank 2: 1 bytes; ranks 0 to 1 and 0 or more bytes are allowed"},
		{0, nil, []Transfer{{1, -1}}, "p2p: receive from rank 1: -1 bytes"},
		{0, []Transfer{{0, 1}}, nil, "rank 0 sends itself something else than it receives from itself"},
		{0, []Transfer{{0, 1}}, []Transfer{{0, 2}}, "add a send and a receive of the same size"},
	} {
		_, err := p.Plan(test.rank, test.sends, test.recvs)
		require.ErrorContains(t, err, test.want)
	}
	for _, test := range []struct {
		change func(c *P2PConfig)
		want   string
	}{
		{func(c *P2PConfig) { c.Channels = 3 }, "p2p: 3 channels, 2 for each peer; powers of 2 up to 64 are allowed"},
		{func(c *P2PConfig) { c.PerPeer = 8 }, "the second not above the first"},
		{func(c *P2PConfig) { c.NumSteps = 0 }, "a FIFO of 0 slots"},
		{func(c *P2PConfig) { c.NetChunk = 8 }, "chunks of 8, 524288 and 131072 bytes; 16 or more are allowed"},
		{func(c *P2PConfig) { c.BufferBytes[coll.LL] = 128 }, "buffers of 128 bytes of LL"},
		{func(c *P2PConfig) { c.Nodes = nil }, "no nodes"},
	} {
		c := p2pConfig(consecutive(2), 4, 2)
		test.change(c)
		_, err := NewP2P(c)
		require.ErrorIs(t, err, result.ErrInvalidArgument)
		require.ErrorContains(t, err, test.want)
	}
}
