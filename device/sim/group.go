package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// groupSeen is a moment at which several granules changed together, the lanes that
// have seen one of them, and those that a vote told of it.
type groupSeen struct {
	at            uint64
	readers, told uint32
}

// keptGroups is how many moments a warp remembers: more than it votes about at a
// time.
const keptGroups = 64

// noteGroup notes that a lane has read a version that became visible with others.
func (x *weakWarp) noteGroup(at uint64, l int) {
	if !x.votes {
		return
	}
	for i := len(x.groups) - 1; i >= 0; i-- {
		if g := &x.groups[i]; g.at == at {
			g.readers |= 1 << l
			return
		}
	}
	if len(x.groups) == keptGroups {
		copy(x.groups, x.groups[1:])
		x.groups = x.groups[:keptGroups-1]
	}
	x.groups = append(x.groups, groupSeen{at: at, readers: 1 << l})
}

// told reports whether a vote told lane l of a moment.
func (x *weakWarp) told(l int, at uint64) bool {
	for i := len(x.groups) - 1; i >= 0; i-- {
		if g := &x.groups[i]; g.at == at {
			return g.told>>l&1 != 0
		}
	}
	return false
}

// vote passes what some of the lanes have read on to all of them (H3).
func (x *weakWarp) vote(lanes uint32) {
	for i := range x.groups {
		if g := &x.groups[i]; (g.readers|g.told)&lanes != 0 {
			g.told |= lanes
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
