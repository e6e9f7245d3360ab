package picture

import (
	"cmp"
	"math"
	"slices"

	"github.com/ncclgo/ncclgo/topo"
)

// placePorts puts each port beside the ranks nearest to it, and apart from the
// others.
func (c *circle) placePorts() {
	angles := map[*topo.Node]float64{}
	for _, port := range c.ports {
		x, y := 0., 0.
		for _, i := range nearest(port, c.ranks) {
			x += math.Cos(c.angle(float64(i)))
			y += math.Sin(c.angle(float64(i)))
		}
		// Ranks begin above; what sums to nothing is as good as anywhere.
		angles[port] = math.Mod(math.Atan2(y, x)+2.5*math.Pi, 2*math.Pi)
	}
	slices.SortStableFunc(c.ports, func(a, b *topo.Node) int {
		return cmp.Compare(math.Round(angles[a]*1e6), math.Round(angles[b]*1e6))
	})
	list := make([]float64, len(c.ports))
	for i, port := range c.ports {
		list[i] = angles[port]
	}
	for i, angle := range apart(list, portGap/(c.radius+c.beyond)) {
		c.at[c.ports[i]] = c.on(c.radius+c.beyond, angle-math.Pi/2)
	}
}

// apart returns angles that are as near as possible to those given, which rise within a
// turn, and no nearer to one another than least: evenly around if there is no room.
func apart(angles []float64, least float64) []float64 {
	const turn = 2 * math.Pi
	n := len(angles)
	// Where most room is, nothing is pushed across.
	start, widest := 0, 0.
	for i := range angles {
		room := angles[i] - angles[(i+n-1)%n]
		if i == 0 {
			room += turn
		}
		if room > widest {
			start, widest = i, room
		}
	}
	// Without what they must be apart, those that are out of order go to their middle.
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	even := 0.
	for i := range n {
		at := angles[(start+i)%n]
		if start+i >= n {
			at += turn
		}
		even += (at - turn*float64(i)/float64(n)) / float64(n)
		pools = append(pools, pool{at - least*float64(i), 1})
		for k := len(pools) - 1; k > 0 && pools[k].sum/float64(pools[k].n) < pools[k-1].sum/float64(pools[k-1].n); k-- {
			pools[k-1].sum += pools[k].sum
			pools[k-1].n += pools[k].n
			pools = pools[:k]
		}
	}
	placed := make([]float64, 0, n)
	for _, p := range pools {
		for range p.n {
			placed = append(placed, p.sum/float64(p.n)+least*float64(len(placed)))
		}
	}
	if n > 1 && placed[n-1]-placed[0] > turn-least {
		for i := range placed {
			placed[i] = even + turn*float64(i)/float64(n)
		}
	}
	result := make([]float64, n)
	for i, angle := range placed {
		result[(start+i)%n] = angle
	}
	return result
}

// nearest returns the positions of the nodes to which n has the best path.
func nearest(n *topo.Node, nodes []*topo.Node) []int {
	var best []int
	least := topo.PathDIS
	for i, to := range nodes {
		t := n.Path(to).Type
		if t < least {
			best, least = nil, t
		}
		if t == least && t < topo.PathDIS {
			best = append(best, i)
		}
	}
	return best
}

// distance returns how far p is from the line between a and b, px.
func distance(p, a, b point) float64 {
	x, y := b.x-a.x, b.y-a.y
	along := ((p.x-a.x)*x + (p.y-a.y)*y) / (x*x + y*y)
	along = max(0, min(1, along))
	return math.Hypot(p.x-a.x-along*x, p.y-a.y-along*y)
}
