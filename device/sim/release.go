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

// acquiring is what a lane's next fence acquires, by the distance to who released
// it; nil is nothing.
type acquiring [numLevels]*view

func (ws *weakState) released(r *release) *view {
	if r.full == nil {
		r.full = ws.with(r.v, r.own)
	}
	return r.full
}

// acquire joins what a version that lane l read carries, if the read is an acquire
// whose scope includes who released it, or keeps it for the lane's next fence.
func (x *weakWarp) acquire(rel *releases, l int, lv level, acquires bool) {
	d := x.home.distance(rel.home)
	r := &rel.at[d]
	if r.v == nil {
		return
	}
	u := x.ws.released(r)
	if acquires && d <= lv {
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

// passOn adds to list what the last versions carry that an atomic of x with the
// scope of a level replaces, and to r which reads they tell to be done, and reports
// whether it is morally strong with all of them. A write precedes a read in observation order through
// atomics if each step, from a write to who reads it, is morally strong (PTX ISA,
// "Observation Order"); the ends need not be.
func (x *weakWarp) passOn(list []*releases, r *view, vs []version, bytes uint8, lv level) (passed []*releases, done *view, all bool) {
	all = true
	for i := len(vs) - 1; i >= 0 && bytes != 0; i-- {
		v := &vs[i]
		if v.by.bytes&bytes == 0 {
			continue
		}
		bytes &^= v.by.bytes
		if !x.reaches(v, lv) {
			all = false
			continue
		}
		for _, rel := range v.passed() {
			list = x.ws.addReleases(list, rel)
		}
		if v.rel != nil {
			list = x.ws.addReleases(list, v.rel)
		}
		if v.home != nil {
			r = x.ws.tell(r, v)
		}
	}
	return list, r, all
}

// addReleases adds rel to list, in one with what came from the same CTA. All CTAs of
// a GPU that ended are as far from everybody: what came from them is one, or lists
// would grow with every launch.
func (ws *weakState) addReleases(list []*releases, rel *releases) []*releases {
	for i, o := range list {
		if o.home == rel.home || o.home.gpu == rel.home.gpu && o.home.ended && rel.home.ended {
			if o != rel {
				list[i] = ws.joinReleases(o, rel)
			}
			return list
		}
	}
	return append(list, rel)
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
