package sim

import "slices"

// Strong writes leave older values behind, which strong reads may still return.

// keptVersions is how many values of a granule strong reads can see; an older one
// is what nobody is slow enough for.
const keptVersions = 8

// Two bounds, or what is kept would grow with every launch that polls a word or adds
// to it: keptReaders is how many reads of a version tell who may not go behind it,
// before it counts as read by everybody; keptOlder is with how many of the strong
// writes of a granule that are no longer among its values races are found.
const (
	keptReaders = 4096
	keptOlder   = 4096
)

// mostStale is how many reads of a location in a row a lane may find stale.
const mostStale = 4

// version is the value of a granule after a strong write, and what the write
// tells. The first of a cell may be what was there before any.
type version struct {
	value uint64
	at    uint64 // weakState.moment when it was written: equal for what becomes visible together
	home  *home  // of the writer; nil if this is no strong write
	rel   *releases
	r     *view // the writer's knowledge.r
	rare  *rare // nil: neither
	by    write
	seen  seen   // the first of those who read it
	bound uint32 // the clock up to which the writer's own loads were done
	level level
	group bool // others have the same moment
	// common is set if so many have read it that it counts as read by all. There are
	// no older ones then.
	common bool
	// chained is set if an atomic wrote it that is morally strong with all it replaced:
	// those come before whoever comes after it.
	chained bool
}

// rare is what few versions have.
type rare struct {
	passed []*releases // by an atomic: what the versions it replaced carried
	others []seen      // the rest of those who read it
}

// passed returns what an atomic passes on.
func (v *version) passed() []*releases {
	if v.rare == nil {
		return nil
	}
	return v.rare.passed
}

// others returns those who read a version but for the first.
func (v *version) others() []seen {
	if v.rare == nil {
		return nil
	}
	return v.rare.others
}

// seen is the first read of a version by lanes of a warp, and how often they read
// there in vain.
type seen struct {
	slot, clk uint32
	lanes     uint32
	turn      uint32 // weakWarp.turn of the last read in vain
	bytes     uint8
	stale     uint8
	near      bool // morally strong with the write
}

// known reports whether lane l has to see a version, at some of the bytes, or a
// later one.
func (x *weakWarp) known(v *version, l int, bytes uint8) bool {
	if x.knows(l, v.by.slot, v.by.lane, v.by.clk) {
		return true
	}
	if v.seen.bytes&bytes != 0 && x.knowsSeen(&v.seen, l) {
		return true
	}
	others := v.others()
	for i := range others {
		if s := &others[i]; s.bytes&bytes != 0 && x.knowsSeen(s, l) {
			return true
		}
	}
	return v.group && x.votes && x.groups.told(v.at, l)
}

// knowsSeen reports whether one of the reads of s comes before lane l's next.
func (x *weakWarp) knowsSeen(s *seen, l int) bool {
	v := x.v[l]
	return int(s.slot) < len(v.clk) && v.clk[s.slot] >= s.clk ||
		s.slot == x.slot && s.lanes>>l&1 != 0 && s.clk >= x.birth ||
		v.extra != nil && v.knowsMore(s.slot, s.lanes, s.clk) != 0
}

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

// reaches reports whether the scopes of a version's write and of a read of x
// include one another: the two are morally strong.
func (x *weakWarp) reaches(v *version, lv level) bool {
	if v.home == nil {
		return true
	}
	d := x.home.distance(v.home)
	return d <= v.level && d <= lv
}

// behind returns the version from which the bytes come when lane l sees what was
// there with version i, and whether that is stale.
func behind(vs []version, i int, bytes uint8) (from int, stale bool) {
	for j := len(vs) - 1; j > i; j-- {
		if vs[j].by.bytes&bytes != 0 {
			stale = true
			break
		}
	}
	for i > 0 && vs[i].by.bytes&bytes == 0 {
		i--
	}
	return i, stale
}

// saw reports whether lane l comes after a read of a version, at the bytes, that is
// morally strong with its write. The write then comes before whatever the lane does
// next: causality order begins with observation order (PTX ISA, "Causality Order").
func (x *weakWarp) saw(v *version, l int, bytes uint8) bool {
	if v.common || v.seen.near && bytes&^v.seen.bytes == 0 && x.knowsSeen(&v.seen, l) {
		return true
	}
	others := v.others()
	for i := range others {
		if s := &others[i]; s.near && bytes&^s.bytes == 0 && x.knowsSeen(s, l) {
			return true
		}
	}
	return false
}

// entry returns the entry of lane l's reads of a version, or nil.
func (x *weakWarp) entry(v *version, l int, bytes uint8, near bool) *seen {
	if s := &v.seen; s.is(x, l, bytes, near) {
		return s
	}
	others := v.others()
	for i := range others {
		if s := &others[i]; s.is(x, l, bytes, near) {
			return s
		}
	}
	return nil
}

func (s *seen) is(x *weakWarp, l int, bytes uint8, near bool) bool {
	return s.slot == x.slot && s.lanes>>l&1 != 0 && s.bytes == bytes && s.clk >= x.birth && s.near == near
}

// sees returns the entry of lane l's reads of a version; a new one says how often
// it read in vain before. Common versions have none.
func (x *weakWarp) sees(v *version, l int, bytes uint8, lv level, waited uint8) *seen {
	if v.common {
		return nil
	}
	near := x.reaches(v, lv)
	if s := x.entry(v, l, bytes, near); s != nil {
		return s
	}
	return v.addSeen(seen{slot: x.slot, clk: x.clk, lanes: 1 << l, bytes: bytes, stale: waited, near: near})
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

// seesNewest notes that lane l read the newest version.
func (x *weakWarp) seesNewest(vs []version, l int, bytes uint8, lv level) {
	at, _ := behind(vs, len(vs)-1, bytes)
	x.sees(&vs[at], l, bytes, lv, 0)
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

// addSeen notes a read, with those of other lanes at the same clock.
func (v *version) addSeen(n seen) *seen {
	if v.seen.bytes == 0 {
		v.seen = n
		return &v.seen
	}
	if v.seen.with(n) {
		return &v.seen
	}
	others := v.others()
	for i := len(others) - 1; i >= 0; i-- {
		if s := &others[i]; s.with(n) {
			return s
		}
	}
	if v.rare == nil {
		v.rare = &rare{}
	}
	v.rare.others = append(others, n)
	return &v.rare.others[len(others)]
}

// with adds the lanes of n to s if that is all they differ in.
func (s *seen) with(n seen) bool {
	if s.slot != n.slot || s.clk != n.clk || s.bytes != n.bytes || s.near != n.near {
		return false
	}
	s.lanes |= n.lanes
	return true
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

// overtakes reports whether nothing orders a write of lane l behind the last strong
// one of the bytes.
func (x *weakWarp) overtakes(c *cell, l int, bytes uint8) bool {
	if c.more == nil {
		return false
	}
	vs := c.more.versions
	for i := len(vs) - 1; i >= 0; i-- {
		if v := &vs[i]; v.by.bytes&bytes != 0 {
			return !x.knows(l, v.by.slot, v.by.lane, v.by.clk) && !x.saw(v, l, v.by.bytes&bytes)
		}
	}
	return false
}

// addVersion notes a strong write, after which the granule holds v.value, and
// before it held before.
func (c *cell) addVersion(before uint64, v version) {
	m := c.extend()
	if len(m.versions) == 0 {
		if m.versions == nil {
			m.versions = make([]version, 0, 2)
		}
		m.versions = append(m.versions, version{value: before})
	}
	if len(m.versions) == keptVersions {
		m.retireOldest()
	}
	m.versions = append(m.versions, v)
}

// retireOldest drops the first version.
func (m *more) retireOldest() {
	gone := m.versions[0].by
	if v := &m.versions[1]; v.chained {
		gone.bytes &^= v.by.bytes // who races with it races with that one
	}
	copy(m.versions, m.versions[1:])
	m.versions = m.versions[:len(m.versions)-1]
	if gone.bytes == 0 {
		return
	}
	kept := m.older[:0]
	for _, e := range m.older {
		if e.slot == gone.slot && e.lane == gone.lane {
			e.bytes &^= gone.bytes
		}
		if e.bytes != 0 {
			kept = append(kept, e)
		}
	}
	if len(kept) == keptOlder {
		kept = slices.Delete(kept, 0, 1)
	}
	m.older = append(kept, gone)
}

// makeCommon drops the versions before one, and who has read that.
func (m *more) makeCommon(i int) {
	for range i {
		m.retireOldest()
	}
	v := &m.versions[0]
	v.common, v.seen, v.rare.others = true, seen{}, nil
}

// settle notes a plain write, which all versions come before: whoever
// reads one must have the write in its view, and sees the new bytes.
func (m *more) settle(bytes uint8, value uint64) {
	if len(m.versions) == 0 {
		return
	}
	mask := spread(bytes)
	left := uint8(0)
	for i := range m.versions {
		v := &m.versions[i]
		v.value = v.value&^mask | value&mask
		v.by.bytes &^= bytes
		left |= v.by.bytes
	}
	kept := m.older[:0]
	for _, e := range m.older {
		if e.bytes &^= bytes; e.bytes != 0 {
			kept = append(kept, e)
		}
	}
	m.older = kept
	if left == 0 {
		m.versions = m.versions[:0]
	}
}

// spread returns the bits of the masked bytes.
func spread(bytes uint8) uint64 {
	var m uint64
	for i := range granule {
		if bytes>>i&1 != 0 {
			m |= 0xff << (8 * i)
		}
	}
	return m
}
