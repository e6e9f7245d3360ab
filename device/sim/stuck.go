package sim

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
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
// A loop without loads is never called stuck: what it computes may end.
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

// maxWaiters is how many waiting places a report lists.
const maxWaiters = 64

// declare prepares the report and starts the grace period.
func (w *watch) declare(m *Machine) {
	f := &device.Fault{Kind: device.Stuck, Device: -1, CTA: -1, Warp: -1, Lane: -1}
	groups := map[string]*waiters{}
	var order []*waiters
	m.eachWarp(func(w *warp) bool {
		for i := range w.splits {
			s := &w.splits[i]
			o := w.waitsFor(s)
			key := fmt.Sprint(o.Device, o.Label, o.Kernel, o.CTA, o.Line, o.Detail)
			g := groups[key]
			if g == nil {
				g = &waiters{fault: o}
				groups[key] = g
				order = append(order, g)
			}
			g.splits++
			g.lanes += bits.OnesCount32(s.mask)
		}
		return true
	})
	total := 0
	for i, g := range order {
		total += g.splits
		if i < maxWaiters {
			g.fault.Detail += g.size()
			f.Others = append(f.Others, g.fault)
		}
	}
	f.Detail = fmt.Sprintf("no warp can progress: %d wait", total)
	if more := len(order) - maxWaiters; more > 0 {
		f.Detail += fmt.Sprintf(" (%d of %d places listed)", maxWaiters, len(order))
	}
	for _, k := range m.running {
		if k.next < k.grid {
			f.Kind, f.Device, f.Kernel, f.Label, f.File = device.NotResident, k.gpu.index, k.fn.prog.name, k.label, k.fn.prog.file
			f.Detail += fmt.Sprintf("; on GPU %d, %d CTAs of this kernel are resident, %d have ended, and %d cannot become resident: an SM holds %d of them, the GPU has %d SMs",
				k.gpu.index, len(k.resident), k.ended, k.grid-k.next, k.gpu.occupancy(k.threads, k.fn.prog), k.gpu.info.NumSMs)
			break
		}
	}
	w.fault, w.since = f, time.Now()
}

// waiters is the splits of a CTA that wait for the same.
type waiters struct {
	fault  *device.Fault
	splits int
	lanes  int
}

func (g *waiters) size() string {
	if g.splits == 1 {
		return fmt.Sprintf(" (%d lanes)", g.lanes)
	}
	return fmt.Sprintf(" (%d warps, %d lanes)", g.splits, g.lanes)
}

// waitsFor describes what a split waits for.
func (w *warp) waitsFor(s *split) *device.Fault {
	lane := lowest(s.mask)
	switch s.state {
	case atBarrier:
		b := &w.cta.bars[s.bar]
		return w.faultAt("", s.pc, lane, "waits at barrier %d: %d of %d threads have arrived", s.bar, b.arrived, b.want)
	case atSync:
		member := w.sync.member[lane]
		return w.faultAt("", s.pc, lane, "waits for lanes %#x of member mask %#x", member&w.exists&^w.sync.waiting, member)
	}
	pc, polled := w.mainLoad(s.mask)
	if polled == nil {
		return w.faultAt("", s.pc, lane, "waits for a time")
	}
	lane = lowest(s.mask & polled.seen)
	addr := polled.addr[lane]
	f := w.faultAt("", pc, lane, "polls, reads %s", w.valueAt(w.code[pc].mem, lane, addr))
	f.Addr, f.AddrLabel = device.Ptr(addr), w.m.describe(addr)
	if f.AddrLabel == "" && w.code[pc].mem.space == ptx.Shared {
		f.AddrLabel = "shared memory"
	}
	return f
}

// mainLoad returns the load that lanes of mask repeat most: the wait itself
// rather than a look at an abort flag now and then.
func (w *warp) mainLoad(mask uint32) (pc int32, best *site) {
	if w.track == nil {
		return 0, nil
	}
	for p, s := range w.track.sites {
		if s.seen&mask == 0 {
			continue
		}
		if best == nil || s.count > best.count || s.count == best.count && p < pc {
			pc, best = p, s
		}
	}
	return pc, best
}

// valueAt formats what a load reads at addr now.
func (w *warp) valueAt(a *access, lane int, addr uint64) string {
	al, f := w.find(a.space, lane, addr, a.bytes)
	var b []byte
	switch {
	case f != nil:
		return "nothing"
	case al == nil:
		off := uint64(lane*w.cta.kernel.fn.prog.localStride) + addr&(1<<windowBits-1)
		b = w.local[off : off+a.bytes]
	default:
		b = al.data[addr-al.base:][:a.bytes]
	}
	text := ""
	for i := 0; i < len(b); i += a.elem {
		if i > 0 {
			text += ", "
		}
		v := uint64(0)
		for j := min(a.elem, 8) - 1; j >= 0; j-- {
			v = v<<8 | uint64(b[i+j])
		}
		text += fmt.Sprintf("%#x", v)
	}
	return text
}
