package cluster

import (
	"fmt"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// Call is one all-reduce with everything that may vary.
type Call struct {
	Proto    coll.Proto
	Op       coll.UserOp
	Type     coll.DataType
	Count    int // elements
	SendSkew int // elements that the send buffers are off a 512-byte boundary
	RecvSkew int
	InPlace  bool
	// Workers is how many threads of a CTA move data, at most those that are
	// launched; whole warps.
	Workers    int
	ChunkBytes int // 0: the most that Proto's slots allow
	// ChannelLo and ChannelHi are the first and the last channel.
	ChannelLo, ChannelHi int
	// ScalarOnDevice: the scalar of mulsum is in device memory, not in the work.
	ScalarOnDevice bool
	// Divisor is what an average of integers divides by; 0: the number of ranks.
	Divisor int
	// Seed chooses the elements and the scalars.
	Seed uint64
	// Value and Scalar, if not nil, give the elements and the scalars instead.
	Value  func(rank, i int) uint64
	Scalar func(rank int) uint64
}

// Variant returns the variant of the kernel that serves the call, by the unsigned
// type where there is one.
func (c *Call) Variant() coll.Variant {
	return coll.Variant{Func: coll.AllReduce, Op: c.Op.Device(c.Type), Type: c.Type.Unsigned(), Algo: coll.Ring, Proto: c.Proto}
}

// SlotBytes returns the size of a slot of a FIFO of the given size.
func SlotBytes(fifoBytes int64) int { return int(fifoBytes / abi.NumSteps) }

// MostChunkBytes returns the most bytes that a chunk may have with slots of the
// given size (abi.Work.ChunkBytes).
func MostChunkBytes(p coll.Proto, slotBytes int) int {
	switch p {
	case coll.LL:
		return slotBytes / abi.LLLineBytes * abi.LLDataBytes
	case coll.LL128:
		return slotBytes / abi.LL128LineBytes * abi.LL128DataBytes
	case coll.Simple:
		return slotBytes * abi.SimpleChunkSteps
	}
	panic(fmt.Sprintf("nccl: BUG: no chunks of %v", p))
}

// part is a channel's share, in elements.
type part struct{ first, count int }

// split shares the call's elements among its channels, unevenly, as a planner
// would not, but may, and notes the shares in a work.
func (c *Call) split(w *abi.Work) []part {
	n := c.ChannelHi - c.ChannelLo + 1
	lo := c.Count / n
	mid := 0
	if n > 2 {
		mid = (c.Count - lo) / n
	}
	hi := c.Count - lo - max(0, n-2)*mid
	if n == 1 {
		hi = lo
	}
	w.CountLo, w.CountMid, w.CountHi = uint64(lo), uint64(mid), uint64(hi)
	var parts []part
	first := 0
	for i := range n {
		count := mid
		switch i {
		case 0:
			count = lo
		case n - 1:
			count = hi
		}
		parts = append(parts, part{first, count})
		first += count
	}
	return parts
}
