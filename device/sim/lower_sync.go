package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// lowerBarrier lowers bar and barrier.
func (l *lowering) lowerBarrier(o *op) {
	in := l.in
	b := &barOp{mode: in.Mode, aligned: in.Aligned, id: l.src32(0), count: -1}
	rest := len(in.Src) - 1
	if reduces(in.Mode) {
		b.pred, b.invert = l.srcPred(rest)
		rest--
		f := preds
		if in.Mode == ptx.RedPopc {
			f = file32
		}
		b.dst = l.dst(0, f)
	}
	if rest > 0 {
		b.count = l.src32(1)
	}
	o.bar, o.run = b, b.barrier
}

// lowerSync lowers what the lanes of a member mask do together.
func (l *lowering) lowerSync(o *op) {
	in := l.in
	s := &syncOp{src: in, member: l.src32(len(in.Src) - 1)}
	o.sync, o.run = s, s.arrive
	d, q := int32(-1), int32(-1) // destinations: a 32-bit row, a predicate
	if in.Op != ptx.OpBarWarp {
		dst := &in.Dst[0]
		switch {
		case dst.Kind == ptx.KindPair:
			d, q = l.result(&dst.Vec[0], file32).row, l.result(&dst.Vec[1], preds).row
		case in.Op == ptx.OpVote && in.Mode != ptx.Ballot:
			q = l.result(dst, preds).row
		default:
			d = l.result(dst, file32).row
		}
	}
	s.write = func(w *warp, mask uint32, v *syncValues) {
		if d >= 0 {
			merge(&w.r32[d], &v.d, mask)
		}
		if q >= 0 {
			w.setPred(q, v.q, mask)
		}
	}
	switch in.Op {
	case ptx.OpBarWarp:
		s.write = nil
	case ptx.OpShfl:
		a, b, c := l.src32(0), l.src32(1), l.src32(2)
		s.read = func(w *warp, mask uint32, v *syncValues) {
			merge(&v.a, &w.r32[a], mask)
			merge(&v.b, &w.r32[b], mask)
			merge(&v.c, &w.r32[c], mask)
		}
		s.eval = shuffle(in.Mode)
	case ptx.OpVote:
		p, invert := l.srcPred(0)
		s.read = func(w *warp, mask uint32, v *syncValues) { v.pred |= (w.pred[p] ^ invert) & mask }
		s.eval = vote(in.Mode)
	case ptx.OpMatch:
		if in.Type.Size() == 8 {
			a := l.src64(0)
			s.read = func(w *warp, mask uint32, v *syncValues) { merge(&v.wide, &w.r64[a], mask) }
		} else {
			a := l.src32(0)
			s.read = func(w *warp, mask uint32, v *syncValues) {
				for m := mask; m != 0; m &= m - 1 {
					l := lowest(m)
					v.wide[l] = uint64(w.r32[a][l])
				}
			}
		}
		s.eval = matchLanes(in.Mode)
	case ptx.OpElect:
		s.read = func(*warp, uint32, *syncValues) {}
		s.eval = elect
	case ptx.OpRedux:
		a := l.src32(0)
		s.read = func(w *warp, mask uint32, v *syncValues) { merge(&v.a, &w.r32[a], mask) }
		s.eval = redux(l.reduxFunc())
	}
}

func (l *lowering) reduxFunc() func(a, b uint32) uint32 {
	switch l.in.Atom {
	case ptx.AtomAdd:
		return func(a, b uint32) uint32 { return a + b }
	case ptx.AtomAnd:
		return combine[ptx.OpAnd]
	case ptx.AtomOr:
		return combine[ptx.OpOr]
	case ptx.AtomXor:
		return combine[ptx.OpXor]
	}
	larger, signed := l.in.Atom == ptx.AtomMax, l.in.Type.IsSigned()
	pick := pickInt(larger, signed)
	return func(a, b uint32) uint32 {
		if signed {
			return uint32(pick(signExtend(uint64(a), 32), signExtend(uint64(b), 32)))
		}
		return uint32(pick(uint64(a), uint64(b)))
	}
}
