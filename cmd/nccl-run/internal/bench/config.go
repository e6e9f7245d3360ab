package bench

import (
	"fmt"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/planner"
)

// Config is what a run is asked to do. The fields are nccl-tests' options where
// those exist.
type Config struct {
	Threads int // -t
	GPUs    int // -g, of each thread
	// RanksPerGPU is how many ranks run on each GPU, with consecutive numbers.
	RanksPerGPU int

	MinBytes   int64 // -b
	MaxBytes   int64 // -e
	StepBytes  int64 // -i
	StepFactor int64 // -f; below 2: step by StepBytes

	Types []coll.DataType // -d, in nccl-tests' order
	Ops   []coll.UserOp   // -o, in nccl-tests' order

	Iters    int // -n
	Warmup   int // -w
	Agg      int // -m
	Check    int // -c
	Blocking int // -z
	Unalign  int // -u, elements
	// Graphs is how often the timed iterations, captured in a graph, are launched;
	// 0 enqueues them one by one. (-G)
	Graphs int

	Topology string // name of a built-in machine, or a file

	Algos  []coll.Algo  // nil: the planner's choice
	Protos []coll.Proto // one pass for each; nil: the planner's choice
	// Channels is the number of channels of every operation; 0: the planner's
	// choice.
	Channels int
	// Tuning has choices that go before those of the planner's model; nil: none.
	Tuning *planner.Tuning

	Seed      uint64
	Schedules int // passes, with seeds Seed, Seed+1, ...
	// WeakMemory asks for the memory model that GPUs have, docs/MEMORY-MODEL.md.
	WeakMemory bool

	// SkipUnbuilt: leave out what this build has no kernel for, and say so;
	// otherwise it is refused.
	SkipUnbuilt bool
	Trace       bool
	Startup     bool // say what it took to get to the first result
	// Rival is the NCCL to measure beside ncclgo: the path of its library, or
	// empty.
	Rival string
	// HangRank never launches its part of the first operation; negative: none.
	HangRank int
}

// Ranks returns the number of ranks.
func (c *Config) Ranks() int { return c.Threads * c.GPUs * c.RanksPerGPU }

// gpu returns the GPU of a rank.
func (c *Config) gpu(rank int) int { return rank / c.RanksPerGPU }

// Refusal is a request that cannot be served as asked; nothing was run.
type Refusal struct{ Err error }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(format string, args ...any) error { return &Refusal{fmt.Errorf(format, args...)} }

// validate refuses combinations of options that make no sense together. Each
// single value was checked by whoever read it.
func (c *Config) validate() error {
	switch {
	case c.MinBytes > c.MaxBytes:
		return refuse("minbytes (-b) %d is above maxbytes (-e) %d; give a range that is not empty", c.MinBytes, c.MaxBytes)
	case c.StepFactor < 2 && c.StepBytes == 0 && c.MinBytes < c.MaxBytes:
		return refuse("stepbytes (-i) 0 never reaches maxbytes (-e) %d; give a step or a factor (-f)", c.MaxBytes)
	case c.StepFactor > 1 && c.MinBytes == 0 && c.MaxBytes > 0:
		return refuse("minbytes (-b) 0 times stepfactor (-f) %d never grows; start above 0 or step by bytes (-i)", c.StepFactor)
	case c.Graphs > 0 && c.Blocking > 0:
		return refuse("blocking (-z) %d with cudagraph (-G) %d: what is captured cannot be waited for; leave one of them out", c.Blocking, c.Graphs)
	case c.WeakMemory && c.Agg > 1 && c.Blocking != 1 && c.Blocking != 2:
		return refuse("--weak-memory with agg_iters (-m) %d: nothing orders the operations of a group, which share their buffers: that is a race; leave one of them out, or wait for each operation (-z 1)", c.Agg)
	case c.Rival != "" && c.RanksPerGPU > 1:
		return refuse("--vs with --ranks-per-gpu %d: NCCL refuses several ranks on one GPU; leave one of them out", c.RanksPerGPU)
	case c.Rival != "" && c.Schedules > 1:
		return refuse("--vs with --schedules %d: the medians are of one pass; leave one of them out", c.Schedules)
	case c.Rival != "" && c.Blocking > 0:
		return refuse("--vs with blocking (-z) %d: the libraries take turns in rounds of iterations that are waited for together; leave one of them out", c.Blocking)
	}
	return nil
}

// hangs refuses a rank that is to hang where there is none, or where nobody would
// wait for it: it is the only one, or no size has an element.
func (c *Config) hangs(sizes []int64) error {
	if c.HangRank < 0 {
		return nil
	}
	if c.HangRank >= c.Ranks() {
		return refuse("rank %d cannot hang: there are ranks 0 to %d", c.HangRank, c.Ranks()-1)
	}
	if c.Ranks() == 1 {
		return refuse("--plant-hang %d: nobody waits for an only rank; give more (-g)", c.HangRank)
	}
	for _, t := range c.Types {
		if slices.Max(sizes) >= int64(t.Size()) {
			return nil
		}
	}
	return refuse("--plant-hang %d: operations without elements launch nothing to wait for; give a larger maxbytes (-e)", c.HangRank)
}

// maxSizes bounds the sizes of a run, whose results are kept until all schedules
// are done.
const maxSizes = 1 << 20

// sizes returns the sizes to run, in bytes.
func (c *Config) sizes() ([]int64, error) {
	if c.StepFactor < 2 && c.StepBytes > 0 && (c.MaxBytes-c.MinBytes)/c.StepBytes >= maxSizes {
		return nil, refuse("stepbytes (-i) %d makes %d sizes of minbytes (-b) %d to maxbytes (-e) %d; at most %d are allowed",
			c.StepBytes, (c.MaxBytes-c.MinBytes)/c.StepBytes+1, c.MinBytes, c.MaxBytes, maxSizes)
	}
	sizes := []int64{c.MinBytes}
	for {
		last := sizes[len(sizes)-1]
		next := last
		switch {
		case c.StepFactor > 1 && last <= c.MaxBytes/c.StepFactor:
			next = last * c.StepFactor
		case c.StepFactor < 2 && last <= c.MaxBytes-c.StepBytes:
			next = last + c.StepBytes
		}
		if next == last {
			return sizes, nil
		}
		sizes = append(sizes, next)
	}
}
