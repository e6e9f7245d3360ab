package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// releases is what a lane's fences release, by who is to acquire it.
type releases struct {
	home *home
	at   [numLevels]release
}

// release is what a lane knew at a fence, and its own events until then.
type release struct {
	v    *view // nil: there was no fence
	own  reach
	full *view // both, once somebody asked
}

// carried is what a version releases if it is read with a scope that includes the
// writer.
type carried struct {
	rel   *releases
	level level // of the write
}

// acquiring is what a lane's next fence acquires, by the distance to who released
// it; nil is nothing.
type acquiring [numLevels]*view

func (ws *weakState) released(r *release) *view {
	if r.full == nil {
		r.full = ws.with(r.v, r.own)
	}
	return r.full
}

// acquire joins what a version that lane l read carries, or keeps it for the
// lane's next fence.
func (x *weakWarp) acquire(c carried, l int, lv level, now bool) {
	d := x.home.distance(c.rel.home)
	r := &c.rel.at[d]
	if d > c.level || d > lv || r.v == nil {
		return
	}
	u := x.ws.released(r)
	if now {
		x.v[l] = x.ws.join(x.v[l], u)
		x.r[l] = x.ws.join(x.r[l], x.v[l])
		return
	}
	p := x.pend[l]
	if p == nil {
		p = &acquiring{}
		x.pend[l] = p
	}
	if p[d] == nil {
		p[d] = u
	} else {
		p[d] = x.ws.join(p[d], u)
	}
}

// releaseAt returns what lane l releases with a fence of a level, or with a write
// that is a release: its own events up to clk.
func (x *weakWarp) releaseAt(l int, lv level, clk uint32) *releases {
	n := &releases{home: x.home}
	if old := x.rel[l]; old != nil {
		n.at = old.at
	}
	now := release{v: x.v[l], own: reach{x.slot, 1 << l, clk}}
	for d := ctaLevel; d <= lv; d++ {
		n.at[d] = now
	}
	return n
}

// passOn adds what the last versions carry to list.
func (ws *weakState) passOn(list []carried, vs []version, bytes uint8) []carried {
	for i := len(vs) - 1; i >= 0 && bytes != 0; i-- {
		v := &vs[i]
		if v.by.bytes&bytes == 0 {
			continue
		}
		bytes &^= v.by.bytes
		for _, c := range v.passed() {
			list = ws.addCarried(list, c)
		}
		if v.rel != nil {
			list = ws.addCarried(list, carried{v.rel, v.level})
		}
	}
	return list
}

// addCarried adds c to list, in one with what came from the same CTA by writes of
// the same scope.
func (ws *weakState) addCarried(list []carried, c carried) []carried {
	for i, o := range list {
		switch {
		case o == c:
			return list
		case o.level == c.level && o.rel.home == c.rel.home:
			list[i].rel = ws.joinReleases(o.rel, c.rel)
			return list
		}
	}
	return append(list, c)
}

func (ws *weakState) joinReleases(a, b *releases) *releases {
	n := &releases{home: a.home}
	for d := range n.at {
		switch p, q := &a.at[d], &b.at[d]; {
		case p.v == nil:
			n.at[d] = *q
		case q.v == nil:
			n.at[d] = *p
		default:
			v := ws.join(ws.released(p), ws.released(q))
			n.at[d] = release{v: v, full: v}
		}
	}
	return n
}

// fenceWeakly is the exec of fences.
func fenceWeakly(in *ptx.Instr) exec {
	sem := semanticsOf(in)
	total := in.Sem == ptx.SeqCst
	// "membar.{cta,gl,sys} are synonyms of fence.sc" (PTX ISA, "membar").
	if in.Op == ptx.OpMembar {
		sem.acquires, sem.releases, total = true, true, true
	}
	return func(w *warp, m uint32) status {
		x := w.weak
		if !x.bindAll(w, m) {
			return failed
		}
		for s := m; s != 0; s &= s - 1 {
			l := lowest(s)
			if p := x.pend[l]; p != nil && sem.acquires {
				for d := ctaLevel; d <= sem.level; d++ {
					if p[d] != nil {
						x.v[l] = x.ws.join(x.v[l], p[d])
						p[d] = nil
					}
				}
			}
			if total {
				x.meet(l, sem.level)
			}
			x.r[l] = x.ws.join(x.r[l], x.v[l])
			if sem.releases {
				x.rel[l] = x.releaseAt(l, sem.level, x.clk)
			}
			x.bound[l] = x.clk
		}
		x.tick()
		return next
	}
}

// meet joins, both ways, with all fence.sc before that include lane l and that it
// includes: those of its CTA; those of gpu scope and more of its GPU; those of sys
// scope.
func (x *weakWarp) meet(l int, lv level) {
	ws := x.ws
	places := [numLevels]**view{&x.home.sc, &ws.sc[x.home.gpu], &ws.scAll}
	v := x.v[l]
	for d := ctaLevel; d <= lv; d++ {
		v = ws.join(v, *places[d])
	}
	x.v[l] = v
	v = ws.with(v, reach{x.slot, 1 << l, x.clk})
	for d := ctaLevel; d <= lv; d++ {
		*places[d] = ws.join(*places[d], v)
	}
}
