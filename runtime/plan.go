package nccl

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
)

// shape is what planning depends on, so calls of one shape share their plan.
type shape struct {
	fn    coll.Func
	op    coll.RedOp
	typ   coll.DataType
	count uint64
}

func (s shape) bytes() uint64 { return s.count * uint64(s.typ.Size()) }

// plan is what to launch for a group of calls of one communicator.
type plan struct {
	launches []planned
}

// planned is a launch with everything but what differs between two groups of
// the same shapes.
type planned struct {
	kernel            *generated.Kernel
	function          device.Function // nil: nothing but copies of calls, for an only rank
	variant           coll.Variant
	channels, threads int
	bytes             uint64
	// works are complete but for buffers, operator argument and operation, which
	// are those of the call that calls names.
	works []abi.Work
	calls []int
}

// fill completes the works for calls, of which the first has the given number.
func (p *planned) fill(calls []call, first uint64) {
	for i := range p.works {
		w, k := &p.works[i], &calls[p.calls[i]]
		w.SendBuf, w.RecvBuf = abi.Ptr(k.send), abi.Ptr(k.recv)
		w.RedOpArg, w.RedOpArgIsPtr = k.arg.bits, 0
		if k.arg.isPtr {
			w.RedOpArgIsPtr = 1
		}
		w.Op = first + uint64(p.calls[i])
	}
}

// maxPlans bounds the memory of remembered plans. A program that uses more
// shapes plans some again.
const maxPlans = 1 << 12

// plan returns the plan of a group of calls. That of a single call is remembered.
//
// Preconditions: c.mu is held.
func (c *Comm) plan(calls []call) (*plan, error) {
	if len(calls) > 1 {
		return c.newPlan(calls)
	}
	if p := c.plans[calls[0].shape]; p != nil {
		return p, nil
	}
	p, err := c.newPlan(calls)
	if err != nil {
		return nil, err
	}
	if len(c.plans) >= maxPlans {
		clear(c.plans)
	}
	c.plans[calls[0].shape] = p
	return p, nil
}

func (c *Comm) newPlan(calls []call) (*plan, error) {
	var (
		p      plan
		tasks  []planner.Task
		of     []int // by task: the call it is
		copies []int // calls that need no kernel
	)
	for i := range calls {
		s := &calls[i].shape
		task := planner.Task{Call: planner.Call{Func: s.fn, Op: s.op, Type: s.typ, Count: int64(s.count)}}
		var err error
		if task.Choice, err = c.shared.model.Choose(task.Call, c.shared.options); err != nil {
			return nil, result.Wrap(result.InternalError, s.fn.String(), err)
		}
		// An only rank has the outcome already, unless its own input is scaled.
		if len(c.shared.comms) == 1 && s.op != coll.PreMulSum {
			copies = append(copies, i)
			continue
		}
		tasks, of = append(tasks, task), append(of, i)
	}
	if copies != nil {
		p.launches = append(p.launches, planned{calls: copies})
	}
	for _, l := range c.shared.model.Plan(tasks).Launches {
		kernel, err := generated.Lookup(l.Variant, c.device.Info().SM)
		if err != nil {
			return nil, err
		}
		ready := planned{
			kernel: kernel, function: c.kernels.Function(kernel), variant: l.Variant,
			channels: l.Channels, threads: l.Threads,
		}
		for i := range l.Works {
			w := &l.Works[i]
			ready.bytes += calls[of[w.Task]].shape.bytes()
			ready.calls = append(ready.calls, of[w.Task])
			ready.works = append(ready.works, abi.Work{
				CountLo: uint64(w.CountLo), CountMid: uint64(w.CountMid), CountHi: uint64(w.CountHi),
				ChunkBytes: uint32(w.ChunkBytes),
				ChannelLo:  uint16(w.ChannelLo), ChannelHi: uint16(w.ChannelHi),
				Threads: uint16(w.Threads),
			})
		}
		p.launches = append(p.launches, ready)
	}
	return &p, nil
}
