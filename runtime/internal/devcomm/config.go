package devcomm

import (
	"slices"

	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
)

// opNew is the operation that errors of New name.
const opNew = "build communicator"

// Config is what a communicator is built from.
type Config struct {
	// Rings holds, for each channel, all ranks in the order of its ring.
	Rings [][]int
	// BufferBytes is the size of a connection's FIFO for each protocol, a
	// multiple of its BufferUnits; 0: kernels of that protocol will not be
	// launched.
	BufferBytes [abi.NumProtos]int64
	// FirstStep is the step that every connection starts at.
	FirstStep uint64
}

// BufferUnits is what the size of a FIFO is a multiple of, by protocol, in bytes:
// NumSteps slots of whole 16-byte packs, of LL of two lines, which hold one, and of
// LL128 of whole tiles.
var BufferUnits = [abi.NumProtos]int64{
	abi.ProtoLL:     abi.NumSteps * 2 * abi.LLLineBytes,
	abi.ProtoLL128:  abi.NumSteps * abi.LL128TileBytes,
	abi.ProtoSimple: abi.NumSteps * 16,
}

// Limits of a connection's buffer, in bytes.
const (
	// maxBufferBytes keeps the distance of a slot from the first within 32 bits.
	maxBufferBytes = 1 << 31
	// maxLoopBytes is the most that a ring moves in one loop, a chunk of each rank
	// (abi.Work.ChunkBytes).
	maxLoopBytes = 1 << 35
)

// chunks is how many of the largest chunks a FIFO has room for, by protocol.
var chunks = [abi.NumProtos]int64{
	abi.ProtoLL:     abi.NumSteps * abi.LLLineBytes / abi.LLDataBytes,
	abi.ProtoLL128:  abi.NumSteps,
	abi.ProtoSimple: abi.NumSteps / abi.SimpleChunkSteps,
}

// validate refuses what kernels could not work with.
func (c *Config) validate(nranks int) error {
	if nranks == 0 {
		return result.New(result.InvalidArgument, opNew, "no ranks; give at least one device")
	}
	if n := len(c.Rings); n == 0 || n > abi.MaxChannels {
		return result.New(result.InvalidArgument, opNew, "%d rings; a communicator has 1 to %d channels, a ring each",
			n, abi.MaxChannels)
	}
	for ch, ring := range c.Rings {
		sorted := slices.Sorted(slices.Values(ring))
		for i := range max(nranks, len(sorted)) {
			if i >= nranks || i >= len(sorted) || sorted[i] != i {
				return result.New(result.InvalidArgument, opNew, "ring of channel %d is %v; it must hold each of the %d ranks once",
					ch, ring, nranks)
			}
		}
	}
	for proto, bytes := range c.BufferBytes {
		most := min(maxBufferBytes, maxLoopBytes/int64(nranks)*chunks[proto]) / BufferUnits[proto] * BufferUnits[proto]
		if bytes < 0 || bytes > most || bytes%BufferUnits[proto] != 0 {
			return result.New(result.InvalidArgument, opNew, "the %s buffer has %d bytes; give a multiple of %d up to %d with %d ranks",
				protoNames[proto], bytes, BufferUnits[proto], most, nranks)
		}
	}
	return nil
}
