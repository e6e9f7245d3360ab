package sim

import (
	"fmt"
	"math/bits"

	"github.com/ncclgo/ncclgo/device"
)

// side is one of the two accesses of a race.
type side struct {
	slot, clk uint32
	pc        int32
	lane      int
	does      string
}

func (e *write) side(kind string) side {
	return side{e.slot, e.clk, e.pc, int(e.lane), kind}
}

func (e *read) side(lane int) side {
	return side{e.slot, e.clk, e.pc, lane, [...]string{"a plain read", "a strong read", "a read of constant memory"}[e.kind]}
}

// race makes the fault of an access by lane l of w, at pc, to the masked bytes of
// the granule at off, that other should have been ordered before.
func (w *warp) race(pc int32, l int, al *alloc, off uint64, bytes uint8, does string, other side) *device.Fault {
	f := w.faultAt(device.Race, pc, l, "%s", w.weak.ws.raceDetail(does))
	w.weak.ws.place(f, al, off, bytes, other)
	return f
}

// place adds the address and the other side to the fault of a race.
func (ws *weakState) place(f *device.Fault, al *alloc, off uint64, bytes uint8, other side) {
	addr := al.base + off&^(granule-1) + uint64(bits.TrailingZeros8(bytes))
	f.Addr, f.AddrLabel = device.Ptr(addr), ws.m.describe(addr)
	if f.AddrLabel == "" {
		f.AddrLabel = al.label
	}
	f.Others = append(f.Others, ws.otherSide(other))
}

// otherSide describes an access by who did it.
func (ws *weakState) otherSide(s side) *device.Fault {
	f := &device.Fault{Device: -1, CTA: -1, Warp: -1, Lane: -1, Detail: s.does}
	who := ws.lifeAt(s.slot, s.clk)
	switch {
	case who == nil:
		f.Detail += " by a warp that ended long ago"
	case who.kernel == nil:
		f.Detail += " by " + who.name
	default:
		k := who.kernel
		f.Kernel, f.File, f.Label, f.Device = k.prog.name, k.prog.file, joinLabels(k.label, k.ctas, who.cta), k.gpu
		f.CTA, f.Warp, f.Lane = who.cta, who.warp, s.lane
		if src := k.prog.code[s.pc].src; src != nil {
			f.Line, f.Text = src.Line, src.Text
		}
	}
	return f
}

// checkRead finds a write that lane l's read of the masked bytes races with.
func (x *weakWarp) checkRead(c *cell, l int, bytes uint8, kind readKind) (other side, races bool) {
	if e := x.unordered(c.writes[:], l, bytes, kind); e != nil {
		return e.side("a plain write"), true
	}
	m := c.more
	if m == nil {
		return side{}, false
	}
	if e := x.unordered(m.writes, l, bytes, kind); e != nil {
		return e.side("a plain write"), true
	}
	if kind == strongRead {
		return side{}, false
	}
	if e := x.unordered(m.older, l, bytes, kind); e != nil {
		return e.side("a strong write"), true
	}
	var chained uint8 // what a later version was chained to that does not race
	for i := len(m.versions) - 1; i >= 0; i-- {
		v := &m.versions[i]
		at := v.by.bytes & bytes
		if at&^chained != 0 && !x.mayRead(l, &v.by, kind) && !(kind == plainRead && x.saw(v, l, at)) {
			return v.by.side("a strong write"), true
		}
		if chained &^= at; v.chained {
			chained |= at
		}
	}
	return side{}, false
}

// unordered returns one of the writes that lane l must not read at the masked
// bytes, or nil.
func (x *weakWarp) unordered(list []write, l int, bytes uint8, kind readKind) *write {
	for i := range list {
		if e := &list[i]; e.bytes&bytes != 0 && !x.mayRead(l, e, kind) {
			return e
		}
	}
	return nil
}

// mayRead reports whether a write is ordered before a read of lane l: for
// constant memory, before its kernel.
func (x *weakWarp) mayRead(l int, e *write, kind readKind) bool {
	if kind == constantRead {
		return x.kernel.start.v.knows(e.slot, e.lane, e.clk)
	}
	return x.knows(l, e.slot, e.lane, e.clk)
}

// checkWrite finds an access that lane l's write of the masked bytes races with,
// and forgets the reads that are known to be done, if whoever might race with them
// races with the write. Writes must be ordered before it as before a read of its
// kind.
func (x *weakWarp) checkWrite(c *cell, l int, bytes uint8, strong bool) (other side, races bool) {
	kind := plainRead
	if strong {
		kind = strongRead
	}
	if other, races := x.checkRead(c, l, bytes, kind); races {
		return other, true
	}
	for i := range c.reads {
		if e := &c.reads[i]; e.bytes&bytes != 0 {
			if other, races := x.checkDone(e, l, bytes, strong); races {
				return other, true
			}
		}
	}
	if c.more == nil || len(c.more.reads) == 0 {
		return side{}, false
	}
	m := c.more
	kept := m.reads[:0]
	for _, e := range m.reads {
		if e.bytes&bytes != 0 {
			if other, races := x.checkDone(&e, l, bytes, strong); races {
				return other, true
			}
		}
		if e.bytes != 0 {
			kept = append(kept, e)
		}
	}
	m.reads = kept
	return side{}, false
}

// checkDone checks reads against a write of lane l that overlaps them.
func (x *weakWarp) checkDone(e *read, l int, bytes uint8, strong bool) (other side, races bool) {
	if e.kind == constantRead {
		if k := x.ws.lifeAt(e.slot, e.clk); k != nil && !k.kernel.ended {
			return e.side(lowest(e.lanes)), true
		}
	}
	undone := x.doneBefore(l, e)
	switch {
	case strong && e.kind == strongRead && undone >= 0:
	case undone >= 0:
		return e.side(undone), true
	case strong && e.kind != strongRead:
		// Another strong write need not come after this one, and may race with the read.
	default:
		e.bytes &^= bytes
	}
	return side{}, false
}

// raceDetail says what a race is and how to have it again.
func (ws *weakState) raceDetail(does string) string {
	return fmt.Sprintf("%s, which nothing orders with another access (seed %d)", does, ws.m.cfg.Seed)
}
