package planner

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/coll"
)

// chunkAlign is what the size of a chunk is a multiple of, bytes: the widest
// access of a kernel.
const chunkAlign = 16

// slicesPerChunk is into how many slices a chunk of several slots is cut, so that
// the next rank begins with the first while the second is under way
// (ALLREDUCE_CHUNKSTEPS over ALLREDUCE_SLICESTEPS, NCCL v2.30
// src/include/collectives.h).
const slicesPerChunk = 2

// slowNVLSBW is the bandwidth of an all-reduce below which small chunks of NVLS
// between nodes keep the network busy, GB/s (calcCollChunking, NCCL v2.30
// src/enqueue.cc).
const slowNVLSBW = 150

// slotData returns the data that a slot of protocol p holds besides flags, bytes.
func (l *Limits) slotData(p coll.Proto) int {
	slot := l.BufferBytes[p] / l.NumSteps
	switch p {
	case coll.LL:
		slot /= 2
	case coll.LL128:
		slot = slot / 128 * 120
	}
	return slot
}

// maxChunk returns the most data of a chunk of protocol p, bytes.
func (l *Limits) maxChunk(p coll.Proto) int {
	return l.slotData(p) * l.ChunkSteps[p] / chunkAlign * chunkAlign
}

// steps returns how many slots a chunk takes, and how many one of its slices
// (calcCollChunking, NCCL v2.30 src/enqueue.cc, and the *_CHUNKSTEPS of
// src/include/collectives.h): several in rings whose ranks all have data to send
// from the beginning. What is passed on from one rank through all others moves in
// small pieces.
func (l *Limits) steps(v coll.Variant) (chunk, slice int) {
	if v.Algo != coll.Ring {
		return 1, 1
	}
	switch v.Func {
	case coll.AllReduce, coll.AllGather, coll.ReduceScatter:
		chunk = l.ChunkSteps[v.Proto]
		return chunk, max(1, chunk/slicesPerChunk)
	}
	return 1, 1
}

// grain is what NCCL's chunks are multiples of, bytes (ncclProtoGrainSize, NCCL
// v2.30 src/include/device.h).
var grain = [coll.NumProtos]int{coll.LL: 16, coll.LL128: 1920, coll.Simple: 512}

// chunksPerLoop returns how many chunks of a channel's part are under way
// together: one of each rank, or of each head of a node. Of functions whose count
// is that of one rank, the part is too.
func (f *Facts) chunksPerLoop(v coll.Variant) int {
	switch v.Algo {
	case coll.Ring, coll.TwoShot:
		if v.Func == coll.AllReduce {
			return f.NRanks
		}
	case coll.NVLS, coll.NVLSTree:
		return max(1, f.NVLSHeads)
	case coll.CollNetDirect:
		return max(1, f.DirectHeads)
	}
	return 1
}

// chunk returns the size of the chunks in which a channel moves its part of a
// call, of partBytes of what the call counts.
func (m *Model) chunk(v coll.Variant, partBytes int64) int {
	chunkSteps, _ := m.limits.steps(v)
	most := m.limits.slotData(v.Proto) * chunkSteps / chunkAlign * chunkAlign
	switch v.Algo {
	case coll.Ring, coll.OneShot, coll.TwoShot:
		return evenChunk(partBytes, m.facts.chunksPerLoop(v), most)
	}
	// NCCL counts the bytes of all ranks.
	all := partBytes
	if v.Func == coll.AllGather || v.Func == coll.ReduceScatter {
		all *= int64(m.nranks)
	}
	size := m.chunkAsNCCL(v, all, most)
	return max(chunkAlign, size/grain[v.Proto]*grain[v.Proto])
}

// evenChunk returns the size of chunks of which so many are under way together:
// the fewest that fit the buffers, all of about one size, since a small one at the
// end costs as much time as a large one.
func evenChunk(bytes int64, together, most int) int {
	rounds := max(1, ceilDiv(bytes, int64(together)*int64(most)))
	size := ceilDiv(bytes, int64(together)*rounds)
	return int(max(chunkAlign, min(int64(most), roundUp(size, chunkAlign))))
}

// chunkAsNCCL returns NCCL's size of chunks for all bytes of a channel's part: what a
// slot holds, or less, so that enough of them are under way (calcCollChunking,
// NCCL v2.30 src/enqueue.cc). Each pair is a number of loops and a size: a chunk
// above the size is halved, or cut to it, while it makes fewer loops.
func (m *Model) chunkAsNCCL(v coll.Variant, bytes int64, most int) int {
	type bound struct{ loops, size int }
	f := &m.facts
	size := most
	together := f.chunksPerLoop(v)
	halve := func(bounds ...bound) {
		for _, b := range bounds {
			for size > b.size && bytes/int64(together*size) < int64(b.loops) {
				size /= 2
			}
		}
	}
	cut := func(bounds ...bound) {
		for _, b := range bounds {
			if size > b.size && bytes < int64(b.loops)*int64(together*size) {
				size = b.size
			}
		}
	}
	switch {
	case v.Algo == coll.CollNetDirect:
		depth := min(f.MaxLocalRanks, 2) // 2 if other ranks send to the heads
		halve(bound{64 * depth, 128 << 10}, bound{8 * depth, 64 << 10}, bound{8 * depth, 32 << 10})
	case v.Algo == coll.CollNetChain:
		size = min(256<<10, size)
		depth := f.NRanks / f.NNodes
		halve(bound{64 * depth, 128 << 10}, bound{8 * depth, 64 << 10}, bound{depth, 32 << 10})
	case v.Algo == coll.NVLS:
		size = min(size, f.NVLSChunkBytes)
		if f.NNodes > 1 && m.Bandwidth(coll.AllReduce, coll.NVLS, coll.Simple) < slowNVLSBW {
			size = min(size, 32<<10)
		}
		cut(bound{64, 64 << 10}, bound{8, 32 << 10}, bound{2, 16 << 10})
	case v.Algo == coll.NVLSTree:
		size = min(f.NVLSChunkBytes, f.NVLSTreeChunkBytes)
		cut(bound{32, 256 << 10}, bound{16, 128 << 10}, bound{4, 64 << 10}, bound{1, 32 << 10})
	case v.Algo == coll.Tree && v.Proto == coll.LL128:
		size = f.treeChunk(bytes, size)
	case v.Algo == coll.PAT && v.Func == coll.AllGather:
		halve(bound{32, 64 << 10})
	case v.Algo == coll.PAT && v.Func == coll.ReduceScatter:
		halve(bound{16, 64 << 10})
	}
	return size
}

// treeChunk returns the size of chunks of trees with LL128: the deeper the trees,
// the more chunks fill them.
func (f *Facts) treeChunk(bytes int64, size int) int {
	ranks := float32(f.NRanks) / float32(f.NNodes)
	depth := float32(float64(bits.Len(uint(f.NNodes))) + float64(0.1*float64(ranks)))
	for _, b := range []struct {
		loops float32
		size  int
	}{{64, 128 << 10}, {16, 32 << 10}} {
		for size > b.size && float32(bytes/int64(size)) < float32(depth*b.loops)/ranks {
			size /= 2
		}
	}
	return size
}

// partBytes returns the size of the largest part of a call among channels.
func (m *Model) partBytes(c Call, channels int) int64 {
	return ceilDiv(c.Count*int64(c.Type.Size()), int64(channels))
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

func roundUp(a, to int64) int64 { return ceilDiv(a, to) * to }

// pow2Up returns the smallest power of 2 that is at least n >= 1.
func pow2Up(n int) int { return 1 << bits.Len(uint(n-1)) }
