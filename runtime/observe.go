package nccl

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/topo"
)

// LaunchInfo describes one kernel launch, for [Config.OnLaunch].
type LaunchInfo struct {
	Rank     int
	Op       uint64 // number of the launch's first operation in its communicator, from 0
	Variant  coll.Variant
	Kernel   string // the kernel that serves the variant ("AllReduce_Sum_u32_RING_LL" for i32)
	Channels int    // CTAs of the launch
	Threads  int    // threads of a CTA
	Works    int    // operations the launch performs
	Bytes    uint64 // of all its operations together
}

// Topology returns the machine as the communicator sees it: its ranks, and no
// other GPUs.
func (c *Comm) Topology() *topo.System {
	if !c.made() {
		return nil
	}
	return c.shared.system
}

// Graph returns the rings that the channels use, in turn.
func (c *Comm) Graph() *topo.Graph {
	if !c.made() {
		return nil
	}
	return c.shared.ring
}

// NumChannels returns how many channels the communicator has; an operation uses
// that many or fewer.
func (c *Comm) NumChannels() int {
	if !c.made() {
		return 0
	}
	return c.shared.model.Channels()
}

// Explain returns how an all-reduce of count elements is done when it is alone,
// and why: what else there was, and the time predicted for each.
func (c *Comm) Explain(count uint64, t coll.DataType, op coll.UserOp) (*planner.Explanation, error) {
	const name = "Explain"
	if !c.made() {
		return nil, c.usable(name)
	}
	if err := c.checkOperands(name, count, t, op); err != nil {
		return nil, err.At(c.rank)
	}
	call := planner.Call{Func: coll.AllReduce, Op: op.Device(t), Type: t, Count: int64(count)}
	e, err := c.shared.model.Explain(call, c.shared.options)
	return e, result.Wrap(result.InternalError, name, err)
}

// ExplainGroup returns how each of n all-reduces of count elements is done that are a
// group. Since they are decided together, it may be otherwise than alone; Time is that
// of all.
func (c *Comm) ExplainGroup(n int, count uint64, t coll.DataType, op coll.UserOp) (planner.Choice, error) {
	const name = "ExplainGroup"
	if !c.made() {
		return planner.Choice{}, c.usable(name)
	}
	if n < 1 {
		return planner.Choice{}, result.New(result.InvalidArgument, name, "a group of %d operations; 1 or more are allowed", n).At(c.rank)
	}
	if err := c.checkOperands(name, count, t, op); err != nil {
		return planner.Choice{}, err.At(c.rank)
	}
	call := planner.Call{Func: coll.AllReduce, Op: op.Device(t), Type: t, Count: int64(count)}
	tasks, err := c.shared.model.ChooseGroup(slices.Repeat([]planner.Call{call}, n), c.shared.options)
	if err != nil {
		return planner.Choice{}, result.Wrap(result.InternalError, name, err)
	}
	return tasks[0].Choice, nil
}

// explain logs what was planned, at debug level: of one rank, since the others plan
// the same. Plans are remembered, so each shape of a group is logged once: a
// message for each line, since handlers of text write line ends as "\n". Of a call
// alone it says what the choice was made from; the calls of a group may be chosen for
// together.
func (c *Comm) explain(calls []planner.Call, p *planner.Plan) {
	ctx := context.Background()
	if c.rank != 0 || !c.shared.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := p.String()
	if len(calls) == 1 {
		if e, err := c.shared.model.Explain(calls[0], c.shared.options); err == nil {
			text = e.String() + text
		}
	}
	for line := range strings.Lines(text) {
		c.shared.log.DebugContext(ctx, strings.TrimSuffix(line, "\n"), "subsys", "TUNING")
	}
}
