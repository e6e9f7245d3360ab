package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncclgo/ncclgo/device"
)

// Config says what machine to make. The zero value of every field but Devices
// is usable.
type Config struct {
	// Devices describes the GPUs, one each; at most 64.
	Devices []device.Info
	// MemoryBytes limits all simulated memory together: what is allocated on the
	// GPUs, each of which has its own limit too (device.Info.MemoryBytes), pinned
	// host memory, and the shared and local memory of a kernel. It takes that much
	// of the host's memory, as far as it is used. 0 means [DefaultMemoryBytes].
	MemoryBytes int64
	// Seed chooses the interleaving. The same program with the same seed runs
	// the same instructions in the same order.
	Seed uint64
	// Quantum is the largest number of instructions a warp runs before another
	// is considered; 0 means 8.
	Quantum int
	// StuckGrace is how long the machine waits, once no warp can progress, for a
	// host call that changes something before it reports [device.Stuck]. Programs
	// whose only goroutine is the one that waits want 0, the zero value;
	// [DefaultStuckGrace] suits others.
	StuckGrace time.Duration
	// Weak, if not nil, asks for the memory model that GPUs have; nil is the
	// sequentially consistent one, which is many times faster.
	Weak *Weak
	// Trace, if not nil, is called before each instruction. It must not call
	// the machine.
	Trace func(Step)
}

// DefaultStuckGrace is a StuckGrace for hosts of several goroutines.
const DefaultStuckGrace = 2 * time.Second

// DefaultMemoryBytes is the limit of simulated memory unless Config says another:
// 16 GiB, which a host of that size or more can give.
const DefaultMemoryBytes = 16 * gib

// Step is one executed instruction, for Config.Trace.
type Step struct {
	GPU    int
	Kernel string
	CTA    int
	Warp   int
	Line   int    // of the PTX text
	Mask   uint32 // lanes that execute it
}

const defaultQuantum = 8

// validate checks the configuration and fills in defaults.
func (c Config) validate() (Config, error) {
	if c.Quantum == 0 {
		c.Quantum = defaultQuantum
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = DefaultMemoryBytes
	}
	switch {
	case len(c.Devices) == 0:
		return c, errors.New("sim: Config.Devices is empty; give at least one device.Info, such as sim.H200()")
	case len(c.Devices) > maxGPUs:
		return c, fmt.Errorf("sim: Config.Devices has %d entries; the machine's address space has room for %d", len(c.Devices), maxGPUs)
	case c.Quantum < 1:
		return c, fmt.Errorf("sim: Config.Quantum is %d; give 1 or more instructions, or 0 for %d", c.Quantum, defaultQuantum)
	case c.MemoryBytes < 0:
		return c, fmt.Errorf("sim: Config.MemoryBytes is %d; give 1 or more bytes, or 0 for %d", c.MemoryBytes, int64(DefaultMemoryBytes))
	case c.StuckGrace < 0:
		return c, fmt.Errorf("sim: Config.StuckGrace is %v; give 0 or more", c.StuckGrace)
	}
	if c.Weak != nil && c.Weak.Facts&^AllFacts != 0 {
		return c, fmt.Errorf("sim: Config.Weak.Facts is %#x; the facts are those of sim.AllFacts, %#x", uint8(c.Weak.Facts), uint8(AllFacts))
	}
	for i, d := range c.Devices {
		for _, f := range []struct {
			name  string
			value int64
			least int64
		}{
			{"SM", int64(d.SM), 50},
			{"NumSMs", int64(d.NumSMs), 1},
			{"MaxThreadsPerSM", int64(d.MaxThreadsPerSM), lanes},
			{"MaxCTAsPerSM", int64(d.MaxCTAsPerSM), 1},
			{"MaxThreadsPerCTA", int64(d.MaxThreadsPerCTA), lanes},
			{"SharedPerSM", int64(d.SharedPerSM), 0},
			{"SharedPerCTA", int64(d.SharedPerCTA), 0},
			{"MemoryBytes", d.MemoryBytes, 1},
		} {
			if f.value < f.least {
				return c, fmt.Errorf("sim: Config.Devices[%d].%s is %d; it must be at least %d", i, f.name, f.value, f.least)
			}
		}
		if d.MaxThreadsPerCTA > maxThreads {
			return c, fmt.Errorf("sim: Config.Devices[%d].MaxThreadsPerCTA is %d; PTX allows %d", i, d.MaxThreadsPerCTA, maxThreads)
		}
	}
	return c, nil
}
