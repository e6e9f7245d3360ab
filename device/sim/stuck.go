package sim

import (
	"time"

	"github.com/ncclgo/ncclgo/device"
)

// When is nobody able to progress? The machine calls a split waiting if it is
// at a barrier or a warp-level sync form, or if it polls: since the last change
// anywhere (a store, an atomic that changed its operand, a barrier reached, a
// thread's exit, a host call) it has run quietInstructions instructions, gone
// round a loop at least quietLoops times, loaded something, and every load of
// it read the address it had read there before. As memory has not changed since
// then, neither have the values. When every split of every resident CTA waits,
// the machine is stuck.
//
// A loop may give up when %globaltimer passes a limit. So if a polling split
// reads the time, time jumps ahead first: by one millisecond, then by twice as
// much each time the same rule holds again, until longestTimeout has passed in
// vain. A loop that counts its turns and gives up after more than
// quietInstructions is called stuck: nobody else could make it succeed.
//
// A loop without loads is never called stuck: what it computes may end, and if
// it does not, the end of the context of the call that waits is what is left.
const (
	quietInstructions = 4096
	quietLoops        = 4
	longestTimeout    = uint64(time.Hour)
	firstJump         = uint64(time.Millisecond)

	// watchPeriod is how many instructions run between checks of the rule.
	watchPeriod = 4096
	// quietBudget is what all splits together may spend beyond
	// quietInstructions each, to be surer where it costs little.
	quietBudget = 1 << 20
)

// watch finds out that the machine is stuck. Only when memory has been quiet
// for a while does it look at single instructions.
type watch struct {
	active     bool
	generation int    // of the tracks
	epoch      uint64 // Machine.epoch when last looked at
	quietFrom  uint64 // Machine.executed when epoch last changed
	timer      bool   // a watched split read the time
	jump       uint64 // how far time jumps next
	jumped     uint64

	fault *device.Fault // stuck: what to report when the grace period is over
	since time.Time     // ... and when it began
}

// track is what a watched warp did since memory was quiet.
type track struct {
	generation int
	sites      map[int32]*site // by pc
	quiet      [lanes]uint32   // instructions since the last new load
	loops      [lanes]uint32   // backward branches among them
	polls      uint32          // lanes that loaded something
}

// site is a load instruction.
type site struct {
	seen  uint32
	addr  row64
	count int
}

// reset starts over after a change.
func (w *watch) reset(m *Machine) {
	*w = watch{generation: w.generation + 1, epoch: m.epoch, quietFrom: m.executed}
}

// check applies the rule; it returns true if the machine is stuck.
func (w *watch) check(m *Machine) bool {
	if m.epoch != w.epoch {
		w.reset(m)
		return false
	}
	if !w.active {
		if m.executed-w.quietFrom > uint64(4*watchPeriod+256*len(m.ready)) {
			w.active, w.jump = true, firstJump
		}
		return false
	}
	if !m.allWait() {
		return false
	}
	if w.timer && w.jumped < longestTimeout {
		m.now += w.jump
		w.jumped += w.jump
		w.jump *= 2
		w.timer = false
		w.generation++
		return false
	}
	w.declare(m)
	return true
}

// observe notes an instruction of a watched warp.
func (w *warp) observe(o *op, act uint32) {
	t := w.track
	if t == nil || t.generation != w.m.watch.generation {
		t = &track{generation: w.m.watch.generation, sites: map[int32]*site{}}
		w.track = t
	}
	for m := act; m != 0; m &= m - 1 {
		t.quiet[lowest(m)]++
	}
	switch {
	case o.kind == load:
		t.observeLoad(w, o.mem, act)
	case o.kind == timer:
		w.m.watch.timer = true
		t.polls |= act
	case o.kind == branch && o.target <= w.pc:
		for m := act; m != 0; m &= m - 1 {
			t.loops[lowest(m)]++
		}
	}
}

func (t *track) observeLoad(w *warp, a *access, act uint32) {
	s := t.sites[w.pc]
	if s == nil {
		s = &site{}
		t.sites[w.pc] = s
	}
	s.count++
	t.polls |= act
	for m := act; m != 0; m &= m - 1 {
		l := lowest(m)
		addr := w.r64[a.addr][l] + a.off
		if s.seen>>l&1 == 0 || s.addr[l] != addr {
			s.addr[l] = addr
			t.quiet[l], t.loops[l] = 0, 0
		}
	}
	s.seen |= act
}

// eachWarp calls f for the resident warps with live lanes until it returns
// false.
func (m *Machine) eachWarp(f func(w *warp) bool) {
	for _, k := range m.running {
		for _, c := range k.resident {
			for _, w := range c.warps {
				if w.live != 0 && !f(w) {
					return
				}
			}
		}
	}
}

// allWait reports whether every split waits.
func (m *Machine) allWait() bool {
	n := 0
	m.eachWarp(func(*warp) bool { n++; return true })
	need := uint32(max(quietInstructions, min(quietBudget/max(n, 1), 8*quietInstructions)))
	all := true
	m.eachWarp(func(w *warp) bool {
		t := w.track
		for i := range w.splits {
			s := &w.splits[i]
			if s.state == atBarrier || s.state == atSync {
				continue
			}
			if t == nil || t.generation != m.watch.generation || s.mask&^t.polls != 0 {
				all = false
				return false
			}
			for x := s.mask; x != 0; x &= x - 1 {
				if l := lowest(x); t.quiet[l] < need || t.loops[l] < quietLoops {
					all = false
					return false
				}
			}
		}
		return true
	})
	return all
}
