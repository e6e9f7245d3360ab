package planner

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
)

// chunkAlign is what the size of a chunk is a multiple of, bytes: the widest
// access of a kernel.
const chunkAlign = 16

// maxChunk returns the most data of a chunk of protocol p, bytes: what its
// slots hold besides flags (calcCollChunking, NCCL v2.30 src/enqueue.cc).
func (l *Limits) maxChunk(p coll.Proto) int {
	slot := l.BufferBytes[p] / l.NumSteps
	switch p {
	case coll.LL:
		slot /= 2
	case coll.LL128:
		slot = slot / 128 * 120
	}
	return slot * l.ChunkSteps[p] / chunkAlign * chunkAlign
}

// chunk returns the size of the chunks in which a channel moves its part of a
// call, of partBytes: as few chunks as fit the buffers, all of about one size.
func (m *Model) chunk(v coll.Variant, partBytes int64) int {
	// A ring all-reduce moves one chunk for each rank at a time; the parts of
	// the other functions are one rank's already.
	together := int64(1)
	if v.Func == coll.AllReduce {
		together = int64(m.nranks)
	}
	most := int64(m.limits.maxChunk(v.Proto))
	rounds := max(1, ceilDiv(partBytes, together*most))
	chunk := ceilDiv(partBytes, together*rounds)
	return int(max(chunkAlign, min(most, roundUp(chunk, chunkAlign))))
}

// partBytes returns the size of the largest part of a call among channels.
func (m *Model) partBytes(c Call, channels int) int64 {
	return ceilDiv(c.Count*int64(c.Type.Size()), int64(channels))
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, to int64) int64 { return ceilDiv(a, to) * to }

// pow2Up returns the smallest power of 2 that is at least n >= 1.
func pow2Up(n int) int { return 1 << bits.Len(uint(n-1)) }
