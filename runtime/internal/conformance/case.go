package conformance

import (
	"cmp"
	"fmt"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/cluster"
)

// Case is everything about a run but the kernel, the memory model and the seed.
type Case struct {
	Type      coll.DataType
	Op        coll.UserOp
	OnDevice  bool // the scalar of mulsum is in device memory
	Ranks     int
	Channels  int
	FIFO      int64 // bytes of a connection's FIFO of each protocol
	FirstStep uint64
	Chunk     int // bytes
	Count     int // elements
	Send      int // elements that the send buffer is off a boundary
	Recv      int // elements that the receive buffer is off a boundary
	InPlace   bool
	Threads   int // of a CTA
	Workers   int // of them, those that move data
	Calls     int // one after the other
	Launches  int // that the calls are spread over: all in one, or one each
	// Late: one rank is launched only when the others can do nothing more without
	// it, and moves its data with one warp.
	Late bool
}

// Cases returns the cases of a kernel, given by its canonical variant: a pairwise
// covering array of all axes, then long rings. The same variant has the same
// cases.
func Cases(v coll.Variant) []Case {
	kinds := serves(v)
	var all []Case
	for _, row := range pairwise(axisSizes(len(kinds)), uint64(v.ID())) {
		all = append(all, newCase(v.Proto, kinds, row))
	}
	for i := range numLongRings {
		all = append(all, longRing(v.Proto, all[i]))
	}
	return all
}

// A rank of a ring of n ranks is never more than n steps of LL or LL128 ahead of
// the next one, so in a ring of up to NumSteps ranks no sender waits for credit. These rings
// are longer, and one rank comes late: the rank before it has then filled its
// FIFO, and takes each slot again as soon as it may, while the late one still uses
// what it loaded.
const (
	numLongRings  = 4
	longRingRanks = abi.NumSteps + 4
	longRingSlot  = 2 << 10 // bytes
)

// longRing makes a long ring of a case: all chunks are whole.
func longRing(proto coll.Proto, c Case) Case {
	c.Ranks, c.Channels, c.Late = longRingRanks, 1, true
	c.FIFO = longRingSlot * abi.NumSteps
	c.Chunk = cluster.MostChunkBytes(proto, longRingSlot)
	c.Count = longRingRanks * c.Chunk / c.Type.Size()
	c.Threads, c.Workers = 96, 96
	c.Calls, c.Launches = 1, 1
	return c
}

// The axes of a row.
const (
	axisServed = iota
	axisRanks
	axisFIFO
	axisChannels
	axisThreads
	axisPlace
	axisFirstStep
	axisPart
	axisCalls
	axisCount
)

func axisSizes(served int) []int {
	return []int{
		axisServed: served, axisRanks: len(rankCounts), axisFIFO: len(fifoBytes), axisChannels: len(channels),
		axisThreads: len(threads), axisPlace: len(places), axisFirstStep: len(firstSteps), axisPart: len(parts),
		axisCalls: len(calls), axisCount: len(counts),
	}
}

func newCase(proto coll.Proto, kinds []served, row []int) Case {
	kind, place, call := kinds[row[axisServed]], places[row[axisPlace]], calls[row[axisCalls]]
	c := Case{
		Type: kind.dataType, Op: kind.op, OnDevice: kind.onDevice,
		Ranks: rankCounts[row[axisRanks]], Channels: channels[row[axisChannels]],
		FIFO: fifoBytes[row[axisFIFO]], FirstStep: firstSteps[row[axisFirstStep]],
		Send: place.send, Recv: place.recv, InPlace: place.inPlace,
		Threads: cmp.Or(threads[row[axisThreads]].launched, mostThreads[proto]),
		Workers: cmp.Or(threads[row[axisThreads]].workers, mostThreads[proto]),
		Calls:   call.calls, Launches: call.launches,
	}
	slot := cluster.SlotBytes(c.FIFO)
	c.Chunk = max(16, cluster.MostChunkBytes(proto, slot)/parts[row[axisPart]]/16*16)
	n := counts[row[axisCount]]
	// The channels share the elements: each has its own boundaries.
	c.Count = c.Channels * n.of(c.Ranks, n.boundary.bytes(proto, slot, c.Chunk), c.Type.Size())
	return c
}

// String returns the case in words.
func (c *Case) String() string {
	place := fmt.Sprintf("out of place +%d +%d", c.Send, c.Recv)
	if c.InPlace {
		place = fmt.Sprintf("in place +%d", c.Send)
	}
	kind := fmt.Sprintf("%v %v", c.Op, c.Type)
	if c.OnDevice {
		kind += " by a scalar on the device"
	}
	if c.Late {
		kind += ", a rank comes late"
	}
	return fmt.Sprintf("%s, %d ranks, %d elements %s, %d channels, %d of %d threads, FIFO of %d, chunks of %d, %d calls in %d launches from step %#x",
		kind, c.Ranks, c.Count, place, c.Channels, c.Workers, c.Threads, c.FIFO, c.Chunk, c.Calls, c.Launches, c.FirstStep)
}
