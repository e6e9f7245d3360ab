package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// Values of what varies in the tests here; package conformance covers the pairs
// of everything.
var (
	protos = []coll.Proto{coll.LL, coll.LL128, coll.Simple}
	ops    = every[coll.UserOp](coll.NumUserOps)
	types  = every[coll.DataType](coll.NumDataTypes)
	skews  = []struct{ send, recv int }{{0, 0}, {1, 1}, {0, 1}, {1, 0}, {3, 2}}
)

// every returns the first n values of an enumeration, which are all.
func every[E ~uint8](n int) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = E(i)
	}
	return all
}

func (r *run) name(on setup) string {
	return fmt.Sprintf("%v %v %v ranks=%d slot=%d count=%d skew=%d,%d inplace=%v channels=%d threads=%d",
		r.proto, r.op, r.dataType, on.ranks, on.slot, r.count, r.sendSkew, r.recvSkew, r.inPlace, on.channels, r.threads)
}

// Counts around every boundary of LL128: of a pack, a line, two lines, a row, a
// tile, a turn of a warp, of all warps, and of a step, where a second loop begins.
// The chunk of the last rank has the size, those of the others are rounded up to
// packs.
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
				r.chunk = min(step, max(16, (bytes+15)/16*16))
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
			o.Work[late].Threads = abi.WarpSize
			for rank := range nranks {
				if rank != late {
					c.launch(r.variant(), rank, r.threads, o.Work[rank:rank+1])
				}
			}
			c.Settle()
			c.launch(r.variant(), late, r.threads, o.Work[late:late+1])
			require.NoError(t, c.wait())
			c.check(o)
		})
	}
}
