package sim

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// loc is where a PTX register lives.
type loc struct {
	file file
	row  int32 // the first of two for wide128
}

// file is a register file of a warp.
type file uint8

const (
	preds file = iota
	file32
	file64
	file128 // two rows of file64, the lower half first
)

// fileOf returns the file of registers of a type.
func fileOf(t ptx.Type) file {
	switch t {
	case ptx.Pred:
		return preds
	case ptx.B128:
		return file128
	}
	if t.Size() == 8 {
		return file64
	}
	return file32
}

// lowering is the state of lowering one kernel.
type lowering struct {
	mod  *ptx.Module
	prog *program
	mem  *memoryModel
	regs []loc
	in   *ptx.Instr

	const32 map[uint32]int32
	const64 map[uint64]int32
	globals map[*ptx.Var]int32
	sregs   map[ptx.Sreg]int32
	// late has a bit for each row that strong loads write, in the weak model: some
	// share one.
	late map[loc]uint64
	// pre fetches operands that need more than a row: registers that are wider
	// than what is read of them, and clocks.
	pre []func(w *warp)
}

// unsupported is panicked with, and recovered by lower, when the executor has
// no form for an instruction.
type unsupported string

func (l *lowering) unsupported(format string, args ...any) {
	panic(unsupported(fmt.Sprintf(format, args...)))
}

// newRow adds rows to a file.
func (l *lowering) newRow(f file) loc {
	p := l.prog
	var r loc
	switch f {
	case preds:
		r = loc{f, int32(p.preds)}
		p.preds++
	case file32:
		r = loc{f, int32(p.rows32)}
		p.rows32++
	case file64:
		r = loc{f, int32(p.rows64)}
		p.rows64++
	case file128:
		r = loc{f, int32(p.rows64)}
		p.rows64 += 2
	}
	return r
}

// imm32 returns a row that holds v in every lane.
func (l *lowering) imm32(v uint32) int32 {
	r, ok := l.const32[v]
	if !ok {
		r = l.newRow(file32).row
		l.const32[v] = r
		l.prog.consts = append(l.prog.consts, constant{row: r, value: uint64(v)})
	}
	return r
}

// imm64 returns a row that holds v in every lane.
func (l *lowering) imm64(v uint64) int32 {
	r, ok := l.const64[v]
	if !ok {
		r = l.newRow(file64).row
		l.const64[v] = r
		l.prog.consts = append(l.prog.consts, constant{row: r, wide: true, value: v})
	}
	return r
}

// mask returns the bits of a type of up to 64 bits.
func mask(t ptx.Type) uint64 {
	return ^uint64(0) >> (64 - 8*min(t.Size(), 8))
}

// src32 returns the row with source operand i, of a type of up to 32 bits.
func (l *lowering) src32(i int) int32 { return l.operand32(&l.in.Src[i]) }

func (l *lowering) operand32(o *ptx.Operand) int32 {
	t := o.Type
	switch o.Kind {
	case ptx.KindReg:
		r := l.regs[o.Reg]
		size := l.prog.entry.Regs[o.Reg].Type.Size()
		if r.file == file32 && size <= t.Size() {
			return r.row
		}
		// What is wider is cut off.
		cut := uint32(mask(t))
		d := l.newRow(file32).row
		switch r.file {
		case file32:
			l.pre = append(l.pre, func(w *warp) {
				x, y := &w.r32[d], &w.r32[r.row]
				for l := range x {
					x[l] = y[l] & cut
				}
			})
		case file64, file128:
			l.pre = append(l.pre, func(w *warp) {
				x, y := &w.r32[d], &w.r64[r.row]
				for l := range x {
					x[l] = uint32(y[l]) & cut
				}
			})
		default:
			l.unsupported("a predicate as a number")
		}
		return d
	case ptx.KindImm:
		return l.imm32(uint32(o.Imm & mask(t)))
	case ptx.KindSreg:
		return l.sreg(o.Sreg, t)
	case ptx.KindVar:
		if o.Var.Space != ptx.Global && o.Var.Space != ptx.Const {
			return l.imm32(uint32(int64(o.Var.Offset) + o.Off))
		}
	}
	l.unsupported("this operand")
	return 0
}

// sreg returns the row of a special register read as a type of up to 32 bits.
func (l *lowering) sreg(s ptx.Sreg, t ptx.Type) int32 {
	switch s {
	case ptx.Clock, ptx.ClockHi, ptx.Clock64, ptx.GlobalTimer, ptx.GlobalTimerLo, ptx.GlobalTimerHi, ptx.GridID:
		d := l.newRow(file32).row
		l.pre = append(l.pre, func(w *warp) { fill(&w.r32[d], uint32(w.sreg64(s))) })
		return d
	}
	r, ok := l.sregs[s]
	if !ok {
		r = l.newRow(file32).row
		l.sregs[s] = r
		l.prog.sregs = append(l.prog.sregs, sregRow{r, s})
	}
	if t.Size() >= 4 {
		return r
	}
	cut := uint32(mask(t))
	d := l.newRow(file32).row
	l.pre = append(l.pre, func(w *warp) {
		for i, v := range w.r32[r] {
			w.r32[d][i] = v & cut
		}
	})
	return d
}

// src64 returns the row with source operand i, of a 64-bit type.
func (l *lowering) src64(i int) int32 { return l.operand64(&l.in.Src[i]) }

func (l *lowering) operand64(o *ptx.Operand) int32 {
	switch o.Kind {
	case ptx.KindReg:
		switch r := l.regs[o.Reg]; r.file {
		case file64, file128:
			return r.row
		case file32:
			return l.widen(r.row)
		}
		l.unsupported("a predicate as a number")
	case ptx.KindImm:
		return l.imm64(o.Imm)
	case ptx.KindSreg:
		if o.Sreg.Type().Size() < 8 {
			return l.widen(l.sreg(o.Sreg, ptx.U32))
		}
		d := l.newRow(file64).row
		l.pre = append(l.pre, func(w *warp) { fill(&w.r64[d], w.sreg64(o.Sreg)) })
		return d
	case ptx.KindVar:
		return l.varAddr(o.Var, o.Off)
	}
	l.unsupported("this operand")
	return 0
}

// widen returns a 64-bit row that follows a 32-bit one, zero-extended: 32-bit
// registers may hold addresses of shared and local memory.
func (l *lowering) widen(r int32) int32 {
	d := l.newRow(file64).row
	l.pre = append(l.pre, func(w *warp) {
		x, y := &w.r64[d], &w.r32[r]
		for l := range x {
			x[l] = uint64(y[l])
		}
	})
	return d
}

// varAddr returns a row with the address of a variable in its own space: an
// offset for shared, local and param, a generic address for global and const.
func (l *lowering) varAddr(v *ptx.Var, off int64) int32 {
	if v.Space != ptx.Global && v.Space != ptx.Const {
		return l.imm64(uint64(int64(v.Offset) + off))
	}
	r, ok := l.globals[v]
	if !ok || off != 0 {
		r = l.newRow(file64).row
		l.prog.consts = append(l.prog.consts, constant{row: r, wide: true, value: uint64(off), global: v})
		if off == 0 {
			l.globals[v] = r
		}
	}
	return r
}

// srcPred returns source operand i, a predicate, and what to invert it with.
func (l *lowering) srcPred(i int) (p int32, invert uint32) {
	o := &l.in.Src[i]
	if o.Not {
		invert = full
	}
	switch o.Kind {
	case ptx.KindReg:
		return l.regs[o.Reg].row, invert
	case ptx.KindImm:
		if o.Imm == 0 {
			invert = ^invert
		}
		return predTrue, invert
	}
	l.unsupported("its predicate operand")
	return 0, 0
}

// dst returns where destination operand i is to go; results for _ go to a row
// that nothing reads.
func (l *lowering) dst(i int, f file) loc { return l.result(&l.in.Dst[i], f) }

func (l *lowering) result(o *ptx.Operand, f file) loc {
	if o.Kind == ptx.KindSink {
		return l.newRow(f)
	}
	if o.Kind != ptx.KindReg {
		l.unsupported("its destination")
	}
	return l.regs[o.Reg]
}

// d32 and d64 return the row of the only destination.
func (l *lowering) d32() int32 { return l.dst(0, file32).row }
func (l *lowering) d64() int32 { return l.dst(0, file64).row }

// dstPreds returns the two destinations of a p|q operand; q is -1 if absent.
func (l *lowering) dstPreds(i int) (p, q int32) {
	o := &l.in.Dst[i]
	if o.Kind != ptx.KindVec && o.Kind != ptx.KindPair {
		return l.result(o, preds).row, -1
	}
	return l.result(&o.Vec[0], preds).row, l.result(&o.Vec[1], preds).row
}
