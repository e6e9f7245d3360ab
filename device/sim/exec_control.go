package sim

import (
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

func trap(w *warp, m uint32) status {
	return w.fail(device.Trapped, lowest(m), "the kernel executed trap")
}

// nanosleep puts lanes to sleep for as long as row r says. Real hardware sleeps
// between 0 and twice as long (PTX ISA, "nanosleep"); here it is exact.
func nanosleep(r int32) exec {
	return func(w *warp, m uint32) status {
		var longest uint32
		for s := m; s != 0; s &= s - 1 {
			longest = max(longest, w.r32[r][lowest(s)])
		}
		w.splits[w.cur].pc = w.pc + 1
		i := w.divide(w.cur, m)
		s := &w.splits[i]
		s.pc, s.state, s.until = w.pc+1, asleep, w.m.now+uint64(longest)
		w.m.sleep(w, s.until)
		return changed
	}
}

// lowerMov lowers mov: copies, addresses, and packing and unpacking of vectors.
func (l *lowering) lowerMov(o *op) {
	in := l.in
	dst, src := &in.Dst[0], &in.Src[0]
	switch {
	case src.Kind == ptx.KindVec:
		o.run = l.pack()
		return
	case dst.Kind == ptx.KindVec:
		o.run = l.unpack()
		return
	}
	if src.Kind == ptx.KindSreg {
		switch src.Sreg {
		case ptx.Clock, ptx.ClockHi, ptx.Clock64, ptx.GlobalTimer, ptx.GlobalTimerLo, ptx.GlobalTimerHi:
			o.kind = timer
		}
	}
	switch fileOf(in.Type) {
	case preds:
		d := l.dst(0, preds).row
		p, invert := l.srcPred(0)
		o.run = func(w *warp, m uint32) status {
			w.setPred(d, w.pred[p]^invert, m)
			return next
		}
	case file32:
		d, a := l.d32(), l.src32(0)
		o.run = func(w *warp, m uint32) status {
			merge(&w.r32[d], &w.r32[a], m)
			return next
		}
	case file64:
		d, a := l.d64(), l.src64(0)
		o.run = func(w *warp, m uint32) status {
			merge(&w.r64[d], &w.r64[a], m)
			return next
		}
	case file128:
		d, a := l.dst(0, file128).row, l.src64(0)
		if src.Kind != ptx.KindReg {
			l.unsupported("a 128-bit constant")
		}
		o.run = func(w *warp, m uint32) status {
			merge(&w.r64[d], &w.r64[a], m)
			merge(&w.r64[d+1], &w.r64[a+1], m)
			return next
		}
	}
}
