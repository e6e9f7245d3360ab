package conformance

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/cluster"
)

// The axes and their values. What a kernel serves (types that share it,
// operators that its argument tells apart) is an axis too: see served.
var (
	rankCounts = []int{1, 2, 3, 4, 5, 8}
	fifoBytes  = []int64{8 << 10, 24 << 10, 64 << 10}
	channels   = []int{1, 2}
	// threads are how many a CTA has, and how many of them move data; 0: the most
	// that the protocol's kernels take.
	threads = []struct{ launched, workers int }{{32, 32}, {96, 96}, {160, 64}, {0, 0}}
	// places are where the buffers lie: elements off a boundary, or in place.
	places = []struct {
		send, recv int
		inPlace    bool
	}{{0, 0, false}, {1, 1, false}, {0, 1, false}, {1, 0, false}, {0, 0, true}, {1, 1, true}}
	// firstSteps are the steps that connections start at. LL's slots are rewritten
	// at the first steps from each multiple of 2^30 on, and its flags have 32 bits; an
	// odd step is where slices of Simple do not begin at an even slot.
	firstSteps = []uint64{0, 1<<31 - 16, 1<<32 - 16, 1<<32 - 5}
	// parts are what a channel's chunks are of the largest.
	parts = []int{1, 3}
	// calls are how many follow one another, and in how many launches.
	calls = []struct{ calls, launches int }{{1, 1}, {3, 1}, {3, 3}}
	// counts are how many elements are reduced: multiples of a boundary, and
	// elements beside it.
	counts = countAxis()
)

// count is a number of elements: times a boundary for each rank or for all of
// them together, and elements more or fewer.
type count struct {
	boundary boundary
	times    int
	each     bool // the boundary is in the share of one rank
	elements int
}

// boundary is a size at which something changes in how data is moved.
type boundary uint8

const (
	none  boundary = iota
	pack           // 16 bytes: the largest access of a thread
	line           // data of a line, or of two lines of LL128, which share packs
	turn           // what a warp moves in a turn of its loop
	slice          // of Simple; a step of LL and LL128
	chunk          // the most that a rank passes on at once
)

func countAxis() []count {
	all := []count{{}, {elements: 1}, {elements: 2}, {boundary: chunk, times: 2, each: true, elements: 5}}
	for b := pack; b <= chunk; b++ {
		for elements := -1; elements <= 1; elements++ {
			all = append(all, count{b, 1, false, elements}, count{b, 1, true, elements})
		}
	}
	return all
}

// bytes returns the boundary's size for a protocol.
func (b boundary) bytes(p coll.Proto, slotBytes, chunkBytes int) int {
	switch b {
	case pack:
		return 16
	case line:
		return lineBytes[p]
	case turn:
		return turnBytes[p]
	case slice:
		if p == coll.Simple {
			return min(chunkBytes, abi.SimpleSliceSteps*slotBytes)
		}
		return min(chunkBytes, cluster.MostChunkBytes(p, slotBytes))
	case chunk:
		return chunkBytes
	}
	return 0
}

// mostThreads are the launch bounds.
var mostThreads = [coll.NumProtos]int{
	coll.LL: abi.MaxThreadsLL, coll.LL128: abi.MaxThreadsLL128, coll.Simple: abi.MaxThreadsSimple,
}

// lineBytes and turnBytes are the protocols' boundaries of data in a line and in
// a warp's turn (templates/cuda/proto_*.cuh). Simple has no lines; half a pack is
// where it stops moving packs of 16 bytes.
var (
	lineBytes = [coll.NumProtos]int{coll.LL: abi.LLDataBytes, coll.LL128: 2 * abi.LL128DataBytes, coll.Simple: 8}
	turnBytes = [coll.NumProtos]int{
		coll.LL: abi.WarpSize * abi.LLDataBytes, coll.LL128: 2 * abi.LL128TileBytes / abi.LL128LineBytes * abi.LL128DataBytes, coll.Simple: 4 * abi.WarpSize * 16,
	}
)

// of returns the count in elements of a size, for a boundary of so many bytes.
func (c count) of(ranks, boundaryBytes, elementBytes int) int {
	n := c.times * boundaryBytes / elementBytes
	if c.each {
		n *= ranks
	}
	return max(0, n+c.elements)
}

// served is what a kernel serves: a type that it is the kernel of, and an
// operator of callers.
type served struct {
	dataType coll.DataType
	op       coll.UserOp
	onDevice bool // the operator's scalar
}

// serves returns what the kernel of a canonical variant serves.
func serves(v coll.Variant) []served {
	var all []served
	for t := range coll.DataType(coll.NumDataTypes) {
		if t != v.Type && t.Unsigned() != v.Type {
			continue
		}
		for op := range coll.UserOp(coll.NumUserOps) {
			if op.Device(t) != v.Op {
				continue
			}
			all = append(all, served{t, op, false})
			if op == coll.OpMulSum {
				all = append(all, served{t, op, true})
			}
		}
	}
	return all
}
