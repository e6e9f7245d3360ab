package sim

// What the weak model knows of memory: for each granule of 8 bytes a cell with
// the accesses that a later one may race with, and the older values that strong
// reads may still see. Cells are made page by page where memory is accessed.

const (
	granule   = 8   // bytes
	pageCells = 256 // granules
)

// shadow is the cells of an allocation.
type shadow struct {
	pages []*shadowPage
	seeds []cell // of each page that is not there: what all of its cells would be
}

type shadowPage [pageCells]cell

// cell is what is known of one granule. The first accesses have a place in it,
// for lanes with elements of 4 bytes and more; the others are in more.
type cell struct {
	writes [2]write
	reads  [2]read
	more   *more
}

type more struct {
	writes   []write
	reads    []read
	versions []version // oldest first; the last is what memory holds
	// older has the last write of each lane among the strong ones that are no
	// longer in versions.
	older []write
}

// write is the last plain write of some bytes; none if bytes is 0.
type write struct {
	slot, clk uint32
	pc        int32 // of the instruction; hostPC for host calls
	lane      uint8
	bytes     uint8 // mask
}

// read is the last reads of some bytes by lanes of a warp, at one instruction.
type read struct {
	slot, clk uint32
	pc        int32
	lanes     uint32
	bytes     uint8
	kind      readKind
}

type readKind uint8

const (
	plainRead readKind = iota
	strongRead
	constantRead // .nc: the kernel promises that nobody writes there while it runs
)

// hostPC stands for the instruction in what host calls and stream copies do.
const hostPC = -1

// at returns the cell of the granule at a byte offset.
func (s *shadow) at(off uint64) *cell {
	g := off / granule
	if i := g / pageCells; i < uint64(len(s.pages)) {
		if p := s.pages[i]; p != nil {
			return &p[g%pageCells]
		}
	}
	return s.grow(g)
}

func (s *shadow) grow(g uint64) *cell {
	i := g / pageCells
	s.extend(i)
	p := new(shadowPage)
	if seed := s.seeds[i]; seed != (cell{}) {
		for k := range p {
			p[k] = seed
		}
		s.seeds[i] = cell{}
	}
	s.pages[i] = p
	return &p[g%pageCells]
}

// seed returns what all cells of the page at an offset would be, or nil if there
// is the page.
func (s *shadow) seed(off uint64) *cell {
	i := off / granule / pageCells
	s.extend(i)
	if s.pages[i] != nil {
		return nil
	}
	return &s.seeds[i]
}

// extend makes room for page i.
func (s *shadow) extend(i uint64) {
	if n := uint64(len(s.pages)); i >= n {
		s.pages = append(s.pages, make([]*shadowPage, i+1-n)...)
		s.seeds = append(s.seeds, make([]cell, i+1-n)...)
	}
}

// bytesOf returns the mask of n bytes at an offset, as far as they are in its
// granule.
func bytesOf(off, n uint64) uint8 { return uint8((1<<n - 1) << (off % granule)) }

// extend returns the overflow of a cell.
func (c *cell) extend() *more {
	if c.more == nil {
		c.more = &more{}
	}
	return c.more
}

// setWrite notes a plain write, in place of those it overwrites.
func (c *cell) setWrite(n write) {
	spare := -1
	for i := range c.writes {
		e := &c.writes[i]
		if e.bytes&^n.bytes == 0 {
			e.bytes = 0
			if spare < 0 {
				spare = i
			}
			continue
		}
		e.bytes &^= n.bytes
	}
	if m := c.more; m != nil && len(m.writes) > 0 {
		kept := m.writes[:0]
		for _, e := range m.writes {
			if e.bytes &^= n.bytes; e.bytes != 0 {
				kept = append(kept, e)
			}
		}
		m.writes = kept
	}
	if spare >= 0 {
		c.writes[spare] = n
		return
	}
	m := c.extend()
	m.writes = append(m.writes, n)
}

// addRead notes a read of one lane. It replaces those of the lane itself, and
// those that came before it by its view: whoever races with them races with it.
func (c *cell) addRead(x *weakWarp, n read) {
	spare := -1
	for i := range c.reads {
		e := &c.reads[i]
		if e.joins(n) {
			e.lanes |= n.lanes
			return
		}
		x.supersede(e, n)
		if e.bytes == 0 && spare < 0 {
			spare = i
		}
	}
	if m := c.more; m != nil && len(m.reads) > 0 {
		for i := range m.reads {
			if e := &m.reads[i]; e.joins(n) {
				e.lanes |= n.lanes
				return
			}
		}
		kept := m.reads[:0]
		for _, e := range m.reads {
			if x.supersede(&e, n); e.bytes != 0 {
				kept = append(kept, e)
			}
		}
		m.reads = kept
	}
	if spare >= 0 {
		c.reads[spare] = n
		return
	}
	m := c.extend()
	m.reads = append(m.reads, n)
}

// joins reports whether two reads differ in their lanes only.
func (e *read) joins(n read) bool {
	return e.slot == n.slot && e.clk == n.clk && e.pc == n.pc && e.bytes == n.bytes && e.kind == n.kind
}

// supersede removes from e what the read n, of a lane of x, stands for too.
func (x *weakWarp) supersede(e *read, n read) {
	if e.bytes == 0 || e.bytes&^n.bytes != 0 || n.kind != plainRead && e.kind != n.kind {
		return
	}
	if e.kind == constantRead && n.kind == plainRead {
		return
	}
	if e.slot == n.slot && e.clk >= x.birth {
		e.lanes &^= n.lanes
	} else if v := x.v[lowest(n.lanes)]; v.has(reach{e.slot, e.lanes, e.clk}) {
		e.lanes = 0
	}
	if e.lanes == 0 {
		*e = read{}
	}
}
