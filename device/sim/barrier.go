package sim

import (
	"math/bits"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// barrier is one of a CTA's 16 barriers. Warps arrive as a whole: when the last
// of its live lanes does (PTX ISA, "barrier{.cta}": "causes executing thread to
// wait for all non-exited threads from its warp and marks warps' arrival").
type barrier struct {
	want    int    // threads, in whole warps; 0 if nobody has arrived
	all     bool   // no count was given: warps that exit are not waited for
	arrived int    // threads of warps that arrived as a whole
	done    uint32 // those warps
	mode    ptx.Mode
	popc    uint32 // .red: threads with a true predicate
	voters  uint32 // .red: threads
	first   arrival
	lanes   [lanes]uint32 // by warp: lanes that arrived
	pc      [lanes]int32  // by warp: where
}

// arrival says who arrived, for reports.
type arrival struct {
	w    *warp
	pc   int32
	text string // the thread count as given
}

// barOp is the decoded operands of bar and barrier.
type barOp struct {
	mode    ptx.Mode // Sync, Arrive or a reduction
	aligned bool
	id      int32 // row of the barrier's number
	count   int32 // row of the thread count, or -1
	pred    int32 // .red: the predicate
	invert  uint32
	dst     loc // .red
}

// reduces tells reductions from sync and arrive.
func reduces(m ptx.Mode) bool { return m == ptx.RedPopc || m == ptx.RedAnd || m == ptx.RedOr }

// barrier is the exec of bar and barrier.
func (o *barOp) barrier(w *warp, act uint32) status {
	c := w.cta
	lane := lowest(act)
	id, ok := uniform(&w.r32[o.id], act)
	if !ok {
		return w.fail(device.IllegalOperand, lane, "lanes name different barriers")
	}
	if id >= numBars {
		return w.fail(device.IllegalOperand, lane, "there is no barrier %d, only 0 to %d", id, numBars-1)
	}
	if o.aligned && act != w.splits[w.cur].mask {
		return w.fail(device.BarrierMismatch, lane, "an aligned barrier under a guard that is true for lanes %#x of %#x", act, w.splits[w.cur].mask)
	}
	want := roundWarp(c.kernel.threads)
	text := "all threads"
	if o.count >= 0 {
		n, ok := uniform(&w.r32[o.count], act)
		switch {
		case !ok:
			return w.fail(device.IllegalOperand, lane, "lanes give different thread counts")
		case n == 0 || n%lanes != 0:
			return w.fail(device.BarrierMismatch, lane, "a thread count of %d; it must be a positive multiple of %d", n, lanes)
		case int(n) > want:
			return w.fail(device.BarrierMismatch, lane, "barrier %d is to wait for %d threads, and the CTA has %d", id, n, c.kernel.threads)
		}
		want = int(n)
		text = "threads"
	}
	b := &c.bars[id]
	if b.want == 0 {
		*b = barrier{want: want, mode: o.mode, first: arrival{w, w.pc, text}}
	} else if st := b.mismatch(w, o, act, want, id); st != next {
		return st
	}
	b.all = b.all || o.count < 0
	b.lanes[w.index] |= act
	b.pc[w.index] = w.pc
	if reduces(o.mode) {
		b.popc += uint32(bits.OnesCount32((w.pred[o.pred] ^ o.invert) & act))
		b.voters += uint32(bits.OnesCount32(act))
	}
	w.m.epoch++
	if w.weak != nil && !c.gather[id].arrive(w, act) {
		return failed
	}

	w.splits[w.cur].pc = w.pc + 1
	i := w.divide(w.cur, act)
	s := &w.splits[i]
	s.pc, s.state, s.bar = w.pc, atBarrier, uint8(id)
	if w.live&^b.lanes[w.index] == 0 {
		return b.arrive(w, int(id))
	}
	return changed
}

// uniform returns the value that the lanes of act have in common.
func uniform(r *row32, act uint32) (uint32, bool) {
	v := r[lowest(act)]
	for m := act; m != 0; m &= m - 1 {
		if r[lowest(m)] != v {
			return 0, false
		}
	}
	return v, true
}

// mismatch faults if an arrival does not fit those before it.
func (b *barrier) mismatch(w *warp, o *barOp, act uint32, want int, id uint32) status {
	lane := lowest(act)
	switch {
	case want != b.want:
		st := w.fail(device.BarrierMismatch, lane, "barrier %d is to wait for %d threads here and for %d where it was first reached", id, want, b.want)
		w.addOther(b.first)
		return st
	case reduces(o.mode) != reduces(b.mode) || reduces(o.mode) && o.mode != b.mode:
		st := w.fail(device.BarrierMismatch, lane, "barrier %d is reached with .%s here and with .%s where it was first reached", id, o.mode, b.mode)
		w.addOther(b.first)
		return st
	case b.lanes[w.index]&act != 0:
		return w.fail(device.BarrierMismatch, lane, "a thread arrives at barrier %d a second time before it is complete (%d of %d threads)", id, b.arrived, b.want)
	case b.lanes[w.index] != 0 && b.pc[w.index] != w.pc && (o.aligned || w.code[b.pc[w.index]].bar.aligned):
		st := w.fail(device.BarrierMismatch, lane, "lanes of one warp reach aligned barrier %d at different instructions", id)
		w.addOther(arrival{w: w, pc: b.pc[w.index]})
		return st
	}
	return next
}

// addOther adds a place to the fault just raised.
func (w *warp) addOther(a arrival) {
	if f, ok := w.m.err.(*device.Fault); ok {
		f.Others = append(f.Others, a.w.faultAt("", a.pc, -1, "%s", a.text))
	}
}

// arrive counts warp w as arrived, and completes the barrier if it was the last.
func (b *barrier) arrive(w *warp, id int) status {
	b.done |= 1 << w.index
	b.arrived += lanes
	if b.arrived > b.want {
		return w.fail(device.BarrierMismatch, lowest(b.lanes[w.index]), "%d threads have arrived at barrier %d, which is to wait for %d", b.arrived, id, b.want)
	}
	if b.complete(w.cta) {
		b.release(w.cta, id)
		return changed
	}
	// Threads that only arrive wait for their own warp and no longer.
	for i := range w.splits {
		s := &w.splits[i]
		if s.state == atBarrier && int(s.bar) == id && w.code[s.pc].bar.mode == ptx.Arrive {
			s.resume(w)
		}
	}
	return changed
}

// complete reports whether everyone who is waited for has arrived.
func (b *barrier) complete(c *cta) bool {
	if b.arrived >= b.want {
		return true
	}
	if !b.all || b.arrived == 0 {
		return false
	}
	for _, w := range c.warps {
		if w.live != 0 && b.done>>w.index&1 == 0 {
			return false
		}
	}
	return true
}

// release lets everyone go on and makes the barrier ready for its next use.
func (b *barrier) release(c *cta, id int) {
	var know knowledge
	if ws := c.kernel.gpu.m.weak; ws != nil {
		know = c.gather[id].complete(ws)
	}
	for _, w := range c.warps {
		if b.lanes[w.index] == 0 {
			continue
		}
		for i := range w.splits {
			s := &w.splits[i]
			if s.state != atBarrier || int(s.bar) != id {
				continue
			}
			o := w.code[s.pc].bar
			b.result(w, o, s.mask)
			if w.weak != nil && o.mode != ptx.Arrive {
				w.weak.leave(s.mask, know)
			}
			s.resume(w)
		}
		w.m.setReady(w)
	}
	b.want = 0
}

// resume lets a waiting split go on after the instruction it waits at.
func (s *split) resume(w *warp) {
	s.state = runnable
	s.pc++
	s.since = w.steps
}

// result writes what .red gives to the lanes of mask.
func (b *barrier) result(w *warp, o *barOp, mask uint32) {
	switch o.mode {
	case ptx.RedPopc:
		var r row32
		fill(&r, b.popc)
		merge(&w.r32[o.dst.row], &r, mask)
	case ptx.RedAnd, ptx.RedOr:
		var v uint32
		if o.mode == ptx.RedAnd && b.popc == b.voters || o.mode == ptx.RedOr && b.popc > 0 {
			v = full
		}
		w.setPred(o.dst.row, v, mask)
	}
}

// barExit lets barriers go on that waited for lanes of w which have exited, and
// faults if one can no longer complete.
func (c *cta) barExit(w *warp) bool {
	for id := range c.bars {
		b := &c.bars[id]
		if b.want == 0 {
			continue
		}
		if arrived := b.lanes[w.index]; arrived != 0 && b.done>>w.index&1 == 0 && w.live&^arrived == 0 {
			if b.arrive(w, id) == failed {
				return false
			}
			w.m.setReady(w)
		} else if b.complete(c) {
			b.release(c, id)
		}
		if b.want != 0 && !b.all && !b.possible(c, id) {
			return false
		}
	}
	return true
}

// possible faults if the warps that still live cannot complete a barrier.
func (b *barrier) possible(c *cta, id int) bool {
	threads := b.arrived
	for _, w := range c.warps {
		if w.live != 0 && b.done>>w.index&1 == 0 {
			threads += lanes
		}
	}
	if threads >= b.want {
		return true
	}
	for _, w := range c.warps {
		for _, s := range w.splits {
			if s.state == atBarrier && int(s.bar) == id {
				w.m.poison(w.faultAt(device.BarrierMismatch, s.pc, lowest(s.mask),
					"barrier %d waits for %d threads: %d have arrived and the rest have exited, all but %d", id, b.want, b.arrived, threads-b.arrived))
				return false
			}
		}
	}
	return true
}
