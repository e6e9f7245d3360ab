package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// Weak asks for the memory model that GPUs have, docs/MEMORY-MODEL.md, in place
// of the sequentially consistent one: strong reads may be stale, late loads may
// see what was written meanwhile, and plain accesses that nothing orders are
// faults of kind device.Race, whatever values they got.
type Weak struct {
	// Facts are the hardware facts beyond the PTX ISA that hold; [AllFacts] is
	// what GPUs with NVLink have.
	Facts Facts
	// PCIe says whether GPUs a and b reach each other over PCIe, where WholeLine
	// does not hold. Nil means that all reach each other over NVLink.
	PCIe func(a, b int) bool
}

// Facts is a set of facts about hardware that the PTX ISA does not promise.
type Facts uint8

const (
	// WholePack: one lane's aligned access of 16 bytes is whole, a vector or not.
	WholePack Facts = 1 << iota
	// WholeLine: the stores of 16 bytes by 8 consecutive lanes of one instruction
	// that fill an aligned line of 128 bytes become visible together, in local
	// memory and over NVLink. It means nothing without WholePack.
	WholeLine
	// OrderedVote: strong loads that are issued after a vote, shuffle, match or
	// redux which depends on an earlier strong load are not satisfied before it.
	OrderedVote

	// AllFacts is all of them.
	AllFacts = WholePack | WholeLine | OrderedVote
)

// String returns the facts by the names docs/MEMORY-MODEL.md has for them, such
// as "H1+H3", or "none".
func (f Facts) String() string {
	var names []string
	for i, name := range []string{"H1", "H2", "H3"} {
		if f>>i&1 != 0 {
			names = append(names, name)
		}
	}
	if f&^AllFacts != 0 {
		names = append(names, fmt.Sprintf("%#x", uint8(f&^AllFacts)))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}

// weakState is a machine's weak memory: who is known to have done what. What is
// known of memory itself lies with the allocations (shadow.go).
type weakState struct {
	viewMaker
	m     *Machine
	facts Facts
	pcie  func(a, b int) bool
	rng   rng

	slots  []slot
	free   []uint32 // slots of warps that ended
	moment uint64   // counts strong writes
	// deaf is whether strong writes stay unseen where their scope, or that of the
	// read, does not reach. Nothing promises that they are seen there, nor that they
	// are not; the seed decides for the whole run, or a poll would get there at last.
	deaf  bool
	scAll *view   // what fence.sc.sys share
	sc    []*view // by GPU: what fence.sc.gpu there and those of sys do
	host  *agent
}

// slot is the events of the warps that had it, one after another.
type slot struct {
	clk   uint32 // the last one used, while no warp has the slot
	lives []life
}

// life is who had a slot from a clock on.
type life struct {
	birth  uint32
	kernel *kernelLife // nil for the host and streams
	cta    int
	warp   int
	name   string // of the host and streams
}

// kernelLife is what reports need of a kernel that may have ended.
type kernelLife struct {
	prog  *program
	gpu   int
	label string
	ctas  []string
	start knowledge // of its threads when it started
	ended bool
}

// keptLives is how many warps of a slot reports can name: the last ones.
const keptLives = 64

// level is how far a scope reaches.
type level uint8

const (
	ctaLevel level = iota
	gpuLevel
	sysLevel
	numLevels
)

// levelOf returns the level of a scope. A CTA here is alone in its cluster.
func levelOf(s ptx.Scope) level {
	switch s {
	case ptx.GPU:
		return gpuLevel
	case ptx.System:
		return sysLevel
	}
	return ctaLevel
}

// home is where threads are: the CTA, and its GPU. There is one for each CTA.
type home struct {
	gpu int   // -1 is the host
	sc  *view // what fence.sc of its threads share
}

// distance returns the smallest level that includes both.
func (h *home) distance(o *home) level {
	switch {
	case h == o:
		return ctaLevel
	case h.gpu == o.gpu:
		return gpuLevel
	}
	return sysLevel
}

// newWeakState returns nil if no weak memory is asked for.
func newWeakState(m *Machine) *weakState {
	c := m.cfg.Weak
	if c == nil {
		return nil
	}
	ws := &weakState{m: m, facts: c.Facts, pcie: c.PCIe, rng: newRNG(^m.cfg.Seed)}
	if ws.pcie == nil {
		ws.pcie = func(int, int) bool { return false }
	}
	ws.scAll = origin
	ws.deaf = ws.chance(2)
	for range m.cfg.Devices {
		ws.sc = append(ws.sc, origin)
	}
	ws.host = ws.newAgent(-1, "the host")
	return ws
}

// take gives a slot to somebody, who starts at the returned clock.
func (ws *weakState) take(l life) (slotID, birth uint32) {
	if n := len(ws.free); n > 0 {
		slotID = ws.free[n-1]
		ws.free = ws.free[:n-1]
	} else {
		slotID = uint32(len(ws.slots))
		ws.slots = append(ws.slots, slot{})
	}
	s := &ws.slots[slotID]
	s.clk++
	l.birth = s.clk
	if len(s.lives) == keptLives {
		s.lives = slices.Delete(s.lives, 0, 1)
	}
	s.lives = append(s.lives, l)
	return slotID, s.clk
}

// retire gives a slot back.
func (ws *weakState) retire(slotID, clk uint32) {
	ws.slots[slotID].clk = clk
	ws.free = append(ws.free, slotID)
}

// lifeAt returns who had a slot at a clock, or nil if that is forgotten.
func (ws *weakState) lifeAt(slotID, clk uint32) *life {
	lives := ws.slots[slotID].lives
	for i := len(lives) - 1; i >= 0; i-- {
		if lives[i].birth <= clk {
			return &lives[i]
		}
	}
	return nil
}

// chance returns true once in n.
func (ws *weakState) chance(n uint64) bool { return ws.rng.next()>>32*n>>32 == 0 }

// knowledge is what a party has learned of others: the events that come before
// its own (v), and those whose reads are known to be done (r), which are more: a
// strong write tells them to whoever sees it, also where it releases nothing.
type knowledge struct{ v, r *view }

var nothingKnown = knowledge{origin, origin}

// join returns the union.
func (ws *weakState) joinKnowledge(a, b knowledge) knowledge {
	v := ws.join(a.v, b.v)
	return knowledge{v, ws.join(ws.join(a.r, b.r), v)}
}

// weakWarp is what the lanes of a warp know and have under way.
type weakWarp struct {
	ws     *weakState
	home   *home
	kernel *kernelLife
	slot   uint32
	birth  uint32
	clk    uint32

	v, r  [lanes]*view
	bound [lanes]uint32     // the clock up to which a lane's own loads are done
	rel   [lanes]*releases  // what its fences release
	pend  [lanes]*acquiring // what a fence would acquire

	late      []lateLoad
	unread    uint64 // destinations of late loads, as op.touches has them
	groups    []groupSeen
	unsettled bool   // a plain write met versions of strong ones
	votes     bool   // the kernel has votes, which pass groups on
	turn      uint32 // counts loads
}

// newWeakWarp returns the state of a warp that starts.
func (ws *weakState) newWeakWarp(w *warp) *weakWarp {
	c := w.cta
	k := c.kernel
	x := w.weak
	if x == nil {
		x = &weakWarp{}
	}
	*x = weakWarp{ws: ws, home: c.home, kernel: k.life, late: x.late[:0], groups: x.groups[:0], votes: ws.facts&OrderedVote != 0 && k.fn.prog.votes}
	x.slot, x.birth = ws.take(life{kernel: k.life, cta: c.index, warp: w.index})
	x.clk = x.birth
	for l := range x.v {
		x.v[l], x.r[l] = k.life.start.v, k.life.start.r
	}
	return x
}

// tick ends a span of events: others may learn of those before.
func (x *weakWarp) tick() { x.clk++ }

// knows reports whether lane l has an event before its own ones, or did it.
func (x *weakWarp) knows(l int, slot uint32, lane uint8, clk uint32) bool {
	v := x.v[l]
	return int(slot) < len(v.clk) && v.clk[slot] >= clk ||
		slot == x.slot && int(lane) == l && clk >= x.birth ||
		v.extra != nil && v.knowsMore(slot, 1<<lane, clk) != 0
}

// doneBefore returns the first of the lanes of e whose reads lane l does not know
// to be done, or -1.
func (x *weakWarp) doneBefore(l int, e *read) int {
	r := x.r[l]
	if int(e.slot) < len(r.clk) && r.clk[e.slot] >= e.clk {
		return -1
	}
	left := e.lanes
	if r.extra != nil {
		left &^= r.knowsMore(e.slot, left, e.clk)
	}
	if e.slot == x.slot && e.clk >= x.birth {
		left &^= 1 << l
	}
	if left == 0 {
		return -1
	}
	return lowest(left)
}
