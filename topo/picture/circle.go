package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ncclgo/ncclgo/topo"
)

// circle is a picture of channels while it is drawn.
type circle struct {
	s             *topo.System
	ranks, ports  []*topo.Node
	at            map[*topo.Node]point
	x, y, radius  float64
	width, height float64
	lanes, drawn  map[hop]int // lines between two stops: all of them, and so far
	lines, stops  []*element
}

// Sizes in px.
const (
	discR   = 19.
	bandR   = 27. // from the circle of ranks to the bands of CPUs
	spacing = 80. // from one rank to the next
	beyond  = 86. // from the circle of ranks to that of ports
	portGap = 58. // from one port to the next
	lane    = 5.  // from one line to the next
	lanesW  = 28. // of all lines between two stops, at most
	swatch  = 36. // of a colour in the key
	keyRow  = 19.
)

// newCircle places the ranks of a system and the ports of routes in a picture of
// that width or more.
func newCircle(s *topo.System, routes []*route, width float64) *circle {
	c := &circle{s: s, ranks: s.Nodes[topo.NodeGPU], at: map[*topo.Node]point{}, lanes: map[hop]int{}, drawn: map[hop]int{}}
	for _, r := range routes {
		for i, stop := range r.stops {
			if stop.Type == topo.NodeNET && !slices.Contains(c.ports, stop) {
				c.ports = append(c.ports, stop)
			}
			if i > 0 {
				c.lanes[hopOf(r.stops[i-1], stop)]++
			}
		}
		if n := len(r.stops); r.ring && n > 1 {
			c.lanes[hopOf(r.stops[n-1], r.stops[0])]++
		}
	}
	c.radius = max(90, spacing*float64(len(c.ranks))/(2*math.Pi), portGap*float64(len(c.ports))/(2*math.Pi)-beyond)
	outer := c.radius + bandR + 10
	for _, cpu := range s.Nodes[topo.NodeCPU] {
		outer = max(outer, c.radius+bandR+10+textWidth(c.cpuName(cpu)))
	}
	if c.ports != nil {
		outer = max(outer, c.radius+beyond+26)
	}
	c.width = max(width, 2*(outer+margin))
	c.x, c.y = c.width/2, titleH+outer
	c.height = c.y + outer + margin
	for i, rank := range c.ranks {
		c.at[rank] = c.on(c.radius, c.angle(float64(i)))
	}
	c.placePorts()
	return c
}

// angle returns where the i-th rank is, from above with the clock.
func (c *circle) angle(i float64) float64 {
	return 2*math.Pi*(i+.5)/float64(len(c.ranks)) - math.Pi/2
}

func (c *circle) on(radius, angle float64) point {
	return point{c.x + radius*math.Cos(angle), c.y + radius*math.Sin(angle)}
}

// placePorts puts each port beside the ranks nearest to it, and apart from the
// others.
func (c *circle) placePorts() {
	type place struct {
		port  *topo.Node
		angle float64
	}
	var list []place
	for _, port := range c.ports {
		x, y := 0., 0.
		for _, i := range nearest(port, c.ranks) {
			x += math.Cos(c.angle(float64(i)))
			y += math.Sin(c.angle(float64(i)))
		}
		list = append(list, place{port, math.Atan2(y, x)})
	}
	slices.SortStableFunc(list, func(a, b place) int {
		// Ranks begin above; what sums to nothing is as good as anywhere.
		from := func(angle float64) float64 { return math.Mod(angle+2.5*math.Pi, 2*math.Pi) }
		return cmp.Compare(math.Round(from(a.angle)*1e6), math.Round(from(b.angle)*1e6))
	})
	least := portGap / (c.radius + beyond)
	for range 200 {
		moved := false
		for i := range list {
			a, b := &list[i], &list[(i+1)%len(list)]
			if len(list) == 1 {
				break
			}
			between := math.Mod(b.angle-a.angle+4*math.Pi, 2*math.Pi)
			if between < 1e-9 && i == len(list)-1 {
				continue
			}
			if short := least - between; short > 1e-3 {
				a.angle -= short / 2
				b.angle += short / 2
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	for _, p := range list {
		c.at[p.port] = c.on(c.radius+beyond, p.angle)
	}
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

// drawSockets draws a band behind neighbouring ranks that have one CPU nearest.
func (c *circle) drawSockets() {
	cpus := c.s.Nodes[topo.NodeCPU]
	of := make([]*topo.Node, len(c.ranks))
	for i, rank := range c.ranks {
		for _, cpu := range nearest(rank, cpus) {
			if old := of[i]; old == nil || len(rank.Path(cpus[cpu]).Links) < len(rank.Path(old).Links) {
				of[i] = cpus[cpu]
			}
		}
	}
	for lo := 0; lo < len(c.ranks); {
		hi := lo
		for hi+1 < len(c.ranks) && of[hi+1] == of[lo] {
			hi++
		}
		if of[lo] != nil {
			c.drawSocket(of[lo], float64(lo)-.3, float64(hi)+.3)
		}
		lo = hi + 1
	}
}

func (c *circle) drawSocket(cpu *topo.Node, lo, hi float64) {
	radius := c.radius + bandR
	from, to := c.on(radius, c.angle(lo)), c.on(radius, c.angle(hi))
	large := 0.
	if c.angle(hi)-c.angle(lo) > math.Pi {
		large = 1
	}
	c.lines = append(c.lines, line("socket", "M%s %sA%s %s 0 %s 1 %s %s", from.x, from.y, radius, radius, large, to.x, to.y))
	name := c.cpuName(cpu)
	at := c.farFromPorts(textWidth(name), lo, hi)
	c.stops = append(c.stops, text("dim", at.x, at.y+4, name))
}

func (c *circle) cpuName(cpu *topo.Node) string {
	if len(c.s.Hosts) > 1 {
		return fmt.Sprintf("host %d CPU %d", cpu.Host, cpu.CPU.NUMAID)
	}
	return fmt.Sprintf("CPU %d", cpu.CPU.NUMAID)
}

// farFromPorts returns the place for a text of that width, beside the band between two
// ranks, that is farthest from all ports, the middle if several are.
func (c *circle) farFromPorts(width, lo, hi float64) point {
	best, most := point{}, 0.
	for _, part := range []float64{.5, .4, .6, .3, .7, .2, .8} {
		angle := c.angle(lo + part*(hi-lo))
		p := c.on(c.radius+bandR+10+width/2*math.Abs(math.Cos(angle)), angle)
		far := 2 * c.radius
		for _, port := range c.ports {
			far = min(far, math.Hypot(c.at[port].x-p.x, c.at[port].y-p.y))
		}
		if far > most+1 {
			best, most = p, far
		}
	}
	return best
}

// hop is two neighbours of a route, whichever comes first.
type hop struct{ a, b *topo.Node }

func hopOf(a, b *topo.Node) hop {
	if a.Type > b.Type || a.Type == b.Type && a.Index > b.Index {
		a, b = b, a
	}
	return hop{a, b}
}

// drawRoute draws the i-th route.
func (c *circle) drawRoute(i int, r *route) {
	for k := range r.stops {
		switch {
		case k > 0:
			c.drawHop(i, r.stops[k-1], r.stops[k])
		case r.ring && len(r.stops) > 1:
			c.drawHop(i, r.stops[len(r.stops)-1], r.stops[0])
		}
	}
}

// drawHop draws a line with an arrow from one stop to another, beside those of other
// routes.
func (c *circle) drawHop(i int, from, to *topo.Node) {
	h := hopOf(from, to)
	n := float64(c.lanes[h] - 1)
	offset := float64(c.drawn[h]) - n/2
	c.drawn[h]++
	offset *= min(lane, lanesW/max(n, 1))
	p, q := c.at[h.a], c.at[h.b]
	length := math.Hypot(q.x-p.x, q.y-p.y)
	ux, uy := (q.x-p.x)/length, (q.y-p.y)/length
	p, q = point{p.x - uy*offset, p.y + ux*offset}, point{q.x - uy*offset, q.y + ux*offset}
	if h.a != from {
		p, q, ux, uy = q, p, -ux, -uy
	}
	stroke := line("path "+hue(i), "M%s %sL%s %s", p.x, p.y, q.x, q.y)
	// Not in the middle, where diagonals meet.
	const long, wide, along = 8., 4., .4
	x, y := p.x+along*(q.x-p.x), p.y+along*(q.y-p.y)
	c.lines = append(c.lines, stroke.dashed(dash(i)), line("head "+hue(i), "M%s %sL%s %sL%s %sz",
		x+ux*long/2, y+uy*long/2, x-ux*long/2-uy*wide, y-uy*long/2+ux*wide, x-ux*long/2+uy*wide, y-uy*long/2-ux*wide))
}

// drawStops draws ranks and ports over the lines.
func (c *circle) drawStops() {
	for _, rank := range c.ranks {
		p := c.at[rank]
		c.stops = append(c.stops, newElement("g").add(tip(gpuName(rank.GPU)+" "+rank.GPU.BusID.String()),
			newElement("circle", "class", "gpu", "cx", p.x, "cy", p.y, "r", discR), text("name", p.x, p.y+4, stopName(rank))))
	}
	for _, port := range c.ports {
		const w, h = 50., 20.
		p := c.at[port]
		c.stops = append(c.stops, newElement("g").add(tip(fmt.Sprintf("%s %s GB/s", port.Net.Name, gbs(port.Net.BW))),
			newElement("rect", "class", "net", "x", p.x-w/2, "y", p.y-h/2, "width", w, "height", h, "rx", 5), text("name", p.x, p.y+4, stopName(port))))
	}
}

// drawKey writes what the i-th colour stands for.
func (c *circle) drawKey(i int, s string) {
	stroke := line("path "+hue(i), "M%s %sh%s", margin, c.height-4, swatch-8)
	c.lines = append(c.lines, stroke.dashed(dash(i)))
	c.stops = append(c.stops, text("left", margin+swatch, c.height, s))
	c.height += keyRow
}
