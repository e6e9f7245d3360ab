package picture

import (
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
	disc          float64 // radius of a rank
	beyond        float64 // from the circle of ranks to that of ports
	width, height float64
	lanes, drawn  map[hop]int // lines between two stops: all of them, and so far
	lines, stops  []*element
}

// Sizes in px.
const (
	leastDisc  = 19.
	rankGap    = 42. // between two ranks
	bandGap    = 8.  // from a rank to the band of its CPU
	nameGap    = 10. // from there to its name
	portBoxW   = 50.
	portBoxH   = 20.
	portGap    = 58. // from one port to the next
	lane       = 5.  // from one line to the next
	narrowLane = 3.  // ... where there are many
	swatch     = 36. // of a colour in the key
	keyRow     = 19.
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
	c.disc = leastDisc
	for _, n := range c.lanes {
		c.disc = max(c.disc, narrowLane*float64(n)/2)
	}
	name := 0.
	for _, cpu := range s.Nodes[topo.NodeCPU] {
		name = max(name, textWidth(c.cpuName(cpu)))
	}
	c.beyond = c.disc + bandGap + nameGap + name + portBoxW/2 + 4
	c.radius = max(90, (2*c.disc+rankGap)*float64(len(c.ranks))/(2*math.Pi), portGap*float64(len(c.ports))/(2*math.Pi)-c.beyond)
	wide, high := c.radius+c.disc+bandGap+nameGap+name, c.radius+c.disc+bandGap+nameGap+lineH
	if c.ports != nil {
		wide, high = max(wide, c.radius+c.beyond+portBoxW/2), max(high, c.radius+c.beyond+portBoxH/2)
	}
	c.width = max(width, 2*(wide+margin))
	c.x, c.y = c.width/2, titleH+high
	c.height = c.y + high + 2*margin
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
	radius := c.radius + c.disc + bandGap
	from, to := c.on(radius, c.angle(lo)), c.on(radius, c.angle(hi))
	large := 0.
	if c.angle(hi)-c.angle(lo) > math.Pi {
		large = 1
	}
	c.lines = append(c.lines, line("socket", "M%s %sA%s %s 0 %s 1 %s %s", from.x, from.y, radius, radius, large, to.x, to.y))
	name := c.cpuName(cpu)
	at := c.clearOfPorts(textWidth(name), lo, hi)
	c.stops = append(c.stops, onGround("dim", at.x, at.y+4, name))
}

func (c *circle) cpuName(cpu *topo.Node) string {
	if len(c.s.Hosts) > 1 {
		return fmt.Sprintf("host %d CPU %d", cpu.Host, cpu.CPU.NUMAID)
	}
	return fmt.Sprintf("CPU %d", cpu.CPU.NUMAID)
}

// clearOfPorts returns the place for a text of that width, beside the band between two
// ranks and near its middle, that no line to a port is near, else the one farthest from
// these lines.
func (c *circle) clearOfPorts(width, lo, hi float64) point {
	best, most := point{}, 0.
	for _, part := range []float64{.5, .4, .6, .3, .7, .2, .8, .1, .9, 0, 1} {
		angle := c.angle(lo + part*(hi-lo))
		p := c.on(c.radius+c.disc+bandGap+nameGap+width/2*math.Abs(math.Cos(angle)), angle)
		far := 2 * c.radius
		for h := range c.lanes {
			if h.a.Type != topo.NodeNET && h.b.Type != topo.NodeNET {
				continue
			}
			for _, x := range []float64{p.x - width/2, p.x, p.x + width/2} {
				far = min(far, distance(point{x, p.y}, c.at[h.a], c.at[h.b]))
			}
		}
		if far > most {
			best, most = p, far
		}
		const clear = 16
		if far >= clear {
			break
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
	offset *= min(lane, 2*(c.disc-lane)/max(n, 1))
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
			newElement("circle", "class", "gpu", "cx", p.x, "cy", p.y, "r", c.disc), text("name", p.x, p.y+4, stopName(rank))))
	}
	for _, port := range c.ports {
		p := c.at[port]
		c.stops = append(c.stops, newElement("g").add(tip(fmt.Sprintf("%s %s GB/s", port.Net.Name, gbs(port.Net.BW))),
			newElement("rect", "class", "net", "x", p.x-portBoxW/2, "y", p.y-portBoxH/2, "width", portBoxW, "height", portBoxH, "rx", 5), text("name", p.x, p.y+4, stopName(port))))
	}
}

// drawKey writes what the i-th colour stands for.
func (c *circle) drawKey(i int, s string) {
	stroke := line("path "+hue(i), "M%s %sh%s", margin, c.height-4, swatch-8)
	c.lines = append(c.lines, stroke.dashed(dash(i)))
	c.stops = append(c.stops, text("left", margin+swatch, c.height, s))
	c.height += keyRow
}
