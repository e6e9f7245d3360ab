package sim

import (
	"fmt"
	"math/bits"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// syncOp is the decoded form of an instruction that the lanes of a member mask
// execute together: bar.warp.sync, shfl, vote, match, elect and redux.
type syncOp struct {
	src    *ptx.Instr
	member int32 // row of the member mask
	// read takes the operands of the lanes of mask, eval computes the results of
	// the whole group, write stores those of mask. They are apart because the
	// lanes of a group may come from several instructions.
	read  func(w *warp, mask uint32, v *syncValues)
	eval  func(w *warp, group uint32, v *syncValues)
	write func(w *warp, mask uint32, v *syncValues)
}

// syncValues is what a group exchanges.
type syncValues struct {
	a, b, c row32
	wide    row64
	pred    uint32
	d       row32
	q       uint32
}

// syncPoint is where lanes of a warp wait for others of their member masks.
type syncPoint struct {
	waiting uint32
	member  [lanes]uint32
}

// namesExited reports whether lanes of the member mask may have exited. Only
// bar.warp.sync waits for all threads of its mask; the others wait for "all
// non-exited threads" (PTX ISA, "shfl.sync" and its kin).
func (o *syncOp) namesExited() bool { return o.src.Op != ptx.OpBarWarp }

// arrive is the exec of a syncOp.
func (o *syncOp) arrive(w *warp, act uint32) status {
	if w.weak != nil && o.src.Op == ptx.OpBarWarp && !w.weak.bindAll(w, act) {
		return failed
	}
	row := &w.r32[o.member]
	if member, ok := uniform(row, act); ok && (member&w.exists == act || member&w.live == act && o.namesExited()) {
		if o.read != nil {
			v := w.m.syncScratch()
			o.read(w, act, v)
			o.eval(w, act, v)
			o.write(w, act, v)
		}
		if w.weak != nil && !w.weak.synced(w, o, act) {
			return failed
		}
		return next
	}
	for m := act; m != 0; m &= m - 1 {
		l := lowest(m)
		member := row[l]
		if member>>l&1 == 0 {
			return w.fail(device.IllegalOperand, l, "the lane is not in its own member mask %#x", member)
		}
		if gone := member & w.exists &^ w.live; gone != 0 && !o.namesExited() {
			return w.fail(device.BarrierMismatch, l, "member mask %#x names lanes %#x, which have exited", member, gone)
		}
		w.sync.member[l] = member
	}
	w.sync.waiting |= act
	w.splits[w.cur].pc = w.pc + 1
	s := &w.splits[w.divide(w.cur, act)]
	s.pc, s.state = w.pc, atSync
	for left := act; left != 0; {
		member := w.sync.member[lowest(left)]
		if st := w.tryGroup(member); st != next {
			return st
		}
		for m := left; m != 0; m &= m - 1 {
			if l := lowest(m); w.sync.member[l] == member {
				left &^= 1 << l
			}
		}
	}
	return changed
}

// syncScratch returns values to exchange, without predicates.
func (m *Machine) syncScratch() *syncValues {
	m.syncv.pred, m.syncv.q = 0, 0
	return &m.syncv
}

// tryGroup completes the group of a member mask if all of its lanes that have
// not exited wait with that mask.
func (w *warp) tryGroup(member uint32) status {
	group := member & w.live
	if group&^w.sync.waiting != 0 {
		return next
	}
	for m := group; m != 0; m &= m - 1 {
		if w.sync.member[lowest(m)] != member {
			return next
		}
	}
	v := w.m.syncScratch()
	var first *syncOp
	for i := range w.splits {
		s := &w.splits[i]
		if s.state != atSync || s.mask&group == 0 {
			continue
		}
		o := w.code[s.pc].sync
		if first == nil {
			first = o
		} else if o.src.Op != first.src.Op || o.src.Mode != first.src.Mode || o.src.Type != first.src.Type || o.src.Atom != first.src.Atom {
			w.m.poison(w.faultAt(device.BarrierMismatch, s.pc, lowest(s.mask&group),
				"lanes of member mask %#x meet at different instructions: here and at line %d: %s", member, first.src.Line, first.src.Text))
			return failed
		}
		if o.read != nil {
			o.read(w, s.mask&group, v)
		}
	}
	if first.eval != nil {
		first.eval(w, group, v)
	}
	if w.weak != nil && !w.weak.synced(w, first, group) {
		return failed
	}
	// Splits that wait with several masks at one instruction separate here.
	for i := 0; i < len(w.splits); i++ {
		if s := &w.splits[i]; s.state != atSync || s.mask&group == 0 {
			continue
		}
		mask := w.splits[i].mask & group
		o := w.code[w.splits[i].pc].sync
		if o.write != nil {
			o.write(w, mask, v)
		}
		w.splits[w.divide(i, mask)].resume(w)
	}
	w.sync.waiting &^= group
	return next
}

// syncExit faults if a lane waits at bar.warp.sync for lanes that exit, and
// completes the groups that waited at other instructions for no one else.
func (w *warp) syncExit(gone uint32) bool {
	for m := w.sync.waiting; m != 0; m = w.sync.waiting & m & (m - 1) {
		l := lowest(m)
		lost := w.sync.member[l] & gone
		if lost == 0 {
			continue
		}
		pc := w.waitsAt(l)
		if !w.code[pc].sync.namesExited() {
			w.m.poison(w.faultAt(device.BarrierMismatch, pc, l, "the lane waits for lanes %#x of its member mask %#x, which have exited", lost, w.sync.member[l]))
			return false
		}
		if w.tryGroup(w.sync.member[l]) == failed {
			return false
		}
	}
	return true
}

// waitsAt returns the program counter of the instruction at which a lane waits.
func (w *warp) waitsAt(lane int) int32 {
	for _, s := range w.splits {
		if s.state == atSync && s.mask>>lane&1 != 0 {
			return s.pc
		}
	}
	panic(fmt.Sprintf("sim: BUG: lane %d waits in no split", lane))
}

// shuffle computes shfl (PTX ISA, "shfl.sync"). What a lane reads from one that
// is not in the group is undefined there, and here drawn from the seed.
func shuffle(mode ptx.Mode) func(w *warp, group uint32, v *syncValues) {
	return func(w *warp, group uint32, v *syncValues) {
		for m := group; m != 0; m &= m - 1 {
			l := uint32(lowest(m))
			b, clampTo, segment := v.b[l]&31, v.c[l]&31, v.c[l]>>8&31
			low := l & segment
			high := low | clampTo&^segment
			var j uint32
			var in bool
			switch mode {
			case ptx.Up:
				j = l - b
				in = int32(j) >= int32(high)
			case ptx.Down:
				j = l + b
				in = j <= high
			case ptx.Bfly:
				j = l ^ b
				in = j <= high
			case ptx.Idx:
				j = low | b&^segment
				in = j <= high
			}
			if !in {
				j = l
			} else {
				v.q |= 1 << l
			}
			if group>>j&1 != 0 {
				v.d[l] = v.a[j]
			} else {
				v.d[l] = uint32(w.m.rng.next())
			}
		}
	}
}

// vote computes vote.
func vote(mode ptx.Mode) func(w *warp, group uint32, v *syncValues) {
	return func(_ *warp, group uint32, v *syncValues) {
		yes := v.pred & group
		var holds bool
		switch mode {
		case ptx.All:
			holds = yes == group
		case ptx.Any:
			holds = yes != 0
		case ptx.Uni:
			holds = yes == 0 || yes == group
		case ptx.Ballot:
			fill(&v.d, yes)
		}
		if holds {
			v.q = full
		}
	}
}

// matchLanes computes match.
func matchLanes(mode ptx.Mode) func(w *warp, group uint32, v *syncValues) {
	return func(_ *warp, group uint32, v *syncValues) {
		for m := group; m != 0; m &= m - 1 {
			l := lowest(m)
			var same uint32
			for n := group; n != 0; n &= n - 1 {
				if o := lowest(n); v.wide[o] == v.wide[l] {
					same |= 1 << o
				}
			}
			v.d[l] = same
			if mode == ptx.All && same == group {
				v.q |= 1 << l
			} else if mode == ptx.All {
				v.d[l] = 0
			}
		}
	}
}

// elect picks the lowest lane of the group.
func elect(_ *warp, group uint32, v *syncValues) {
	l := bits.TrailingZeros32(group)
	fill(&v.d, uint32(l))
	v.q = 1 << l
}

// redux reduces over the group.
func redux(f func(a, b uint32) uint32) func(w *warp, group uint32, v *syncValues) {
	return func(_ *warp, group uint32, v *syncValues) {
		acc := v.a[lowest(group)]
		for m := group & (group - 1); m != 0; m &= m - 1 {
			acc = f(acc, v.a[lowest(m)])
		}
		fill(&v.d, acc)
	}
}
