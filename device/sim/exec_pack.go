package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// piece reads or writes one element of a vector, lane by lane, as the low bits
// of a uint64.
type piece struct {
	loc  loc
	sink bool
}

func (l *lowering) pieces(o *ptx.Operand) (ps []piece, bits int) {
	for i := range o.Vec {
		e := &o.Vec[i]
		bits = 8 * e.Type.Size()
		switch {
		case e.Kind == ptx.KindSink:
			ps = append(ps, piece{sink: true})
		case e.Kind == ptx.KindReg:
			ps = append(ps, piece{loc: l.regs[e.Reg]})
		case e.Type.Size() == 8:
			ps = append(ps, piece{loc: loc{file64, l.operand64(e)}})
		default:
			ps = append(ps, piece{loc: loc{file32, l.operand32(e)}})
		}
	}
	return ps, bits
}

func (p piece) get(w *warp, lane int) uint64 {
	if p.loc.file == file32 {
		return uint64(w.r32[p.loc.row][lane])
	}
	return w.r64[p.loc.row][lane]
}

func (p piece) set(w *warp, lane int, v uint64) {
	switch {
	case p.sink:
	case p.loc.file == file32:
		w.r32[p.loc.row][lane] = uint32(v)
	default:
		w.r64[p.loc.row][lane] = v
	}
}

// whole is a scalar register of 16 to 128 bits as two words.
type whole struct{ lo, hi piece }

func wholeOf(r loc) whole {
	w := whole{lo: piece{loc: r}, hi: piece{sink: true}}
	if r.file == file128 {
		w.hi = piece{loc: loc{file64, r.row + 1}}
	}
	return w
}

// pack lowers mov d, {a, b, ...}: the first element is the lowest.
func (l *lowering) pack() exec {
	d := wholeOf(l.dst(0, fileOf(l.in.Type)))
	ps, bits := l.pieces(&l.in.Src[0])
	if l.in.Type.Size() == 8 && bits == 32 {
		return rows64from32x2(d.lo.loc.row, ps[0].loc.row, ps[1].loc.row, func(d *row64, a, b *row32) {
			for l := range d {
				d[l] = uint64(a[l]) | uint64(b[l])<<32
			}
		})
	}
	cut := ^uint64(0) >> (64 - bits)
	return func(w *warp, m uint32) status {
		for ; m != 0; m &= m - 1 {
			lane := lowest(m)
			var v [2]uint64
			for i, p := range ps {
				at := i * bits
				v[at/64] |= (p.get(w, lane) & cut) << (at % 64)
			}
			d.lo.set(w, lane, v[0])
			d.hi.set(w, lane, v[1])
		}
		return next
	}
}

// unpack lowers mov {a, b, ...}, d.
func (l *lowering) unpack() exec {
	ps, bits := l.pieces(&l.in.Dst[0])
	var s whole
	switch fileOf(l.in.Type) {
	case file128:
		s = wholeOf(l.regs[l.in.Src[0].Reg])
	case file64:
		s = wholeOf(loc{file64, l.src64(0)})
	default:
		s = wholeOf(loc{file32, l.src32(0)})
	}
	if l.in.Type.Size() == 8 && bits == 32 && !ps[0].sink && !ps[1].sink {
		return unpackWords(ps[0].loc.row, ps[1].loc.row, s.lo.loc.row)
	}
	cut := ^uint64(0) >> (64 - bits)
	return func(w *warp, m uint32) status {
		for ; m != 0; m &= m - 1 {
			lane := lowest(m)
			v := [2]uint64{s.lo.get(w, lane), 0}
			if !s.hi.sink {
				v[1] = s.hi.get(w, lane)
			}
			for i, p := range ps {
				at := i * bits
				p.set(w, lane, v[at/64]>>(at%64)&cut)
			}
		}
		return next
	}
}

// unpackWords is unpack of 64 bits to two words, which LL does for every line.
func unpackWords(d0, d1, a int32) exec {
	return func(w *warp, m uint32) status {
		x, y, z := &w.r32[d0], &w.r32[d1], &w.r64[a]
		if m == full {
			for l, v := range z {
				x[l], y[l] = uint32(v), uint32(v>>32)
			}
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l], y[l] = uint32(z[l]), uint32(z[l]>>32)
		}
		return next
	}
}
