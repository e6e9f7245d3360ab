package conformance

import (
	"fmt"
	"time"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/cluster"
)

// Mode is a memory model.
type Mode uint8

const (
	// Sequential: one memory, every access at once.
	Sequential Mode = iota
	// Weak: what the PTX ISA allows, and of the facts beyond it those that the
	// protocol needs: none for LL and Simple, all for LL128.
	Weak

	NumModes = iota
)

// modeNames are what String and ParseMode use.
var modeNames = [NumModes]string{Sequential: "sequential", Weak: "weak"}

// String returns "sequential" or "weak".
func (m Mode) String() string { return modeNames[m] }

// ParseMode returns the mode called name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is no memory model; give sequential or weak", name)
}

// Run is one run of a kernel: all that determines it.
type Run struct {
	Kernel *Kernel
	Index  int // of Case in Cases of the kernel's variant
	Case   Case
	Mode   Mode
	Seed   uint64 // of the interleaving, the values and what memory shows
}

// Failure is a run that went wrong.
type Failure struct {
	Run Run
	Err error
}

// Error returns what went wrong, and how to see it again.
func (f *Failure) Error() string {
	r := &f.Run
	return fmt.Sprintf("%s, case %d (%v), %v memory, seed %d: %v\nagain: %s", r.Kernel.Name, r.Index, &r.Case, r.Mode, r.Seed, f.Err, r.Replay())
}

func (f *Failure) Unwrap() error { return f.Err }

// Replay returns the command that repeats the run.
func (r *Run) Replay() string {
	return fmt.Sprintf("go test ./runtime/internal/conformance -run '^TestReplay$' -count 1 -v -kernel %s -case %d -memory %v -seed %d",
		r.Kernel.Name, r.Index, r.Mode, r.Seed)
}

// Do makes the run on a machine of its own and returns how many warp
// instructions that took. An error is a [*Failure].
func (r *Run) Do() (instructions uint64, err error) {
	instructions, err = r.do()
	if err != nil {
		err = &Failure{*r, err}
	}
	return instructions, err
}

func (r *Run) do() (uint64, error) {
	gpu := sim.H100()
	gpu.SM = r.Kernel.SM
	setup := cluster.Setup{
		Ranks: r.Case.Ranks, Channels: r.Case.Channels, FirstStep: r.Case.FirstStep, Device: gpu, Seed: r.Seed,
	}
	for proto := range setup.BufferBytes {
		setup.BufferBytes[proto] = r.Case.FIFO
	}
	if r.Case.Late {
		setup.Grace = lateGrace
	}
	if r.Mode == Weak {
		setup.Weak = &sim.Weak{Facts: facts(r.Kernel.Variant.Proto)}
	}
	c, err := cluster.New(setup)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	err = r.on(c)
	return c.Machine.Stats().WarpInstructions, err
}

// facts are those that a protocol needs.
func facts(p coll.Proto) sim.Facts {
	if p == coll.LL128 {
		return sim.AllFacts
	}
	return 0
}

// late is the rank that comes last, and lateGrace how long the machine waits for
// it, once nobody else can do anything: the launch follows at once.
const (
	late      = 0
	lateGrace = time.Second / 2
)

// on makes the run on a cluster.
func (r *Run) on(c *cluster.Cluster) error {
	if err := c.Age(r.Seed); err != nil {
		return err
	}
	kernel, err := c.Load(r.Kernel.Variant.String(), r.Kernel.PTX)
	if err != nil {
		return err
	}
	var calls []*cluster.Operands
	works := make([][]abi.Work, r.Case.Ranks)
	for i := range r.Case.Calls {
		o, err := c.Prepare(r.call(i))
		if err != nil {
			return err
		}
		calls = append(calls, o)
		for rank, w := range o.Work {
			if r.Case.Late && rank == late {
				w.Threads = abi.WarpSize
			}
			works[rank] = append(works[rank], w)
		}
	}
	each := r.Case.Calls / r.Case.Launches
	for first := 0; first < r.Case.Calls; first += each {
		for i := range works {
			rank := (late + 1 + i) % len(works)
			if rank == late && r.Case.Late {
				c.Settle()
			}
			if err := c.Launch(kernel, rank, r.Case.Threads, works[rank][first:first+each]); err != nil {
				return err
			}
		}
	}
	if err := c.Wait(); err != nil {
		return err
	}
	for _, o := range calls {
		if err := c.Check(o); err != nil {
			return err
		}
	}
	if err := c.CheckState(calls...); err != nil {
		return err
	}
	if n := c.Machine.Stats().UnorderedStores; n != 0 {
		return &Unordered{n}
	}
	return nil
}

// Unordered says that a run, right otherwise, does not show all that memory may
// do: of two strong stores that nothing orders either may be the last, and the
// machine has one of them (docs/MEMORY-MODEL.md).
type Unordered struct {
	Stores uint64
}

// Error returns how many stores there were.
func (u *Unordered) Error() string {
	return fmt.Sprintf("%d strong stores that nothing orders behind the ones they replace", u.Stores)
}

// call returns the i-th call of the run.
func (r *Run) call(i int) cluster.Call {
	c := &r.Case
	return cluster.Call{
		Proto: r.Kernel.Variant.Proto, Op: c.Op, Type: c.Type, Count: c.Count, SendSkew: c.Send, RecvSkew: c.Recv,
		InPlace: c.InPlace, Workers: c.Workers, ChunkBytes: c.Chunk, ChannelHi: c.Channels - 1,
		ScalarOnDevice: c.OnDevice, Seed: r.Seed + uint64(i),
	}
}
