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
