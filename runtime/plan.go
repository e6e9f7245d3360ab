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
	shapes   []shape // of the calls
	launches []planned
	next     *plan // in planCache
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

// plan returns the plan of a group of calls, made before if the shapes of the calls
// were planned before.
//
// Preconditions: c.mu is held.
func (c *Comm) plan(calls []call) (*plan, error) {
	if p := c.plans.lookup(calls); p != nil {
		return p, nil
	}
	p, err := c.newPlan(calls)
	if err == nil {
		c.plans.add(p)
	}
	return p, err
}

func (c *Comm) newPlan(calls []call) (*plan, error) {
	p := plan{shapes: make([]shape, len(calls))}
	all := make([]planner.Call, len(calls))
	for i := range calls {
		s := calls[i].shape
		p.shapes[i] = s
		all[i] = planner.Call{Func: s.fn, Op: s.op, Type: s.typ, Count: int64(s.count)}
	}
	tasks, err := c.shared.model.ChooseGroup(all, c.shared.options)
	if err != nil {
		return nil, result.Wrap(result.InternalError, calls[0].shape.fn.String(), err)
	}
	of := make([]int, 0, len(calls)) // by task: the call it is
	var copies []int                 // calls that need no kernel
	for i := range tasks {
		// An only rank has the outcome already, unless its own input is scaled.
		if len(c.shared.comms) == 1 && p.shapes[i].op != coll.PreMulSum {
			copies = append(copies, i)
			continue
		}
		tasks[len(of)] = tasks[i]
		of = append(of, i)
	}
	if copies != nil {
		p.launches = append(p.launches, planned{calls: copies})
	}
	made := c.shared.model.Plan(tasks[:len(of)])
	c.explain(all, &made)
	for _, l := range made.Launches {
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
