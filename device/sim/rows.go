package sim

// This file lifts functions of lanes and of whole rows to execs. Rows are for
// what kernels do all the time: their loops have no calls and no branches.
// Everything else is a function of one lane.

// regs returns row i of the register file of T.
func regs[T lane](w *warp, i int32) *[lanes]T {
	var r any
	if any(T(0)) == any(uint32(0)) {
		r = &w.r32[i]
	} else {
		r = &w.r64[i]
	}
	return r.(*[lanes]T)
}

// merge stores the lanes of mask.
func merge[T lane](d, s *[lanes]T, mask uint32) {
	if mask == full {
		*d = *s
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		l := lowest(m)
		d[l] = s[l]
	}
}

// setPred stores the lanes of mask of a predicate.
func (w *warp) setPred(p int32, v, mask uint32) {
	w.pred[p] = w.pred[p]&^mask | v&mask
}

// Row functions by shape: the digits are the widths of destination and sources.

func rows32x1(d, a int32, f func(d, a *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r32[d], &w.r32[a])
			return next
		}
		f(&w.t32, &w.r32[a])
		merge(&w.r32[d], &w.t32, m)
		return next
	}
}

func rows32x2(d, a, b int32, f func(d, a, b *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r32[d], &w.r32[a], &w.r32[b])
			return next
		}
		f(&w.t32, &w.r32[a], &w.r32[b])
		merge(&w.r32[d], &w.t32, m)
		return next
	}
}

func rows32x3(d, a, b, c int32, f func(d, a, b, c *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r32[d], &w.r32[a], &w.r32[b], &w.r32[c])
			return next
		}
		f(&w.t32, &w.r32[a], &w.r32[b], &w.r32[c])
		merge(&w.r32[d], &w.t32, m)
		return next
	}
}

func rows64x1(d, a int32, f func(d, a *row64)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r64[d], &w.r64[a])
			return next
		}
		f(&w.t64, &w.r64[a])
		merge(&w.r64[d], &w.t64, m)
		return next
	}
}

func rows64x2(d, a, b int32, f func(d, a, b *row64)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r64[d], &w.r64[a], &w.r64[b])
			return next
		}
		f(&w.t64, &w.r64[a], &w.r64[b])
		merge(&w.r64[d], &w.t64, m)
		return next
	}
}

func rows64from32(d, a int32, f func(d *row64, a *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r64[d], &w.r32[a])
			return next
		}
		f(&w.t64, &w.r32[a])
		merge(&w.r64[d], &w.t64, m)
		return next
	}
}

func rows64from32x2(d, a, b int32, f func(d *row64, a, b *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r64[d], &w.r32[a], &w.r32[b])
			return next
		}
		f(&w.t64, &w.r32[a], &w.r32[b])
		merge(&w.r64[d], &w.t64, m)
		return next
	}
}

// shift64 has a 32-bit second source.
func shift64(d, a, b int32, f func(d, a *row64, b *row32)) exec {
	return func(w *warp, m uint32) status {
		if m == full {
			f(&w.r64[d], &w.r64[a], &w.r32[b])
			return next
		}
		f(&w.t64, &w.r64[a], &w.r32[b])
		merge(&w.r64[d], &w.t64, m)
		return next
	}
}

// Lane functions.

func lift1[D, A lane](d, a int32, f func(A) D) exec {
	return func(w *warp, m uint32) status {
		x, y := regs[D](w, d), regs[A](w, a)
		if m == full {
			for l := range x {
				x[l] = f(y[l])
			}
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = f(y[l])
		}
		return next
	}
}

func lift2[D, A, B lane](d, a, b int32, f func(A, B) D) exec {
	return func(w *warp, m uint32) status {
		x, y, z := regs[D](w, d), regs[A](w, a), regs[B](w, b)
		if m == full {
			for l := range x {
				x[l] = f(y[l], z[l])
			}
			return next
		}
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = f(y[l], z[l])
		}
		return next
	}
}

func lift3[D, A, B, C lane](d, a, b, c int32, f func(A, B, C) D) exec {
	return func(w *warp, m uint32) status {
		x, y, z, u := regs[D](w, d), regs[A](w, a), regs[B](w, b), regs[C](w, c)
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = f(y[l], z[l], u[l])
		}
		return next
	}
}

func lift4[D, A, B, C, E lane](d, a, b, c, e int32, f func(A, B, C, E) D) exec {
	return func(w *warp, m uint32) status {
		x, y, z, u, v := regs[D](w, d), regs[A](w, a), regs[B](w, b), regs[C](w, c), regs[E](w, e)
		for ; m != 0; m &= m - 1 {
			l := lowest(m)
			x[l] = f(y[l], z[l], u[l], v[l])
		}
		return next
	}
}

// A compare sets bit l of its result where lane l compares true.
type compare func(w *warp, m uint32) uint32

func liftCmp[A lane](a, b int32, f func(a, b A) bool) compare {
	return func(w *warp, m uint32) uint32 {
		y, z := regs[A](w, a), regs[A](w, b)
		var r uint32
		for ; m != 0; m &= m - 1 {
			if l := lowest(m); f(y[l], z[l]) {
				r |= 1 << l
			}
		}
		return r
	}
}

// equal compares whole rows; flip is all ones for "not equal".
func equal[A lane](a, b int32, flip uint32) compare {
	return func(w *warp, _ uint32) uint32 {
		y, z := regs[A](w, a), regs[A](w, b)
		var r uint32
		for l := range y {
			var c uint32
			if y[l] == z[l] {
				c = 1 << 31
			}
			r = r>>1 | c
		}
		return r ^ flip
	}
}

// less compares whole rows; bias moves signed numbers to the order of unsigned
// ones, flip is all ones for "not less".
func less[A lane](a, b int32, bias A, flip uint32) compare {
	return func(w *warp, _ uint32) uint32 {
		y, z := regs[A](w, a), regs[A](w, b)
		var r uint32
		for l := range y {
			var c uint32
			if y[l]^bias < z[l]^bias {
				c = 1 << 31
			}
			r = r>>1 | c
		}
		return r ^ flip
	}
}
