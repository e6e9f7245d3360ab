package sim

import (
	"cmp"
	"slices"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// PTX has a register for every value, so a kernel declares hundreds of which a
// warp holds a few dozen at a time. Registers that are never live together share
// a row, or the rows of many warps would not fit in the host's caches.
//
// That lanes diverge does not matter: a lane of a row belongs to one thread,
// and the thread is at one instruction.

// interval is the range of a register from where it is first written, or the
// start, to where it is last read. Instruction i reads at 2i and writes at 2i+1.
type interval struct {
	reg        int32
	start, end int
}

// assignRows gives each register that is used a row.
func (l *lowering) assignRows(e *ptx.Entry) {
	l.regs = make([]loc, len(e.Regs))
	pool := map[file]*rowPool{file32: {}, file64: {}}
	for _, v := range intervals(e) {
		f := fileOf(e.Regs[v.reg].Type)
		p := pool[f]
		if p == nil { // predicates are small, and 128-bit registers rare
			l.regs[v.reg] = l.newRow(f)
			continue
		}
		i := p.take(v)
		if i == len(p.rows) {
			p.rows = append(p.rows, l.newRow(f).row)
			p.ends = append(p.ends, 0)
		}
		p.ends[i] = v.end
		l.regs[v.reg] = loc{f, p.rows[i]}
	}
}

// rowPool is the rows of a file that registers share, each with the end of the
// interval that has it.
type rowPool struct {
	rows []int32
	ends []int
}

// take returns the index of a row that is free when v starts, or the number of
// rows.
func (p *rowPool) take(v interval) int {
	for i, end := range p.ends {
		if end < v.start {
			return i
		}
	}
	return len(p.ends)
}

// intervals returns those of all registers that occur, by start.
func intervals(e *ptx.Entry) []interval {
	all := make([]interval, len(e.Regs))
	for r := range all {
		all[r] = interval{int32(r), -1, -1}
	}
	cover := func(r int32, at int) {
		v := &all[r]
		if v.start < 0 {
			v.start = at
		}
		v.start, v.end = min(v.start, at), max(v.end, at)
	}
	live := liveness(e)
	for i := range e.Code {
		live[i].each(func(r int32) { cover(r, 2*i) })
		for _, s := range successors(e, i) {
			live[s].each(func(r int32) { cover(r, 2*i+1) })
		}
		reads, writes := registers(&e.Code[i])
		for _, r := range reads {
			cover(r, 2*i)
		}
		for _, r := range writes {
			cover(r, 2*i+1)
		}
	}
	all = slices.DeleteFunc(all, func(v interval) bool { return v.start < 0 })
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	return all
}

// bitset is a set of registers.
type bitset []uint64

func (s bitset) add(r int32)    { s[r/64] |= 1 << (r % 64) }
func (s bitset) remove(r int32) { s[r/64] &^= 1 << (r % 64) }

func (s bitset) each(f func(r int32)) {
	for i, word := range s {
		for r := int32(64 * i); word != 0; word >>= 1 {
			if word&1 != 0 {
				f(r)
			}
			r++
		}
	}
}

// liveness returns for each instruction, and for the end, the registers whose
// values it or a later one may read.
func liveness(e *ptx.Entry) []bitset {
	n, words := len(e.Code), (len(e.Regs)+63)/64
	live := make([]bitset, n+1)
	for i := range live {
		live[i] = make(bitset, words)
	}
	now := make(bitset, words)
	for again := true; again; {
		again = false
		for i := n - 1; i >= 0; i-- {
			clear(now)
			for _, s := range successors(e, i) {
				for k, w := range live[s] {
					now[k] |= w
				}
			}
			in := &e.Code[i]
			reads, writes := registers(in)
			if in.Guard < 0 { // else some lanes keep the old value
				for _, r := range writes {
					now.remove(r)
				}
			}
			for _, r := range reads {
				now.add(r)
			}
			if !slices.Equal(now, live[i]) {
				copy(live[i], now)
				again = true
			}
		}
	}
	return live
}

// successors returns the instructions that may run after i; len(e.Code) is the
// end.
func successors(e *ptx.Entry, i int) []int {
	in := &e.Code[i]
	switch {
	case in.Op == ptx.OpBra && in.Guard < 0:
		return []int{in.Target}
	case in.Op == ptx.OpBra:
		return []int{i + 1, in.Target}
	case (in.Op == ptx.OpExit || in.Op == ptx.OpRet) && in.Guard < 0:
		return nil
	}
	return []int{i + 1}
}

// registers returns what an instruction reads and writes.
func registers(in *ptx.Instr) (reads, writes []int32) {
	var read, write func(o *ptx.Operand)
	read = func(o *ptx.Operand) {
		if o.Kind == ptx.KindReg || o.Kind == ptx.KindAddr && o.Reg >= 0 {
			reads = append(reads, o.Reg)
		}
		for i := range o.Vec {
			read(&o.Vec[i])
		}
	}
	write = func(o *ptx.Operand) {
		switch o.Kind {
		case ptx.KindReg:
			writes = append(writes, o.Reg)
		case ptx.KindAddr:
			read(o)
		}
		for i := range o.Vec {
			write(&o.Vec[i])
		}
	}
	if in.Guard >= 0 {
		reads = append(reads, in.Guard)
	}
	for i := range in.Src {
		read(&in.Src[i])
	}
	for i := range in.Dst {
		write(&in.Dst[i])
	}
	return reads, writes
}
