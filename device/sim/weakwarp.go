package sim

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
	groups    groups
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
	*x = weakWarp{ws: ws, home: c.home, kernel: k.life, late: x.late[:0], votes: ws.facts&OrderedVote != 0 && k.fn.prog.votes}
	x.slot, x.birth = ws.take(life{kernel: k.life, cta: c.index, warp: w.index}, k.life.start.v)
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
