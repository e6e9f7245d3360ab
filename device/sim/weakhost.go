package sim

import "github.com/ncclgo/ncclgo/device"

// agent is the host, or a stream's copies, as one that accesses memory.
type agent struct {
	knowledge
	ws   *weakState
	slot uint32
	clk  uint32
	home *home
	name string
}

func (ws *weakState) newAgent(gpu int, name string) *agent {
	a := &agent{knowledge: nothingKnown, ws: ws, home: &home{gpu: gpu, sc: origin}, name: name}
	a.slot, a.clk = ws.take(life{name: name})
	return a
}

// now returns what whoever comes after the agent's events so far knows.
func (a *agent) now() knowledge {
	v := a.ws.with(a.v, reach{a.slot, full, a.clk})
	a.clk++
	return knowledge{v, a.ws.join(a.r, v)}
}

// learn joins what comes before what the agent does next.
func (a *agent) learn(k knowledge) { a.knowledge = a.ws.joinKnowledge(a.knowledge, k) }

// hostAgent returns the host as one that accesses memory; nil if memory is not weak.
func (ws *weakState) hostAgent() *agent {
	if ws == nil {
		return nil
	}
	return ws.host
}

// hostNow returns what work that the host queues now comes after.
func (ws *weakState) hostNow() knowledge {
	if ws == nil {
		return knowledge{}
	}
	return ws.host.now()
}

// hostLearns lets the host know what it has waited for.
func (m *Machine) hostLearns(know func() knowledge) {
	if m.weak != nil {
		m.weak.host.learn(know())
	}
}

// knows reports whether an event comes before the agent's next.
func (a *agent) knows(slot uint32, lane uint8, clk uint32) bool {
	return slot == a.slot || a.v.knows(slot, lane, clk)
}

// reads checks and notes a plain read. A nil agent is that of a machine that is not
// weak.
func (a *agent) reads(p span, what string) error {
	if a == nil {
		return nil
	}
	al := p.a
	return a.each(p, func(c *cell, at uint64, bytes uint8) error {
		for i := range c.writes {
			if e := &c.writes[i]; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
				return a.race(al, at, bytes, what, e.side("a plain write"))
			}
		}
		if m := c.more; m != nil {
			for _, list := range [][]write{m.writes, m.older} {
				for i := range list {
					if e := &list[i]; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
						return a.race(al, at, bytes, what, e.side("a write"))
					}
				}
			}
			for i := range m.versions {
				if e := &m.versions[i].by; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
					return a.race(al, at, bytes, what, e.side("a strong write"))
				}
			}
		}
		r := read{slot: a.slot, clk: a.clk, pc: hostPC, lanes: 1, bytes: bytes}
		for i := range c.reads {
			if e := &c.reads[i]; e.bytes == 0 || e.slot == r.slot && e.bytes&^bytes == 0 {
				*e = r
				return nil
			}
		}
		m := c.extend()
		m.reads = append(m.reads, r)
		return nil
	})
}

// writes checks, does and notes a plain write.
func (a *agent) writes(p span, what string, do func()) error {
	if a == nil {
		do()
		return nil
	}
	err := a.each(p, func(c *cell, at uint64, bytes uint8) error {
		if other, races := a.overwrites(c, bytes, false); races {
			return a.race(p.a, at, bytes, what, other)
		}
		c.setWrite(write{a.slot, a.clk, hostPC, 0, bytes})
		return nil
	})
	if err != nil {
		return err
	}
	do()
	return a.each(p, func(c *cell, at uint64, bytes uint8) error {
		if c.more != nil {
			c.more.settle(bytes, p.a.granuleAt(at))
		}
		return nil
	})
}

// overwrites finds an access that the agent's write races with.
func (a *agent) overwrites(c *cell, bytes uint8, strong bool) (other side, races bool) {
	for i := range c.writes {
		if e := &c.writes[i]; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
			return e.side("a plain write"), true
		}
	}
	undone := func(e *read) bool {
		return e.bytes&bytes != 0 && e.slot != a.slot && !a.r.has(reach{e.slot, e.lanes, e.clk}) && (!strong || e.kind != strongRead)
	}
	for i := range c.reads {
		if e := &c.reads[i]; undone(e) {
			return e.side(lowest(e.lanes)), true
		}
	}
	m := c.more
	if m == nil {
		return side{}, false
	}
	for i := range m.writes {
		if e := &m.writes[i]; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
			return e.side("a plain write"), true
		}
	}
	for i := range m.reads {
		if e := &m.reads[i]; undone(e) {
			return e.side(lowest(e.lanes)), true
		}
	}
	if strong {
		return side{}, false
	}
	for i := range m.older {
		if e := &m.older[i]; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
			return e.side("a strong write"), true
		}
	}
	for i := range m.versions {
		if e := &m.versions[i].by; e.bytes&bytes != 0 && !a.knows(e.slot, e.lane, e.clk) {
			return e.side("a strong write"), true
		}
	}
	return side{}, false
}

// each calls f for the granules of a span: those in which somebody accessed
// something before, or all while kernels run, which may do so next.
func (a *agent) each(p span, f func(c *cell, at uint64, bytes uint8) error) error {
	al, off, n := p.a, p.off, p.n
	if al.readOnly {
		return nil
	}
	all := len(a.ws.m.running) > 0
	if !all && al.shadow == nil {
		return nil
	}
	sh := al.cells()
	for end := off + n; off < end; {
		next := min(end, off/granule*granule+granule)
		if !all {
			i := off / granule / pageCells
			if i >= uint64(len(sh.pages)) {
				return nil
			}
			if sh.pages[i] == nil {
				off = (i + 1) * pageCells * granule
				continue
			}
		}
		if err := f(sh.at(off), off, bytesOf(off, next-off)); err != nil {
			return err
		}
		off = next
	}
	return nil
}

// race is the fault of an access of the agent's.
func (a *agent) race(al *alloc, at uint64, bytes uint8, what string, other side) error {
	f := &device.Fault{Kind: device.Race, Device: a.home.gpu, CTA: -1, Warp: -1, Lane: -1}
	f.Detail = what + " by " + a.name + " of memory that another access is not ordered with"
	a.ws.place(f, al, at, bytes, other)
	a.ws.m.poison(f)
	return f
}

// stores does a strong store of sys scope that releases what the agent knows: of a
// word of pinned memory, by the host.
func (a *agent) stores(al *alloc, off uint64, store func()) error {
	if a == nil {
		store()
		return nil
	}
	c, bytes := al.cells().at(off), bytesOf(off, 4)
	if other, races := a.overwrites(c, bytes, true); races {
		return a.race(al, off, bytes, "a strong write", other)
	}
	before := al.granuleAt(off)
	k := a.now()
	store()
	ws := a.ws
	ws.moment++
	rel := &releases{home: a.home}
	for d := range rel.at {
		rel.at[d] = release{v: k.v, full: k.v}
	}
	c.addVersion(before, version{value: al.granuleAt(off), at: ws.moment, by: write{a.slot, a.clk, hostPC, 0, bytes},
		level: sysLevel, home: a.home, rel: rel, r: k.r})
	return nil
}

// loads does a strong load of sys scope, which acquires, of a word of pinned
// memory.
func (a *agent) loads(al *alloc, off uint64) {
	if a == nil || al.shadow == nil {
		return
	}
	c, bytes := al.shadow.at(off), bytesOf(off, 4)
	if c.more == nil {
		return
	}
	for i := len(c.more.versions) - 1; i >= 0; i-- {
		v := &c.more.versions[i]
		if v.by.bytes&bytes == 0 || v.home == nil {
			continue
		}
		if v.level < sysLevel {
			return
		}
		a.r = a.ws.join(a.r, v.r)
		for _, c := range append([]carried{{v.rel, v.level}}, v.passed...) {
			if c.rel != nil && c.level == sysLevel && c.rel.at[sysLevel].v != nil {
				u := a.ws.released(&c.rel.at[sysLevel])
				a.learn(knowledge{u, u})
			}
		}
		return
	}
}
