package planner

import (
	"cmp"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// Config is what a [Model] is made from. All of it is equal on all ranks.
type Config struct {
	Facts    Facts
	Settings Settings
	// Tuning, if not nil, has choices that go before those of the model.
	Tuning *Tuning
	// NumSMs is the number of SMs of a GPU, the least of all. CTAsPerSM is how many
	// CTAs of the largest kernel that may run one SM holds at once, the least of all
	// GPUs. 0 for both: not known, so they limit nothing.
	NumSMs, CTAsPerSM int
	// RanksPerGPU is how many ranks share a GPU, the most of all; 0 takes that of
	// the facts.
	RanksPerGPU int
	// Kernel returns nil if there is a kernel for a variant, else why not:
	// result.ErrNotBuilt, or result.ErrInvalidArgument with the rule that
	// excludes it. New calls it for each variant that has a model, Explain and
	// refusals for those they tell about.
	Kernel func(coll.Variant) error
	Limits Limits
	// AsNCCL decides as NCCL does where this package does not: OneShot and TwoShot
	// are not used, and LL128 that Settings name is, also over links that may tear its
	// lines.
	AsNCCL bool
}

// Limits bound what is chosen. Start from [DefaultLimits].
type Limits struct {
	// MinChannels and MaxChannels bound the channels of a communicator.
	MinChannels, MaxChannels int
	// MaxThreads is the most threads of a CTA, a multiple of 32.
	MaxThreads int
	// BufferBytes is the size of a connection's FIFO of each protocol, flags
	// included: NumSteps slots.
	BufferBytes [coll.NumProtos]int
	// NumSteps is the number of slots of a FIFO.
	NumSteps int
	// ChunkSteps is how many slots a chunk may take, by protocol.
	ChunkSteps [coll.NumProtos]int
}

// DefaultLimits returns NCCL's sizes: buffers of 512 KiB, 4800 KiB and 4 MiB
// (DEFAULT_LL_BUFFSIZE, DEFAULT_LL128_BUFFSIZE and DEFAULT_BUFFSIZE, NCCL v2.30
// src/init.cc) of 8 slots (NCCL_STEPS), chunks of one slot or, for Simple, four
// (ALLREDUCE_CHUNKSTEPS), up to 64 channels (MAXCHANNELS) of 640 threads
// (NCCL_MAX_NTHREADS).
func DefaultLimits() Limits {
	return Limits{
		MinChannels: 1,
		MaxChannels: 64,
		MaxThreads:  640,
		BufferBytes: [coll.NumProtos]int{coll.LL: 512 << 10, coll.LL128: 4800 << 10, coll.Simple: 4 << 20},
		NumSteps:    8,
		ChunkSteps:  [coll.NumProtos]int{coll.LL: 1, coll.LL128: 1, coll.Simple: 4},
	}
}

// opNew names the operation in New's errors.
const opNew = "plan communicator"

// check refuses a configuration that cannot be planned for.
func (c *Config) check() error {
	bad := func(format string, args ...any) error {
		return result.New(result.InvalidArgument, opNew, format, args...)
	}
	l := &c.Limits
	switch {
	case c.Facts.NRanks < 1 || c.Facts.NNodes < 1 || c.Facts.NRanks < c.Facts.NNodes:
		return bad("%d ranks on %d nodes; a node has a rank at least", c.Facts.NRanks, c.Facts.NNodes)
	case c.Facts.Channels < 1 || c.Facts.Graphs[topo.GraphRing].Channels < 1:
		return bad("no channel of rings")
	case c.Kernel == nil:
		return bad("no kernel lookup")
	case (c.NumSMs != 0 || c.CTAsPerSM != 0) && (c.NumSMs < 1 || c.CTAsPerSM < 1):
		return bad("%d SMs with %d CTAs each; at least 1 of each is needed, or 0 of both where they are not known", c.NumSMs, c.CTAsPerSM)
	case l.MinChannels < 1 || l.MaxChannels < l.MinChannels:
		return bad("%d to %d channels; the first is 1 or more and not above the second", l.MinChannels, l.MaxChannels)
	case l.MaxThreads < minThreads || l.MaxThreads%warpSize != 0:
		return bad("%d threads at most; a multiple of %d from %d on is allowed", l.MaxThreads, warpSize, minThreads)
	case l.NumSteps < 1:
		return bad("a FIFO of %d slots; at least 1 is needed", l.NumSteps)
	}
	for p := range coll.Proto(coll.NumProtos) {
		if l.ChunkSteps[p] < 1 || l.ChunkSteps[p] > l.NumSteps {
			return bad("%s chunks of %d slots; 1 to %d are allowed", p, l.ChunkSteps[p], l.NumSteps)
		}
		if l.maxChunk(p) < chunkAlign {
			return bad("a %s buffer of %d bytes; a chunk of it must hold %d bytes of data", p, l.BufferBytes[p], chunkAlign)
		}
	}
	return c.Settings.check()
}

// resident returns how many channels a communicator may have so that all CTAs
// that wait on one another are resident together.
func (c *Config) resident() int {
	if c.NumSMs == 0 {
		return topo.MaxChannels
	}
	return c.NumSMs * c.CTAsPerSM / c.ranksPerGPU()
}

func (c *Config) ranksPerGPU() int {
	return max(1, cmp.Or(c.RanksPerGPU, c.Facts.RanksPerGPU))
}
