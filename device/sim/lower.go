package sim

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// program is a lowered kernel: what all its launches on all GPUs of all machines
// share. It does not change.
type program struct {
	name, file string
	entry      *ptx.Entry
	code       []op
	rows32     int // rows a warp needs in each file
	rows64     int
	preds      int
	consts     []constant
	sregs      []sregRow
	// localStride is the bytes of local memory of each lane.
	localStride int
	votes       bool // there is a vote, shuffle, match or redux
}

// sregRow is a row filled from a special register when a warp starts.
type sregRow struct {
	row  int32
	sreg ptx.Sreg
}

// lower makes a kernel executable. An instruction form that the executor does
// not have is an error with its place; all of them are reported.
func lower(mod *ptx.Module, e *ptx.Entry, mem *memoryModel) (*program, error) {
	p := &program{name: e.Name, file: mod.File, entry: e, preds: predTrue + 1, localStride: (e.LocalSize + 15) &^ 15}
	l := &lowering{mod: mod, prog: p, mem: mem,
		const32: map[uint32]int32{}, const64: map[uint64]int32{}, globals: map[*ptx.Var]int32{}, sregs: map[ptx.Sreg]int32{}}
	l.assignRows(e)
	if mem.weak {
		l.findLate(e)
	}
	var errs ptx.ErrorList
	for i := range e.Code {
		o, err := l.lowerInstr(&e.Code[i])
		if err != nil {
			errs = append(errs, err)
		}
		p.code = append(p.code, o)
	}
	// Running off the end is ret.
	p.code = append(p.code, op{run: exit})
	if len(errs) > 0 {
		return nil, errs
	}
	return p, nil
}

func (l *lowering) lowerInstr(in *ptx.Instr) (o op, err *ptx.Error) {
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unsupported)
			if !ok {
				u = unsupported(fmt.Sprintf("BUG: panic while lowering: %v", r))
			}
			err = &ptx.Error{File: l.mod.File, Line: in.Line, Text: in.Text, Msg: "the PTX machine does not implement " + string(u)}
		}
	}()
	l.in, l.pre = in, nil
	o = op{src: in, guard: predTrue, target: int32(in.Target)}
	if in.Guard >= 0 {
		o.guard = l.regs[in.Guard].row
		if in.GuardNot {
			o.invert = full
		}
	}
	l.lowerOp(&o)
	l.prog.votes = l.prog.votes || passesOn(in.Op)
	if pre := l.pre; len(pre) > 0 {
		run := o.run
		o.run = func(w *warp, m uint32) status {
			for _, f := range pre {
				f(w)
			}
			return run(w, m)
		}
	}
	if touches := l.touches(in); touches != 0 {
		run := o.run
		o.run = func(w *warp, m uint32) status {
			if w.weak.unread&touches != 0 && !w.weak.bindUsed(w, touches, m) {
				return failed
			}
			return run(w, m)
		}
	}
	return o, nil
}

// lowerOp sets what o runs.
func (l *lowering) lowerOp(o *op) {
	in := l.in
	switch in.Op {
	case ptx.OpBra:
		o.run, o.kind = func(*warp, uint32) status { return jump }, branch
	case ptx.OpRet, ptx.OpExit:
		o.run = exit
	case ptx.OpTrap:
		o.run = trap
	case ptx.OpBrkpt, ptx.OpPrefetch:
		o.run = nothing
	case ptx.OpNanosleep:
		o.run = nanosleep(l.src32(0))
	case ptx.OpMov:
		l.lowerMov(o)
	case ptx.OpCvt:
		o.run = l.lowerCvt()
	case ptx.OpSet:
		o.run = l.lowerSet()
	case ptx.OpSetp:
		o.run = l.lowerSetp()
	case ptx.OpSelp:
		o.run = l.lowerSelp()
	case ptx.OpSlct:
		o.run = l.lowerSlct()
	case ptx.OpCvta:
		o.run = l.lowerCvta()
	case ptx.OpIsspacep:
		o.run = l.lowerIsspacep()
	case ptx.OpLd, ptx.OpLdu:
		l.lowerLoad(o)
	case ptx.OpSt:
		l.lowerStore(o)
	case ptx.OpAtom, ptx.OpRed:
		l.lowerAtom(o)
	case ptx.OpFence, ptx.OpMembar:
		o.run = l.mem.fence(in)
	case ptx.OpBar, ptx.OpBarrier:
		l.lowerBarrier(o)
	case ptx.OpBarWarp, ptx.OpShfl, ptx.OpVote, ptx.OpMatch, ptx.OpElect, ptx.OpRedux:
		l.lowerSync(o)
	case ptx.OpActivemask:
		d := l.d32()
		o.run = func(w *warp, m uint32) status {
			for s := m; s != 0; s &= s - 1 {
				w.r32[d][lowest(s)] = m
			}
			return next
		}
	default:
		o.run = l.lowerArith()
	}
}

// lowerArith lowers what only computes.
func (l *lowering) lowerArith() exec {
	in := l.in
	switch in.Type {
	case ptx.F32, ptx.F64:
		return l.lowerFloat()
	case ptx.F16, ptx.BF16, ptx.F16x2, ptx.BF16x2:
		return l.lowerHalf()
	case ptx.U16x2, ptx.S16x2:
		return l.lowerPairInt()
	}
	switch in.Op {
	case ptx.OpAnd, ptx.OpOr, ptx.OpXor, ptx.OpNot, ptx.OpCnot, ptx.OpShl, ptx.OpShr:
		return l.lowerLogic()
	case ptx.OpPopc, ptx.OpClz, ptx.OpBfind, ptx.OpFns, ptx.OpBrev, ptx.OpBfe, ptx.OpBfi,
		ptx.OpSzext, ptx.OpBmsk, ptx.OpPrmt, ptx.OpShf, ptx.OpLop3:
		return l.lowerBits()
	}
	return l.lowerInt()
}

func exit(*warp, uint32) status { return ended }

func nothing(*warp, uint32) status { return next }
