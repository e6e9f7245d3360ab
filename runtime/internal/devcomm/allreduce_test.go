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
	protos = []coll.Proto{coll.LL, coll.LL128, coll.Simple}
	ops    = []coll.UserOp{coll.OpSum, coll.OpProd, coll.OpMin, coll.OpMax, coll.OpAvg, coll.OpMulSum}
	types  = every[coll.DataType](coll.NumDataTypes)
	ranks  = []int{1, 2, 3, 4, 5, 8}
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

// Counts around every boundary of LL128: of a pack, a line, two lines, a row, a
// tile, a turn of a warp, of all warps, and of a step. The chunk of the last rank
// has the size, those of the others are rounded up to packs.
func TestLL128Boundaries(t *testing.T) {
	const row, tile = abi.LL128TileBytes / 2, abi.LL128TileBytes / abi.LL128LineBytes * abi.LL128DataBytes
	step := largeSlot.chunk(coll.LL128)
	sizes := []int{
		16, 7 * 16, abi.LL128DataBytes, abi.LL128LineBytes, 2 * abi.LL128DataBytes, row - 16, row, tile - 16, tile, tile + row,
		2*tile - 16, 2 * tile, 3 * tile, 4 * tile, step - tile, step, step + 16, step + 2*tile,
	}
	on := []setup{{ranks: 2, channels: 1, slot: largeSlot}, {ranks: 3, channels: 1, slot: largeSlot}}
	for i, size := range sizes {
		for _, more := range []int{-1, 0, 1} {
			for k, skew := range skews {
				n := i + 3*k + more + 1
				r := run{
					proto: coll.LL128, op: coll.OpSum, dataType: types[n%len(types)], sendSkew: skew.send, recvSkew: skew.recv,
					inPlace: n%4 == 0, threads: []int{32, 96, abi.MaxThreadsLL128}[n%3], channels: []int{0, 0},
				}
				bytes := size + more*r.dataType.Size()
				r.chunk = max(16, (bytes+15)/16*16)
				on := on[n%2]
				r.count = ((on.ranks-1)*r.chunk + bytes) / r.dataType.Size()
				t.Run(r.name(on), func(t *testing.T) {
					on.seed = uint64(n)
					newCluster(t, on).all(&r, uint64(n))
				})
			}
		}
	}
}

// Ranks may share a GPU: a connection then lies in memory of its own GPU.
func TestRanksOnOneGPU(t *testing.T) {
	for _, proto := range protos {
		for _, gpus := range []int{1, 2} {
			t.Run(fmt.Sprintf("%v %d GPUs", proto, gpus), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 4, gpus: gpus, channels: 2, slot: largeSlot})
				c.all(&run{
					proto: proto, op: coll.OpSum, dataType: coll.Float32, count: 3*4*largeSlot.chunk(proto)/4 + 5, threads: 96,
					channels: []int{0, 1},
				}, 1)
			})
		}
	}
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
