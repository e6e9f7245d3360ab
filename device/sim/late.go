package sim

import (
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// A strong load may bind late: at the latest at the first use of a destination,
// the thread's next fence, acquire, release or barrier, an access of its own to
// the same bytes, or its exit. Until then it may see what is written meanwhile.
// (A plain load need not: whoever wrote what it could see late would race with it.)

// lateChance is of how many strong loads one binds as late as it can.
const lateChance = 2

// lateLoad is a strong load of some lanes that has not bound yet.
type lateLoad struct {
	a     *access
	al    *alloc
	pc    int32
	lanes uint32
	offs  row64
}

// postpone leaves a load of the lanes of m, at w.off, for later.
func (x *weakWarp) postpone(w *warp, a *access, al *alloc, m uint32) {
	x.late = append(x.late, lateLoad{a: a, al: al, pc: w.pc, lanes: m, offs: w.off})
	x.unread |= a.late
}

// bind lets the late load at index i bind for lanes of m.
func (x *weakWarp) bind(w *warp, i int, m uint32) bool {
	p := &x.late[i]
	if m &= p.lanes; m == 0 {
		return true
	}
	if p.al.size == 0 {
		w.failWith(w.faultAt(device.UseAfterFree, p.pc, lowest(m), "%s was freed before a load of it was done", p.al.label))
		return false
	}
	p.lanes &^= m
	return w.readStrong(p.a, p.al, &p.offs, m, p.pc, semanticsOf(p.a.src), true)
}

// forgetBound forgets the late loads that have bound.
func (x *weakWarp) forgetBound() {
	kept := x.late[:0]
	x.unread = 0
	for i := range x.late {
		if p := &x.late[i]; p.lanes != 0 {
			x.unread |= p.a.late
			kept = append(kept, *p)
		}
	}
	x.late = kept
}

// bindAll binds all late loads of the lanes of m.
func (x *weakWarp) bindAll(w *warp, m uint32) bool {
	if len(x.late) == 0 {
		return true
	}
	for i := range x.late {
		if !x.bind(w, i, m) {
			return false
		}
	}
	x.forgetBound()
	return true
}

// bindUsed binds the late loads of the lanes of m to some destinations.
func (x *weakWarp) bindUsed(w *warp, touches uint64, m uint32) bool {
	for i := range x.late {
		if x.late[i].a.late&touches != 0 && !x.bind(w, i, m) {
			return false
		}
	}
	x.forgetBound()
	return true
}

// bindOverlaps binds the late loads that the lanes' own accesses of n bytes at
// offs overlap.
func (x *weakWarp) bindOverlaps(w *warp, al *alloc, offs *row64, n uint64, m uint32) bool {
	for i := range x.late {
		p := &x.late[i]
		if p.al.cells() != al.cells() {
			continue
		}
		var same uint32
		for s := m & p.lanes; s != 0; s &= s - 1 {
			l := lowest(s)
			if offs[l] < p.offs[l]+p.a.bytes && p.offs[l] < offs[l]+n {
				same |= 1 << l
			}
		}
		if same != 0 && !x.bind(w, i, same) {
			return false
		}
	}
	x.forgetBound()
	return true
}

// findLate gives the rows that strong loads write their bits.
func (l *lowering) findLate(e *ptx.Entry) {
	l.late = map[loc]uint64{}
	n := 0
	for i := range e.Code {
		in := &e.Code[i]
		if in.Op != ptx.OpLd || private(in.Space) || !strong(in) {
			continue
		}
		_, writes := registers(in)
		for _, r := range writes {
			for _, row := range rowsOf(l.regs[r]) {
				if l.late[row] == 0 {
					l.late[row] = 1 << (n % 64)
					n++
				}
			}
		}
	}
}

// rowsOf returns the rows of a register.
func rowsOf(r loc) []loc {
	if r.file == file128 {
		return []loc{{file64, r.row}, {file64, r.row + 1}}
	}
	return []loc{r}
}

// touches returns the bits of the rows that an instruction reads or writes and
// strong loads write.
func (l *lowering) touches(in *ptx.Instr) uint64 {
	if len(l.late) == 0 {
		return 0
	}
	var bits uint64
	reads, writes := registers(in)
	for _, list := range [][]int32{reads, writes} {
		for _, r := range list {
			for _, row := range rowsOf(l.regs[r]) {
				bits |= l.late[row]
			}
		}
	}
	return bits
}
