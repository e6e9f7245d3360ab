package devcomm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// The dimensions of an all-reduce. Counts are given in chunks of one rank and
// elements beside them.
var (
	protos = []coll.Proto{coll.LL, coll.Simple}
	ops    = []coll.UserOp{coll.OpSum, coll.OpProd, coll.OpMin, coll.OpMax, coll.OpAvg, coll.OpMulSum}
	types  = every[coll.DataType](coll.NumDataTypes)
	ranks  = []int{1, 2, 3, 5, 8}
	counts = []struct {
		chunks, packs, elements int
		loop                    bool // chunks of all ranks rather than of one
	}{
		{}, {elements: 1}, {elements: 2}, {elements: 3}, {packs: 1, elements: -1}, {packs: 1}, {packs: 1, elements: 1},
		{chunks: 1, elements: -1}, {chunks: 1}, {chunks: 1, elements: 1}, {chunks: 1, packs: 3, elements: 1},
		{chunks: 1, elements: -1, loop: true}, {chunks: 1, loop: true}, {chunks: 3, elements: 5, loop: true},
	}
	skews    = []struct{ send, recv int }{{0, 0}, {1, 1}, {0, 1}, {1, 0}, {3, 2}}
	places   = []bool{false, true}
	slots    = []slot{smallSlot, largeSlot}
	channels = []int{1, 2, 3}
	threads  = []int{32, 96, 512}
)

// every returns the first n values of an enumeration, which are all.
func every[E ~uint8](n int) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = E(i)
	}
	return all
}

// sampled holds an index into each dimension.
type sampled [9]int

var dimensions = sampled{
	len(protos), len(ops), len(types), len(ranks), len(counts), len(skews), len(places), len(channels) * len(threads), len(slots),
}

// pairwise returns combinations in which every two values of any two dimensions
// meet.
func pairwise(seed uint64) []sampled {
	rng := rand.New(rand.NewPCG(seed, 0))
	type pair struct{ d1, v1, d2, v2 int }
	open := map[pair]bool{}
	for d1 := range dimensions {
		for d2 := range d1 {
			for v1 := range dimensions[d1] {
				for v2 := range dimensions[d2] {
					open[pair{d1, v1, d2, v2}] = true
				}
			}
		}
	}
	pairs := func(s sampled) (all []pair) {
		for d1 := range s {
			for d2 := range d1 {
				all = append(all, pair{d1, s[d1], d2, s[d2]})
			}
		}
		return all
	}
	var result []sampled
	for len(open) > 0 {
		var best sampled
		most := 0
		for range 40 {
			var s sampled
			for d := range s {
				s[d] = rng.IntN(dimensions[d])
			}
			covers := 0
			for _, p := range pairs(s) {
				if open[p] {
					covers++
				}
			}
			if covers > most {
				best, most = s, covers
			}
		}
		if most == 0 {
			continue
		}
		for _, p := range pairs(best) {
			delete(open, p)
		}
		result = append(result, best)
	}
	return result
}

func (s sampled) run(seed uint64) (run, setup) {
	nranks := ranks[s[3]]
	nchannels := channels[s[7]/len(threads)]
	on := setup{ranks: nranks, channels: nchannels, slot: slots[s[8]], seed: seed}
	r := run{
		proto: protos[s[0]], op: ops[s[1]], dataType: types[s[2]], onDevice: seed%2 == 1,
		sendSkew: skews[s[5]].send, recvSkew: skews[s[5]].recv, inPlace: places[s[6]],
		threads: threads[s[7]%len(threads)], channels: []int{0, nchannels - 1},
	}
	c := counts[s[4]]
	chunk := on.slot.chunk(r.proto) / r.dataType.Size()
	if c.loop {
		chunk *= nranks
	}
	r.count = max(0, c.chunks*chunk+c.packs*16/r.dataType.Size()+c.elements)
	return r, on
}

func (r *run) name(on setup) string {
	return fmt.Sprintf("%v %v %v ranks=%d slot=%d count=%d skew=%d,%d inplace=%v channels=%d threads=%d",
		r.proto, r.op, r.dataType, on.ranks, on.slot, r.count, r.sendSkew, r.recvSkew, r.inPlace, on.channels, r.threads)
}

func TestAllReduce(t *testing.T) {
	var cases []sampled
	if testing.Short() {
		cases = pairwise(0)[:20]
	} else {
		for seed := range uint64(3) {
			cases = append(cases, pairwise(seed)...)
		}
	}
	for i, s := range cases {
		r, on := s.run(uint64(i))
		t.Run(r.name(on), func(t *testing.T) {
			c := newCluster(t, on)
			c.all(&r, uint64(i))
			require.NoError(t, c.comms.Close())
		})
	}
}

// all runs an all-reduce on all ranks of a cluster and checks it.
func (c *cluster) all(r *run, seed uint64) {
	c.t.Helper()
	o := c.allReduce(r, seed)
	require.NoError(c.t, c.wait())
	c.check(o)
}

// Chunks may be smaller than the slots.
func TestSmallChunks(t *testing.T) {
	for _, proto := range protos {
		for _, chunk := range []int{16, 48, smallSlot.chunk(coll.LL) - 16} {
			t.Run(fmt.Sprintf("%v %d bytes", proto, chunk), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 3, channels: 1})
				c.all(&run{
					proto: proto, op: coll.OpSum, dataType: coll.Float16, count: 777, threads: 64, chunk: chunk, channels: []int{0, 0},
				}, 1)
			})
		}
	}
}

// A rank comes late, to a ring of more ranks than a FIFO has slots, and with one
// warp to move its data: its previous rank has filled the FIFO and with all its
// warps takes each slot again as soon as there is credit for it, so a credit
// given before the data was read shows.
func TestLateRank(t *testing.T) {
	const nranks, late = 2 * abi.NumSteps, 3
	for _, proto := range protos {
		t.Run(proto.String(), func(t *testing.T) {
			c := newCluster(t, setup{ranks: nranks, channels: 1, slot: 512 * abi.LLLineBytes, grace: 5 * time.Second})
			r := &run{proto: proto, op: coll.OpSum, dataType: coll.Uint32, threads: 512, channels: []int{0, 0}}
			r.count = nranks * c.slot.chunk(coll.LL) / 4
			o := c.prepare(r, 1)
			o.work[late].Threads = abi.WarpSize
			for rank := range nranks {
				if rank != late {
					c.launch(r.variant(), rank, r.threads, o.work[rank:rank+1])
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, c.streams[0].Synchronize(ctx), context.DeadlineExceeded)
			c.launch(r.variant(), late, r.threads, o.work[late:late+1])
			require.NoError(t, c.wait())
			c.check(o)
		})
	}
}
