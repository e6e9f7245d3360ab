package sim

import "github.com/ncclgo/ncclgo/device"

// agent is the host, or the copies of a stream, as a thread that accesses memory:
// lane 0 of a slot.
type agent struct {
	weakWarp
	name string
}

func (ws *weakState) newAgent(gpu int, name string, start knowledge) *agent {
	a := &agent{weakWarp{ws: ws, home: &home{gpu: gpu, sc: origin}}, name}
	a.slot, a.birth = ws.take(life{name: name}, start.v)
	a.clk, a.v[0], a.r[0] = a.birth, start.v, start.r
	return a
}

// retire gives the slot of an agent back that does nothing any more. Nothing was
// done at its clock yet.
func (a *agent) retire() {
	if a != nil {
		a.ws.retire(a.slot, a.clk-1)
	}
}

// now returns what whoever comes after the agent's events so far knows.
func (a *agent) now() knowledge {
	v := a.ws.with(a.v[0], reach{a.slot, full, a.clk})
	a.tick()
	return knowledge{v, a.ws.join(a.r[0], v)}
}

// learns joins what comes before what the agent does next.
func (a *agent) learns(k knowledge) {
	k = a.ws.joinKnowledge(knowledge{a.v[0], a.r[0]}, k)
	a.v[0], a.r[0] = k.v, k.r
}

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
		m.weak.host.learns(know())
	}
}

// reads checks and notes a plain read. A nil agent is that of a machine that is not
// weak.
func (a *agent) reads(p span, what string) error {
	if a == nil {
		return nil
	}
	return a.each(p, func(c *cell, at uint64, bytes uint8) error {
		if other, races := a.checkRead(c, 0, bytes, plainRead); races {
			return a.race(p.a, at, bytes, what, other)
		}
		c.addRead(&a.weakWarp, read{a.slot, a.clk, hostPC, 1, bytes, plainRead})
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
		if other, races := a.checkWrite(c, 0, bytes, false); races {
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

// each calls f for the cells of a span; for a page whose granules nobody told apart
// so far once, if f leaves them alike.
func (a *agent) each(p span, f func(c *cell, at uint64, bytes uint8) error) error {
	if !p.a.tracked() {
		return nil
	}
	const pageBytes = pageCells * granule
	sh := p.a.cells()
	for off, end := p.off, p.off+p.n; off < end; {
		if off%pageBytes == 0 && end-off >= pageBytes {
			if seed := sh.seed(off); seed != nil {
				c := *seed
				if err := f(&c, off, 0xff); err != nil {
					return err
				}
				if c.more == nil {
					*seed = c
					off += pageBytes
					continue
				}
			}
		}
		next := min(end, off/granule*granule+granule)
		if err := f(sh.at(off), off, bytesOf(off, next-off)); err != nil {
			return err
		}
		off = next
	}
	return nil
}

// race makes the fault of an access of the agent's, and poisons the machine.
func (a *agent) race(al *alloc, at uint64, bytes uint8, what string, other side) error {
	f := &device.Fault{Kind: device.Race, Device: a.home.gpu, CTA: -1, Warp: -1, Lane: -1}
	f.Detail = a.ws.raceDetail(what + " by " + a.name)
	a.ws.place(f, al, at, bytes, other)
	a.ws.m.poison(f)
	return f
}

// stores does a strong store of sys scope that releases what the agent knows, of a
// word of pinned memory.
func (a *agent) stores(al *alloc, off uint64, do func()) {
	if a == nil {
		do()
		return
	}
	c, bytes := al.cells().at(off), bytesOf(off, 4)
	if other, races := a.checkWrite(c, 0, bytes, true); races {
		a.race(al, off, bytes, "a strong write", other)
		return
	}
	rel, clk := a.releaseAt(0, sysLevel, a.clk), a.clk
	a.tick()
	before := al.granuleAt(off)
	do()
	a.ws.moment++
	c.addVersion(before, version{value: al.granuleAt(off), at: a.ws.moment, by: write{a.slot, a.clk, hostPC, 0, bytes},
		level: sysLevel, home: a.home, rel: rel, r: a.r[0], bound: clk})
}

// loads does a strong load of a word of pinned memory: of the newest value, and
// acquires what was released with it. After a fault nothing is checked.
func (a *agent) loads(al *alloc, off uint64) {
	if a == nil || a.ws.m.err != nil {
		return
	}
	c, bytes := al.cells().at(off), bytesOf(off, 4)
	if other, races := a.checkRead(c, 0, bytes, strongRead); races {
		a.race(al, off, bytes, "a strong read", other)
		return
	}
	c.addRead(&a.weakWarp, read{a.slot, a.clk, hostPC, 1, bytes, strongRead})
	if c.more != nil && len(c.more.versions) > 0 {
		a.seesNewest(c.more.versions, 0, bytes, sysLevel)
		a.learn(c.more.versions, 0, bytes, sysLevel, true)
	}
}
