package sim

import "slices"

// slot is the events of the warps that had it, one after another. Whoever learns of
// an event of a slot learns of all before it there, so a slot goes only to those who
// come after everything that was done in it.
type slot struct {
	clk   uint32 // the last one used, while no warp has the slot
	lives []life
}

// life is who had a slot from a clock on.
type life struct {
	birth  uint32
	kernel *kernelLife // nil for the host and streams
	cta    int
	warp   int
	name   string // of the host and streams
}

// kernelLife is what reports need of a kernel that may have ended.
type kernelLife struct {
	prog  *program
	gpu   int
	label string
	ctas  []string
	start knowledge // of its threads when it started
	ended bool
	fresh bool // no slot is left that its threads could have after others
}

// keptLives is how many warps of a slot reports can name: the last ones.
const keptLives = 64

// enoughSlots bounds the size of views in grids of many more CTAs than have room
// together, none of which comes after another. With so many slots one is given to
// whoever comes, and what the warp did that had it long ago counts as known.
const enoughSlots = 4096

// take gives a slot to somebody with a view to start with, at the returned clock.
func (ws *weakState) take(l life, start *view) (slotID, birth uint32) {
	switch i := ws.freeFor(l, start); {
	case i >= 0:
		slotID = ws.free[i]
		ws.free = slices.Delete(ws.free, i, i+1)
	default:
		slotID = uint32(len(ws.slots))
		ws.slots = append(ws.slots, slot{})
	}
	s := &ws.slots[slotID]
	s.clk++
	l.birth = s.clk
	if len(s.lives) == keptLives {
		s.lives = slices.Delete(s.lives, 0, 1)
	}
	s.lives = append(s.lives, l)
	return slotID, s.clk
}

// freeFor returns the index of a free slot that somebody may have, or -1.
func (ws *weakState) freeFor(l life, start *view) int {
	if l.kernel == nil || !l.kernel.fresh {
		for i := len(ws.free) - 1; i >= 0; i-- {
			if id := ws.free[i]; start.has(reach{id, full, ws.slots[id].clk}) {
				return i
			}
		}
		if l.kernel != nil {
			l.kernel.fresh = true // what ends from now on was not before its start
		}
	}
	if len(ws.slots) >= enoughSlots && len(ws.free) > 0 {
		return 0
	}
	return -1
}

// retire gives a slot back.
func (ws *weakState) retire(slotID, clk uint32) {
	ws.slots[slotID].clk = clk
	ws.free = append(ws.free, slotID)
}

// lifeAt returns who had a slot at a clock, or nil if that is forgotten.
func (ws *weakState) lifeAt(slotID, clk uint32) *life {
	lives := ws.slots[slotID].lives
	for i := len(lives) - 1; i >= 0; i-- {
		if lives[i].birth <= clk {
			return &lives[i]
		}
	}
	return nil
}

// kernelStarts lets the threads of a kernel know what its stream and its launch
// come after.
func (ws *weakState) kernelStarts(k *kernel) {
	start := ws.joinKnowledge(k.stream.know, k.behind)
	k.leaves = start
	k.life = &kernelLife{prog: k.fn.prog, gpu: k.gpu.index, label: k.label, ctas: k.ctas, start: start}
}

// ctaEnds takes what the threads of a CTA that ended knew and did, and their slots.
func (ws *weakState) ctaEnds(c *cta) {
	k := c.kernel
	c.home.ended = true
	parts := make([]reach, 0, len(c.warps))
	for _, w := range c.warps {
		x := w.weak
		for m := w.exists; m != 0; m &= m - 1 {
			l := lowest(m)
			k.leaves = knowledge{ws.join(k.leaves.v, x.v[l]), ws.join(k.leaves.r, x.r[l])}
		}
		parts = append(parts, reach{x.slot, full, x.clk})
		ws.retire(x.slot, x.clk)
	}
	k.leaves.v = ws.with(k.leaves.v, parts...)
	k.leaves.r = ws.join(k.leaves.r, k.leaves.v)
}

// kernelEnds releases all that to the stream.
func (ws *weakState) kernelEnds(k *kernel) {
	k.life.ended = true
	k.stream.know = k.leaves
}
