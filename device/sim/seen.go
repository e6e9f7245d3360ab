package sim

// Who has read a version of a granule: nobody behind them may read an older one.

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

// others returns those who read a version but for the first.
func (v *version) others() []seen {
	if v.rare == nil {
		return nil
	}
	return v.rare.others
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

// seesNewest notes that lane l read the newest version.
func (x *weakWarp) seesNewest(vs []version, l int, bytes uint8, lv level) {
	at, _ := behind(vs, len(vs)-1, bytes)
	x.sees(&vs[at], l, bytes, lv, 0)
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

// makeCommon drops the versions before one, and who has read that.
func (m *more) makeCommon(i int) {
	for range i {
		m.retireOldest()
	}
	v := &m.versions[0]
	v.common, v.seen, v.rare.others = true, seen{}, nil
}
