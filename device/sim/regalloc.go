package sim

import (
	"cmp"
	"math/bits"
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
	flows := flowsOf(e)
	live := liveness(flows, len(e.Regs))
	seen := newBitset(len(e.Regs))
	for i, f := range flows {
		seen.join(live[i], func(r int32) { all[r].start = 2 * i })
		for _, s := range f.next {
			seen.join(live[s], func(r int32) { all[r].start = 2*i + 1 })
		}
		seen.addAll(f.writes, func(r int32) { all[r].start = 2*i + 1 })
	}
	clear(seen)
	for i, f := range slices.Backward(flows) {
		seen.addAll(f.writes, func(r int32) { all[r].end = 2*i + 1 })
		for _, s := range f.next {
			seen.join(live[s], func(r int32) { all[r].end = 2*i + 1 })
		}
		seen.join(live[i], func(r int32) { all[r].end = 2 * i })
	}
	all = slices.DeleteFunc(all, func(v interval) bool { return v.start < 0 })
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	return all
}

// bitset is a set of registers.
type bitset []uint64

func newBitset(registers int) bitset { return make(bitset, (registers+63)/64) }

func (s bitset) add(r int32)    { s[r/64] |= 1 << (r % 64) }
func (s bitset) remove(r int32) { s[r/64] &^= 1 << (r % 64) }

// join adds the members of t, and calls added for each that s had not.
func (s bitset) join(t bitset, added func(r int32)) {
	for i, word := range t {
		for more := word &^ s[i]; more != 0; more &= more - 1 {
			added(int32(64*i + bits.TrailingZeros64(more)))
		}
		s[i] |= word
	}
}

// addAll does the same with the members of a list.
func (s bitset) addAll(list []int32, added func(r int32)) {
	for _, r := range list {
		if s[r/64]>>(r%64)&1 == 0 {
			s.add(r)
			added(r)
		}
	}
}

// flow is what an instruction does to registers, and what may run after it.
type flow struct {
	reads, writes []int32
	guarded       bool
	next          []int
}

func flowsOf(e *ptx.Entry) []flow {
	flows := make([]flow, len(e.Code))
	for i := range flows {
		f := &flows[i]
		f.reads, f.writes = registers(&e.Code[i])
		f.guarded = e.Code[i].Guard >= 0
		f.next = successors(e, i)
	}
	return flows
}

// liveness returns for each instruction, and for the end, the registers whose
// values it or a later one may read.
func liveness(flows []flow, registers int) []bitset {
	live := make([]bitset, len(flows)+1)
	for i := range live {
		live[i] = newBitset(registers)
	}
	now := newBitset(registers)
	for again := true; again; {
		again = false
		for i, f := range slices.Backward(flows) {
			clear(now)
			for _, s := range f.next {
				for k, w := range live[s] {
					now[k] |= w
				}
			}
			if !f.guarded { // else some lanes keep the old value
				for _, r := range f.writes {
					now.remove(r)
				}
			}
			for _, r := range f.reads {
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
