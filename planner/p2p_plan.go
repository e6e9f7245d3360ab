package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// Transfer is a send to a peer, or a receive from one.
type Transfer struct {
	Peer  int
	Bytes int64
}

// P2PPlan is the launch that does the sends and receives of a group.
type P2PPlan struct {
	Variant  coll.Variant
	Channels int // CTAs: CTA i serves channel i
	Threads  int // of each CTA
	// Exchanges are what happens round by round.
	Exchanges []Exchange
	// Batches[channel] are the exchanges, as indexes, that the channel runs at once,
	// one batch after the other.
	Batches [][][]int
}

// Exchange is what a rank sends and receives in a round. Parts 0, 1 and so on of
// both halves are moved by the channels from Channel on, counted around.
type Exchange struct {
	// Epoch counts the times that the rounds are gone through: once for each
	// further send to a peer, or receive from it.
	Epoch, Round int
	Channel      int
	Send, Recv   Half
}

// channels returns how many channels take part.
func (e *Exchange) channels() int { return max(e.Send.Channels, e.Recv.Channels) }

// Plan plans what a rank sends and receives in a group, in the order of the
// schedule. What one rank sends and another receives has the same epoch, round,
// channels and parts on both. A rank that sends to itself receives as much from
// itself.
func (p *P2P) Plan(rank int, sends, recvs []Transfer) (*P2PPlan, error) {
	if rank < 0 || rank >= p.schedule.NRanks() {
		return nil, result.New(result.InvalidArgument, "p2p", "rank %d; 0 to %d are allowed", rank, p.schedule.NRanks()-1)
	}
	out, err := p.due("send to", sends, func(peer int) int { return p.schedule.SendRound(rank, peer) })
	if err != nil {
		return nil, err
	}
	in, err := p.due("receive from", recvs, func(peer int) int { return p.schedule.SendRound(peer, rank) })
	if err != nil {
		return nil, err
	}
	plan := &P2PPlan{Variant: coll.Variant{Func: coll.SendRecv}, Threads: abi.MaxThreads}
	for len(out) > 0 || len(in) > 0 {
		at := nextDue(out, in)
		peers := p.schedule.Round(rank, at.round)
		e := Exchange{
			Epoch: at.epoch, Round: at.round, Channel: p.firstChannel(at.round),
			Send: Half{Task: -1, Peer: peers.Send}, Recv: Half{Task: -1, Peer: peers.Recv},
		}
		if len(out) > 0 && out[0].at == at {
			e.Send = p.half(rank, peers.Send, out[0].task, sends[out[0].task].Bytes)
			out = out[1:]
		}
		if len(in) > 0 && in[0].at == at {
			e.Recv = p.half(rank, peers.Recv, in[0].task, recvs[in[0].task].Bytes)
			in = in[1:]
		}
		if peers.Send == rank && (e.Send.Task < 0 || e.Recv.Task < 0 || e.Send.Bytes != e.Recv.Bytes) {
			return nil, result.New(result.InvalidUsage, "p2p", "rank %d sends itself something else than it receives from itself; add a send and a receive of the same size", rank).At(rank)
		}
		plan.Exchanges = append(plan.Exchanges, e)
	}
	plan.batch(p.channels)
	return plan, nil
}

// due is a transfer and when it takes place.
type due struct {
	at   moment
	task int
}

type moment struct{ epoch, round int }

func (a moment) compare(b moment) int {
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.round, b.round))
}

// due returns when transfers take place, in order: the k-th with a peer in the k-th
// epoch.
func (p *P2P) due(what string, transfers []Transfer, round func(peer int) int) ([]due, error) {
	list := make([]due, len(transfers))
	for i, t := range transfers {
		if t.Peer < 0 || t.Peer >= p.schedule.NRanks() || t.Bytes < 0 {
			return nil, result.New(result.InvalidArgument, "p2p", "%s rank %d: %d bytes; ranks 0 to %d and 0 or more bytes are allowed", what, t.Peer, t.Bytes, p.schedule.NRanks()-1)
		}
		list[i] = due{moment{0, round(t.Peer)}, i}
	}
	slices.SortStableFunc(list, func(a, b due) int { return a.at.compare(b.at) })
	for i := 1; i < len(list); i++ {
		if list[i].at.round == list[i-1].at.round {
			list[i].at.epoch = list[i-1].at.epoch + 1
		}
	}
	slices.SortFunc(list, func(a, b due) int { return a.at.compare(b.at) })
	return list, nil
}

// nextDue returns the moment of the first of two lists, not both empty.
func nextDue(a, b []due) moment {
	if len(b) == 0 || len(a) > 0 && a[0].at.compare(b[0].at) < 0 {
		return a[0].at
	}
	return b[0].at
}

// batch divides the exchanges of each channel: up to topo.P2PBatch of one epoch, in
// rounds of one block of topo.P2PBatch rounds, so that all ranks cut at the same rounds
// whatever they send (ncclAddWorkBatchToPlan, NCCL v2.30 src/enqueue.cc).
func (plan *P2PPlan) batch(channels int) {
	block := func(e *Exchange) moment { return moment{e.Epoch, e.Round / topo.P2PBatch} }
	all := make([][][]int, channels)
	for i := range plan.Exchanges {
		e := &plan.Exchanges[i]
		for k := range e.channels() {
			ch := (e.Channel + k) % channels
			batches := all[ch]
			if n := len(batches); n > 0 && block(&plan.Exchanges[batches[n-1][0]]) == block(e) {
				batches[n-1] = append(batches[n-1], i)
			} else {
				all[ch] = append(batches, []int{i})
			}
			plan.Channels = max(plan.Channels, ch+1)
		}
	}
	plan.Batches = all[:plan.Channels]
}

// String returns the plan for people: each exchange with its channels and bytes, then
// the rounds that each channel runs at once.
func (plan *P2PPlan) String() string {
	if len(plan.Exchanges) == 0 {
		return "nothing to launch\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d x %d threads\n", plan.Variant, plan.Channels, plan.Threads)
	for i := range plan.Exchanges {
		e := &plan.Exchanges[i]
		fmt.Fprintf(&b, "  %s, from channel %d on: %s\n", e.when(), e.Channel, e.what())
	}
	for ch, batches := range plan.Batches {
		for k, batch := range batches {
			what := "  channel %d:"
			if k > 0 {
				what = "  channel %d then:"
			}
			fmt.Fprintf(&b, what, ch)
			for i, exchange := range batch {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(" " + plan.Exchanges[exchange].when())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// when names the round.
func (e *Exchange) when() string {
	if e.Epoch > 0 {
		return fmt.Sprintf("round %d again", e.Round)
	}
	return fmt.Sprintf("round %d", e.Round)
}

// what says what is sent and received.
func (e *Exchange) what() string {
	to, from := fmt.Sprintf("to rank %d", e.Send.Peer), fmt.Sprintf("from rank %d", e.Recv.Peer)
	switch {
	case e.Recv.Task < 0:
		return e.Send.text(to)
	case e.Send.Task < 0:
		return e.Recv.text(from)
	case e.Send.alike(&e.Recv):
		return e.Send.text(to + ", and " + from)
	}
	return e.Send.text(to) + "; " + e.Recv.text(from)
}

// alike reports whether nothing but the peer differs.
func (h *Half) alike(o *Half) bool {
	return h.Bytes == o.Bytes && h.Channels == o.Channels && h.Proto == o.Proto && h.ChunkBytes == o.ChunkBytes
}

func (h *Half) text(where string) string {
	channels := "1 channel"
	if h.Channels > 1 {
		channels = fmt.Sprintf("%d channels", h.Channels)
	}
	return fmt.Sprintf("%d bytes %s (%s, %s, chunks of %d)", h.Bytes, where, h.Proto, channels, h.ChunkBytes)
}
