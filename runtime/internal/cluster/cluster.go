package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// Setup says what cluster to make.
type Setup struct {
	Ranks, Channels int
	// GPUs is how many the ranks share, in turn; 0: one for each.
	GPUs int
	// BufferBytes is the size of a connection's FIFO for each protocol.
	BufferBytes [abi.NumProtos]int64
	FirstStep   uint64      // of every connection
	Device      device.Info // every rank's GPU; the zero value: sim.H100()
	Seed        uint64      // of the machine
	Weak        *sim.Weak   // the memory model; nil: sequentially consistent
	// Grace is how long the machine waits for a further launch when nobody can
	// progress (sim.Config.StuckGrace).
	Grace time.Duration
}

// Cluster is a PTX machine with a stream for each rank of one communicator.
type Cluster struct {
	Machine *sim.Machine
	Devices []device.Device // by rank
	Streams []device.Stream
	Comms   *devcomm.Comms
	Config  devcomm.Config
}

// Kernel is a kernel loaded on every rank's device.
type Kernel []device.Function

// New makes a cluster. Each of its channels has another ring.
func New(s Setup) (*Cluster, error) {
	if s.Device.SM == 0 {
		s.Device = sim.H100()
	}
	gpus := cmp.Or(s.GPUs, s.Ranks)
	machine, err := sim.New(sim.Config{
		Devices: slices.Repeat([]device.Info{s.Device}, gpus), Seed: s.Seed, Weak: s.Weak, StuckGrace: s.Grace,
	})
	if err != nil {
		return nil, err
	}
	c := &Cluster{Machine: machine, Config: devcomm.Config{
		Rings: rings(s.Ranks, s.Channels), BufferBytes: s.BufferBytes, FirstStep: s.FirstStep,
	}}
	for r := range s.Ranks {
		dev, err := machine.Open(r % gpus)
		if err != nil {
			return nil, err
		}
		stream, err := dev.NewStream()
		if err != nil {
			return nil, err
		}
		c.Devices, c.Streams = append(c.Devices, dev), append(c.Streams, stream)
	}
	c.Comms, err = devcomm.New(c.Devices, c.Config)
	return c, err
}

// rings returns, for each channel, another order of the ranks.
func rings(nranks, nchannels int) [][]int {
	rng := rand.New(rand.NewPCG(uint64(nranks), uint64(nchannels)))
	all := make([][]int, nchannels)
	for ch := range all {
		all[ch] = rng.Perm(nranks)
	}
	return all
}

// Close ends the machine, with whatever runs on it.
func (c *Cluster) Close() error { return c.Machine.Close() }

// Load loads a kernel on every rank's device.
func (c *Cluster) Load(symbol string, ptx []byte) (Kernel, error) {
	var k Kernel
	for _, dev := range c.Devices {
		module, err := dev.LoadModule(symbol, ptx)
		if err != nil {
			return nil, err
		}
		f, err := module.Function(symbol)
		if err != nil {
			return nil, err
		}
		k = append(k, f)
	}
	return k, nil
}

// Launch queues a kernel with the given works on a rank.
func (c *Cluster) Launch(k Kernel, rank, threads int, works []abi.Work) error {
	args := abi.KernelArgs{Comm: c.Comms.Comm(rank), NumWorks: uint32(len(works))}
	if rest := works[copy(args.Works[:], works):]; len(rest) > 0 {
		overflow, err := c.Devices[rank].Alloc(devcomm.Size(rest), fmt.Sprintf("rank %d works", rank))
		if err != nil {
			return err
		}
		if err := c.Devices[rank].CopyIn(overflow, devcomm.Append(nil, rest)); err != nil {
			return err
		}
		args.Overflow = abi.Ptr(overflow)
	}
	var labels []string
	for ch := range c.Config.Rings {
		labels = append(labels, fmt.Sprintf("ch %d", ch))
	}
	return c.Streams[rank].Launch(&device.Launch{
		Function: k[rank], Grid: len(labels), Threads: threads, Args: devcomm.Append(nil, &args),
		Label: fmt.Sprintf("rank %d", rank), CTALabels: labels,
	})
}

// Wait waits for all ranks and returns the first failure.
func (c *Cluster) Wait() error {
	for _, s := range c.Streams {
		if err := s.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// Settle runs the machine until nobody can progress, or something failed. The
// cluster needs a Setup.Grace, or the machine takes that for an end.
func (c *Cluster) Settle() {
	for {
		before := c.Machine.Stats().WarpInstructions
		for _, s := range c.Streams {
			if _, err := s.Query(); err != nil {
				return // Wait reports it
			}
		}
		if c.Machine.Stats().WarpInstructions == before {
			return
		}
	}
}
