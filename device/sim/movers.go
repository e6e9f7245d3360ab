package sim

// mover moves the lanes of m between registers and data, at w.off.
type mover func(w *warp, data []byte, m uint32)

// fetcher returns a loop for the shape of the load: a special one for what
// kernels do all the time.
func (a *access) fetcher() mover {
	n := len(a.regs)
	if a.exact && a.elem == 4 {
		switch n {
		case 1:
			return fetch32(a.regs[0].loc.row)
		case 2:
			return fetch32x2(a.regs[0].loc.row, a.regs[1].loc.row)
		case 4:
			return fetch32x4(a.regs[0].loc.row, a.regs[1].loc.row, a.regs[2].loc.row, a.regs[3].loc.row)
		}
	}
	if a.exact && a.elem >= 8 {
		switch n {
		case 1:
			return fetch64(a.regs[0].loc.row)
		case 2:
			return fetch64x2(a.regs[0].loc.row, a.regs[1].loc.row)
		}
	}
	return func(w *warp, data []byte, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			a.toRegs(w, l, data[w.off[l]:])
		}
	}
}

func fetch32(d int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x := &w.r32[d]
		if m == full {
			for l, o := range &w.off {
				x[l] = le.Uint32(data[o:])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = le.Uint32(data[w.off[l]:])
		}
	}
}

func fetch32x2(d0, d1 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y := &w.r32[d0], &w.r32[d1]
		if m == full {
			for l, o := range &w.off {
				v := le.Uint64(data[o:])
				x[l], y[l] = uint32(v), uint32(v>>32)
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			v := le.Uint64(data[w.off[l]:])
			x[l], y[l] = uint32(v), uint32(v>>32)
		}
	}
}

func fetch32x4(d0, d1, d2, d3 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y, z, u := &w.r32[d0], &w.r32[d1], &w.r32[d2], &w.r32[d3]
		if m == full {
			for l, o := range &w.off {
				b := data[o:]
				v, t := le.Uint64(b), le.Uint64(b[8:])
				x[l], y[l], z[l], u[l] = uint32(v), uint32(v>>32), uint32(t), uint32(t>>32)
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b := data[w.off[l]:]
			v, t := le.Uint64(b), le.Uint64(b[8:])
			x[l], y[l], z[l], u[l] = uint32(v), uint32(v>>32), uint32(t), uint32(t>>32)
		}
	}
}

func fetch64(d int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x := &w.r64[d]
		if m == full {
			for l, o := range &w.off {
				x[l] = le.Uint64(data[o:])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = le.Uint64(data[w.off[l]:])
		}
	}
}

func fetch64x2(d0, d1 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y := &w.r64[d0], &w.r64[d1]
		if m == full {
			for l, o := range &w.off {
				b := data[o:]
				x[l], y[l] = le.Uint64(b), le.Uint64(b[8:])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b := data[w.off[l]:]
			x[l], y[l] = le.Uint64(b), le.Uint64(b[8:])
		}
	}
}

// putter is fetcher's counterpart for stores.
func (a *access) putter() mover {
	n := len(a.regs)
	if a.elem == 4 {
		switch n {
		case 1:
			return put32(a.regs[0].loc.row)
		case 2:
			return put32x2(a.regs[0].loc.row, a.regs[1].loc.row)
		case 4:
			return put32x4(a.regs[0].loc.row, a.regs[1].loc.row, a.regs[2].loc.row, a.regs[3].loc.row)
		}
	}
	if a.elem >= 8 {
		switch n {
		case 1:
			return put64(a.regs[0].loc.row)
		case 2:
			return put64x2(a.regs[0].loc.row, a.regs[1].loc.row)
		}
	}
	return func(w *warp, data []byte, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			a.fromRegs(w, l, data[w.off[l]:])
		}
	}
}

func put32(s int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x := &w.r32[s]
		if m == full {
			for l, o := range &w.off {
				le.PutUint32(data[o:], x[l])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			le.PutUint32(data[w.off[l]:], x[l])
		}
	}
}

func put32x2(s0, s1 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y := &w.r32[s0], &w.r32[s1]
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			le.PutUint64(data[w.off[l]:], uint64(x[l])|uint64(y[l])<<32)
		}
	}
}

func put32x4(s0, s1, s2, s3 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y, z, u := &w.r32[s0], &w.r32[s1], &w.r32[s2], &w.r32[s3]
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b := data[w.off[l]:]
			le.PutUint64(b, uint64(x[l])|uint64(y[l])<<32)
			le.PutUint64(b[8:], uint64(z[l])|uint64(u[l])<<32)
		}
	}
}

func put64(s int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x := &w.r64[s]
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			le.PutUint64(data[w.off[l]:], x[l])
		}
	}
}

func put64x2(s0, s1 int32) mover {
	return func(w *warp, data []byte, m uint32) {
		x, y := &w.r64[s0], &w.r64[s1]
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			b := data[w.off[l]:]
			le.PutUint64(b, x[l])
			le.PutUint64(b[8:], y[l])
		}
	}
}
