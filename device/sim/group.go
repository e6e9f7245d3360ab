package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// groups is the moments at which several granules changed together of which a
// warp knows, the last ones, each with the lanes that have seen one of the granules
// and those that a vote told of it.
type groups struct {
	at   map[uint64]int32 // index in list
	list []groupSeen
	next int32 // the one to replace when the list is full
}

type groupSeen struct {
	at            uint64
	readers, told uint32
}

// keptGroups is how many moments a warp remembers: more than it votes about at a
// time, of which there is one for each 16 bytes that it reads at most.
const keptGroups = 512

// note notes that a lane has read a version that became visible with others.
func (g *groups) note(at uint64, l int) {
	if i, known := g.at[at]; known {
		g.list[i].readers |= 1 << l
		return
	}
	if g.at == nil {
		g.at = map[uint64]int32{}
	}
	n := groupSeen{at: at, readers: 1 << l}
	if len(g.list) < keptGroups {
		g.at[at] = int32(len(g.list))
		g.list = append(g.list, n)
		return
	}
	delete(g.at, g.list[g.next].at)
	g.at[at], g.list[g.next] = g.next, n
	g.next = (g.next + 1) % keptGroups
}

// told reports whether a vote told lane l of a moment.
func (g *groups) told(at uint64, l int) bool {
	i, known := g.at[at]
	return known && g.list[i].told>>l&1 != 0
}

// vote passes what some of the lanes have read on to all of them (H3).
func (g *groups) vote(lanes uint32) {
	for i := range g.list {
		if e := &g.list[i]; (e.readers|e.told)&lanes != 0 {
			e.told |= lanes
		}
	}
}

// passesOn reports whether an instruction passes on what its lanes have read.
func passesOn(op ptx.Op) bool {
	return op == ptx.OpVote || op == ptx.OpShfl || op == ptx.OpMatch || op == ptx.OpRedux
}

const lineBytes = 128

// sharesLine reports whether lines of an allocation that this warp fills become
// visible as a whole, if they do anywhere.
func (w *warp) sharesLine(al *alloc) bool {
	c := w.cta
	return al != c.shared && al != c.window && al.gpu >= 0 && !w.weak.ws.pcie(c.kernel.gpu.index, al.gpu)
}

// wholeLines returns the lanes that with 7 others, of which they are not the first,
// fill a line with stores of 16 bytes.
func wholeLines(offs *row64, m uint32) (follow uint32) {
	const packs = lineBytes / 16
	for first := 0; first+packs <= lanes; {
		if m>>first&(1<<packs-1) == 1<<packs-1 {
			line, filled := offs[first]/lineBytes, uint32(0)
			for _, o := range offs[first : first+packs] {
				if o/lineBytes == line {
					filled |= 1 << (o % lineBytes / 16)
				}
			}
			if filled == 1<<packs-1 {
				follow |= (1<<packs - 2) << first
				first += packs
				continue
			}
		}
		first++
	}
	return follow
}
