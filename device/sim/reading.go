package sim

import "slices"

// What a strong read sees of the versions of a granule, and what it learns.

// mostStale is how many reads of a location in a row a lane may find stale.
const mostStale = 4

// oldest returns the oldest version that lane l may read at the masked bytes.
func (x *weakWarp) oldest(vs []version, l int, bytes uint8) int {
	i := len(vs) - 1
	for ; i > 0; i-- {
		if v := &vs[i]; v.by.bytes&bytes != 0 && x.known(v, l, bytes) {
			break
		}
	}
	return i
}

// newest returns the newest version, not before from, that lane l may read at the
// masked bytes with the scope of a level.
func (x *weakWarp) newest(vs []version, from int, bytes uint8, lv level) int {
	i := len(vs) - 1
	for x.ws.deaf && i > from && (vs[i].by.bytes&bytes == 0 || !x.reaches(&vs[i], lv)) {
		i--
	}
	return i
}

// pick chooses from n versions, the first of which is the oldest: half of the time
// that one, or for a late load, which could have seen that one earlier, the newest.
func (ws *weakState) pick(n int, late bool) int {
	r := ws.rng.next()
	switch {
	case r&1 != 0:
		return int(r >> 32 * uint64(n) >> 32)
	case late:
		return n - 1
	}
	return 0
}

// readVersions chooses what lane l's strong read sees of the versions of one
// granule, or of two together at one moment, and lets it learn what they tell.
func (x *weakWarp) readVersions(w *warp, l int, cells []*cell, bytes uint8, sem semantics, late bool, values []uint64) {
	var from, last [2]int
	var waited uint8
	several := false
	for i, c := range cells {
		if c.more == nil || len(c.more.versions) == 0 {
			continue
		}
		vs := c.more.versions
		from[i] = x.oldest(vs, l, bytes)
		last[i] = x.newest(vs, from[i], bytes, sem.level)
		if from[i] != last[i] {
			several = true
			v := &vs[from[i]]
			if s := x.entry(v, l, bytes, x.reaches(v, sem.level)); s != nil {
				waited = max(waited, s.stale)
			}
		}
	}
	if several {
		if waited >= mostStale {
			from = last
		} else if len(cells) == 1 {
			from[0] += x.ws.pick(last[0]-from[0]+1, late)
		} else {
			x.pickMoment(cells, &from, last, late)
		}
	}
	for i, c := range cells {
		if c.more == nil || len(c.more.versions) == 0 {
			continue
		}
		vs := c.more.versions
		values[i] = vs[from[i]].value
		at, stale := behind(vs[:last[i]+1], from[i], bytes)
		s := x.sees(&vs[at], l, bytes, sem.level, waited)
		if stale {
			if s != nil && s.turn != x.turn { // the lanes of one load count once
				s.turn = x.turn
				s.stale++
			}
			w.m.epoch++ // another read may see more: this is no wait
		}
		x.learn(vs[:from[i]+1], l, bytes, sem.level, sem.acquires)
		if len(vs[at].others()) >= keptReaders {
			c.more.makeCommon(at)
		}
	}
}

// pickMoment moves from on to the versions that two granules had at one moment.
func (x *weakWarp) pickMoment(cells []*cell, from *[2]int, last [2]int, late bool) {
	var moments [2*keptVersions + 1]uint64
	var vs [2][]version
	start := uint64(0)
	for i, c := range cells {
		if c.more != nil && len(c.more.versions) > 0 {
			vs[i] = c.more.versions[:last[i]+1]
			start = max(start, vs[i][from[i]].at)
		}
	}
	moments[0] = start
	n := 1
	for i := range vs {
		for j := range vs[i] {
			if at := vs[i][j].at; at > start {
				moments[n] = at
				n++
			}
		}
	}
	slices.Sort(moments[:n])
	choice := slices.Compact(moments[:n])
	t := choice[x.ws.pick(len(choice), late)]
	for i := range vs {
		for from[i]+1 < len(vs[i]) && vs[i][from[i]+1].at <= t {
			from[i]++
		}
	}
}

// outOfReach reports whether what lane l of w polls with a, at an address, is not
// what memory holds because a scope does not reach.
func (w *warp) outOfReach(a *access, l int, addr uint64) bool {
	x := w.weak
	if x == nil || !strong(a.src) {
		return false
	}
	al, _ := w.find(a.space, l, addr, a.bytes)
	if al == nil || al.shadow == nil {
		return false
	}
	first := addr - al.base
	for off := first; off < first+a.bytes; off += granule {
		if c := al.shadow.at(off); c.more != nil && len(c.more.versions) > 0 {
			vs, bytes := c.more.versions, bytesOf(off, min(a.bytes, granule))
			last := x.newest(vs, x.oldest(vs, l, bytes), bytes, levelOf(a.src.Scope))
			if _, stale := behind(vs, last, bytes); stale {
				return true
			}
		}
	}
	return false
}

// learn takes what a strong read of lane l tells it: from the last of vs, and from
// those before it where they wrote some of the bytes last.
func (x *weakWarp) learn(vs []version, l int, bytes uint8, lv level, acquires bool) {
	for i := len(vs) - 1; i >= 0 && bytes != 0; i-- {
		v := &vs[i]
		if v.by.bytes&bytes == 0 {
			continue
		}
		bytes &^= v.by.bytes
		if v.group && x.votes {
			x.groups.note(v.at, l)
		}
		if v.home == nil || !x.reaches(v, lv) {
			continue
		}
		x.r[l] = x.ws.tell(x.r[l], v)
		if v.rel != nil {
			x.acquire(v.rel, l, lv, acquires)
		}
		for _, rel := range v.passed() {
			x.acquire(rel, l, lv, acquires)
		}
	}
}

// tell adds to r the events whose reads the writer of a version knew to be done.
func (ws *weakState) tell(r *view, v *version) *view {
	r = ws.join(r, v.r)
	if v.bound == 0 {
		return r
	}
	return ws.with(r, reach{v.by.slot, 1 << v.by.lane, v.bound})
}
