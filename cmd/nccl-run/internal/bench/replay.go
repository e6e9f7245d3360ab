package bench

import (
	"fmt"

	"github.com/ncclgo/ncclgo/coll"
)

// Replay is what a pass over the table depends on beyond the rest of [Config]: a
// PTX machine that is given the same does the same, instruction by instruction.
type Replay struct {
	Seed   uint64
	Protos []coll.Proto // what the planner may choose from; nil: anything
}

// PassError is a pass that failed.
type PassError struct {
	Replay Replay
	Err    error
}

// Error puts the seed first.
func (e *PassError) Error() string { return fmt.Sprintf("seed %d: %v", e.Replay.Seed, e.Err) }

// Unwrap returns why the pass failed.
func (e *PassError) Unwrap() error { return e.Err }
