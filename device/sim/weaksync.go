package sim

import (
	"slices"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// gathering is what those who arrived at a barrier know together.
type gathering struct {
	knowledge
	parts []reach
}

// arrive adds what the lanes of act know and did.
func (g *gathering) arrive(w *warp, act uint32) bool {
	x := w.weak
	if !x.bindAll(w, act) {
		return false
	}
	if g.v == nil {
		g.knowledge = nothingKnown
	}
	for m := act; m != 0; m &= m - 1 {
		l := lowest(m)
		g.v, g.r = x.ws.join(g.v, x.v[l]), x.ws.join(g.r, x.r[l])
	}
	// Lanes of a warp that arrived earlier did nothing since.
	i := slices.IndexFunc(g.parts, func(p reach) bool { return p.slot == x.slot })
	if i < 0 {
		i = len(g.parts)
		g.parts = append(g.parts, reach{slot: x.slot})
	}
	p := &g.parts[i]
	p.lanes, p.clk = p.lanes|act, x.clk
	if p.lanes == w.exists {
		p.lanes = full
	}
	x.tick()
	return true
}

// complete returns what everyone knows who leaves, and empties g.
func (g *gathering) complete(ws *weakState) knowledge {
	k := knowledge{v: ws.with(g.v, g.parts...)}
	k.r = ws.join(g.r, k.v)
	*g = gathering{parts: g.parts[:0]}
	return k
}

// leave lets lanes go on with what everyone knows.
func (x *weakWarp) leave(m uint32, k knowledge) {
	for ; m != 0; m &= m - 1 {
		l := lowest(m)
		x.v[l], x.r[l] = k.v, k.r
	}
}

// synced does what an instruction that lanes execute together means for memory:
// bar.warp.sync is a barrier, the others order nothing but what H3 says.
func (x *weakWarp) synced(w *warp, o *syncOp, group uint32) bool {
	switch o.src.Op {
	case ptx.OpBarWarp:
		g := gathering{}
		if !g.arrive(w, group) {
			return false
		}
		x.leave(group, g.complete(x.ws))
	case ptx.OpElect: // reads nothing
	default:
		x.groups.vote(group)
	}
	return true
}
