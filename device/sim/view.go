package sim

// An event is what a lane did at a clock. Each resident warp has a slot, whose
// clock goes on when another warp gets the slot, and counts the moments at which
// others could learn of the warp's events: barriers, fences and releases. An
// event carries the clock it happened at, so a view that has the clock of such a
// moment has all events up to it and none after.

// view is a set of events that is closed under program order. It is immutable
// and shared: the threads of a CTA leave a barrier with one.
type view struct {
	id    uint64
	clk   []uint32 // by slot: the events of all lanes up to this clock
	extra []reach  // lanes of which more is known than of their warps
}

// reach is the events of some lanes of a slot up to a clock.
type reach struct {
	slot  uint32
	lanes uint32
	clk   uint32
}

// origin is the view with no events.
var origin = &view{}

// knows reports whether v has an event.
func (v *view) knows(slot uint32, lane uint8, clk uint32) bool {
	return int(slot) < len(v.clk) && v.clk[slot] >= clk || v.extra != nil && v.knowsMore(slot, 1<<lane, clk) != 0
}

// knowsMore returns those of lanes whose events up to clk are among the extras.
func (v *view) knowsMore(slot, lanes, clk uint32) uint32 {
	var known uint32
	for _, e := range v.extra {
		if e.slot == slot && e.clk >= clk {
			known |= e.lanes
		}
	}
	return known & lanes
}

// has reports whether v has all events of a reach.
func (v *view) has(p reach) bool {
	return int(p.slot) < len(v.clk) && v.clk[p.slot] >= p.clk || p.lanes != full && v.knowsMore(p.slot, p.lanes, p.clk) == p.lanes
}

// includes reports whether all of u is in v.
func (v *view) includes(u *view) bool {
	for s, c := range u.clk {
		if c != 0 && (s >= len(v.clk) || v.clk[s] < c) {
			return false
		}
	}
	for _, p := range u.extra {
		if !v.has(p) {
			return false
		}
	}
	return true
}

// viewMaker makes views and remembers the last joins: the lanes of a warp, and
// the warps of a CTA, mostly join the same two.
type viewMaker struct {
	ids  uint64
	memo [512]joined
}

type joined struct{ a, b, both *view }

// join returns the union of two views, which is one of them if it includes the
// other.
func (f *viewMaker) join(a, b *view) *view {
	if a == b || b == origin {
		return a
	}
	if a == origin {
		return b
	}
	m := &f.memo[(a.id*0x9e3779b1+b.id)%uint64(len(f.memo))]
	if m.a == a && m.b == b {
		return m.both
	}
	var both *view
	switch {
	case a.includes(b):
		both = a
	case b.includes(a):
		both = b
	default:
		both = f.copy(a, len(b.clk), len(b.extra))
		for s, c := range b.clk {
			both.clk[s] = max(both.clk[s], c)
		}
		both.extra = append(both.extra, b.extra...)
		both.prune()
	}
	*m = joined{a, b, both}
	return both
}

// with returns v with more events.
func (f *viewMaker) with(v *view, parts ...reach) *view {
	news, slots := 0, 0
	for _, p := range parts {
		if !v.has(p) {
			news++
			slots = max(slots, int(p.slot)+1)
		}
	}
	if news == 0 {
		return v
	}
	n := f.copy(v, slots, news)
	for _, p := range parts {
		switch {
		case v.has(p):
		case p.lanes == full:
			n.clk[p.slot] = max(n.clk[p.slot], p.clk)
		default:
			n.extra = append(n.extra, p)
		}
	}
	n.prune()
	return n
}

// copy returns a copy of v, to be changed, with room for slots and extras.
func (f *viewMaker) copy(v *view, slots, extras int) *view {
	f.ids++
	n := &view{id: f.ids, clk: make([]uint32, max(len(v.clk), slots))}
	copy(n.clk, v.clk)
	if len(v.extra)+extras > 0 {
		n.extra = append(make([]reach, 0, len(v.extra)+extras), v.extra...)
	}
	return n
}

// prune removes the extras that say nothing more than clk or another extra.
func (v *view) prune() {
	var kept []reach
	for i, p := range v.extra {
		if int(p.slot) < len(v.clk) && v.clk[p.slot] >= p.clk {
			continue
		}
		for j, q := range v.extra {
			if q.slot == p.slot && (q.clk > p.clk || q.clk == p.clk && j > i) {
				p.lanes &^= q.lanes
			}
		}
		if p.lanes != 0 {
			kept = append(kept, p)
		}
	}
	v.extra = kept
}
