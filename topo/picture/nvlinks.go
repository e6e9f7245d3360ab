package picture

import (
	"cmp"
	"math"
	"slices"

	"github.com/ncclgo/ncclgo/topo"
)

// arc is the NVLinks between two GPUs, a left of b.
type arc struct {
	a, b   *box
	bw     float32
	xa, xb float64 // where it ends at either
}

// arcs returns the pairs of GPUs that NVLinks join directly, the near ones first.
func (m *machine) arcs() []*arc {
	var all []*arc
	for _, dev := range m.s.Nodes[topo.NodeDEV] {
		for _, l := range dev.Links {
			a, b := m.gpus[dev], m.gpus[l.To]
			if l.Type == topo.LinkNVL && a != nil && b != nil && a.x < b.x {
				all = append(all, &arc{a: a, b: b, bw: l.BW})
			}
		}
	}
	slices.SortFunc(all, func(p, q *arc) int {
		return cmp.Or(cmp.Compare(p.b.x-p.a.x, q.b.x-q.a.x), cmp.Compare(p.a.x, q.a.x))
	})
	return all
}

// spread gives the arcs of each GPU ends of their own along its lower edge, so that
// they do not cross before they part: to the left the farthest first, to the right
// the farthest last.
func spread(arcs []*arc) {
	type end struct {
		toward float64 // where the arc leads
		x      *float64
	}
	ends := map[*box][]end{}
	var order []*box
	for _, r := range arcs {
		for _, side := range []struct {
			b      *box
			toward float64
			x      *float64
		}{{r.a, r.b.x, &r.xa}, {r.b, r.a.x, &r.xb}} {
			if ends[side.b] == nil {
				order = append(order, side.b)
			}
			ends[side.b] = append(ends[side.b], end{side.toward, side.x})
		}
	}
	for _, b := range order {
		list := ends[b]
		slices.SortStableFunc(list, func(p, q end) int { return cmp.Compare(p.toward, q.toward) })
		for i, e := range list {
			*e.x = b.x + b.w*(float64(i)+1)/float64(len(list)+1)
		}
	}
}

// drawNVLinks draws direct NVLinks as arcs under the GPUs.
func (m *machine) drawNVLinks() {
	arcs := m.arcs()
	spread(arcs)
	lowest := m.height
	var labels []point
	for _, r := range arcs {
		y := r.a.bottom()
		drop := 26 + .3*(r.xb-r.xa)
		m.line(topo.LinkNVL, "M%s %sC%s %s %s %s %s %s", r.xa, y, r.xa, y+drop, r.xb, y+drop, r.xb, y)
		// A number goes where the line is lowest, or where no other is near.
		at := curve(r.xa, r.xb, y, drop, .5)
		for _, t := range []float64{.5, .38, .62, .28, .72} {
			p := curve(r.xa, r.xb, y, drop, t)
			if !slices.ContainsFunc(labels, func(q point) bool { return math.Abs(p.x-q.x) < 26 && math.Abs(p.y-q.y) < 12 }) {
				at = p
				break
			}
		}
		labels = append(labels, at)
		m.label(at.x, at.y+4, gbs(r.bw))
		lowest = max(lowest, y+.75*drop+margin+8)
	}
	m.height = lowest
}

type point struct{ x, y float64 }

// curve returns where drawNVLinks' line from xa to xb is at t between 0 and 1.
func curve(xa, xb, y, drop, t float64) point {
	u := 1 - t
	return point{xa*(u*u*u+3*u*u*t) + xb*(3*u*t*t+t*t*t), y + drop*3*u*t}
}
