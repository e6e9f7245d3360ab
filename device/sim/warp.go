package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// lane is the type of one lane of a register: registers of up to 32 bits, and
// of 64 bits. Registers of 128 bits are two of 64.
type lane interface{ uint32 | uint64 }

type (
	row32 = [lanes]uint32
	row64 = [lanes]uint64
)

// predTrue is the predicate register that holds for all lanes.
const predTrue = 0

// warp is a resident warp: up to 32 lanes of a CTA and their registers.
// Registers of 8 and 16 bits lie in rows of 32 with the rest zero.
type warp struct {
	code   []op
	pc     int32 // of the instruction in execution
	cur    int   // index of the running split
	live   uint32
	exists uint32 // lanes that have a thread
	r32    []row32
	r64    []row64
	pred   []uint32
	splits []split
	steps  uint64 // instructions run

	m     *Machine
	cta   *cta
	index int // in the CTA
	carry uint32

	cache [cacheSlots]*alloc // where a memory op's lanes fell last
	local []byte             // local memory, lane by lane

	readyAt  int  // index in Machine.ready, or -1
	sleeping bool // listed in Machine.sleepers

	sync  syncPoint
	track *track    // of the stuck watch
	weak  *weakWarp // of the weak model

	off row64 // where in an allocation the lanes access
	t32 row32 // results before a mask is applied
	t64 row64
}

// status is what an op did.
type status uint8

const (
	next    status = iota // go on with the next instruction
	jump                  // go on at the op's target, for the lanes it ran for
	ended                 // the lanes it ran for have exited
	changed               // the op changed warp.splits itself
	failed                // Machine.err is set
)

// exec runs an op for the lanes of m, at least one.
type exec func(w *warp, m uint32) status

// op is an executable instruction.
type op struct {
	run    exec
	guard  int32  // predicate register
	invert uint32 // all ones for @!p
	target int32  // of a branch
	kind   opKind
	mem    *access // of a load, store or atomic
	src    *ptx.Instr
	sync   *syncOp
	bar    *barOp
}

// opKind marks ops that the stuck watch looks at.
type opKind uint8

const (
	plain opKind = iota
	load         // reads memory, writes none
	timer        // reads the time
	branch
)

// run executes up to n instructions; it returns false after a failure.
func (w *warp) run(n int) bool {
	m, c := w.m, w.cta
	for n > 0 {
		i := 0
		if len(w.splits) != 1 || w.splits[0].state != runnable {
			if i = w.pick(); i < 0 {
				m.park(w)
				return true
			}
		}
		did, ok := w.runSplit(i, n)
		n -= did
		if !ok {
			return false
		}
		// A warp whose CTA has ended may serve another one already.
		if w.live == 0 || w.cta != c {
			return true
		}
	}
	return true
}

// runSplit executes up to n instructions of the split at index i, and fewer if
// the set of splits changes.
func (w *warp) runSplit(i, n int) (did int, ok bool) {
	w.cur = i
	s := &w.splits[i]
	s.since = w.steps
	pc, mask := s.pc, s.mask
	code := w.code
	meet := int32(-1) // where another split waits
	if len(w.splits) > 1 {
		meet = w.joint(i, pc)
		if meet == pc {
			w.join(i)
			return 0, true
		}
	}
	watched := w.m.watch.active
	traced := w.m.cfg.Trace != nil
	for did < n {
		o := &code[pc]
		act := mask & (w.pred[o.guard] ^ o.invert)
		did++
		st := next
		if act != 0 {
			w.pc = pc
			if watched {
				w.observe(o, act)
			}
			if traced {
				w.traceStep(o, act)
			}
			st = o.run(w, act)
		}
		switch st {
		case next:
			pc++
			if pc != meet {
				continue
			}
		case jump:
			if act == mask {
				pc = o.target
				if len(w.splits) == 1 {
					continue
				}
				// Another split may be behind now.
			} else {
				w.account(did)
				w.branch(i, act, pc+1, o.target)
				return did, true
			}
		case ended:
			w.account(did)
			s.pc = pc + 1
			return did, w.exit(i, act)
		case changed:
			w.account(did)
			return did, true
		case failed:
			w.account(did)
			return did, false
		}
		w.account(did)
		s.pc = pc
		w.join(i)
		return did, true
	}
	w.account(did)
	s.pc = pc
	return did, true
}

// account adds instructions to the counters, before anything that looks at
// them.
func (w *warp) account(n int) {
	w.steps += uint64(n)
	w.m.executed += uint64(n)
}

// branch separates the lanes that take a branch from those that do not.
func (w *warp) branch(i int, taken uint32, fall, target int32) {
	w.splits[i].pc = fall
	j := w.divide(i, taken)
	w.splits[j].pc = target
	if fall == target {
		w.join(j)
	}
}

// exit ends the lanes of mask, of the split at index i.
func (w *warp) exit(i int, mask uint32) bool {
	m, c := w.m, w.cta
	if x := w.weak; x != nil && !x.bindAll(w, mask) {
		return false
	}
	m.epoch++
	w.live &^= mask
	if w.splits[i].mask &^= mask; w.splits[i].mask == 0 {
		w.drop(i)
	}
	if !w.syncExit(mask) {
		return false
	}
	if w.live == 0 {
		m.park(w)
		c.liveWarp--
	}
	if !c.barExit(w) {
		return false
	}
	if c.liveWarp == 0 {
		m.endCTA(c)
	}
	return true
}

// traceStep reports an instruction to Config.Trace.
func (w *warp) traceStep(o *op, act uint32) {
	k := w.cta.kernel
	s := Step{GPU: k.gpu.index, Kernel: k.fn.prog.name, CTA: w.cta.index, Warp: w.index, Mask: act}
	if o.src != nil {
		s.Line = o.src.Line
	}
	w.m.cfg.Trace(s)
}
