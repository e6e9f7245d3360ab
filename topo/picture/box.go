package picture

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// Sizes in px.
const (
	margin   = 20.
	barH     = 26. // of CPUs and switches
	gpuW     = 74.
	portW    = 70.
	leafH    = 58. // of GPUs and network cards
	lineH    = 15. // of text
	linkH    = 34. // between a box and the one above
	leafGap  = 8.
	groupGap = 16. // beside switches
	cpuGap   = 30.
	hostGap  = 44.
)

// box is a node of a machine with what is below it: a bar over its children, or a
// leaf.
type box struct {
	node  *topo.Node
	class string
	lines []string
	tip   string
	link  *topo.Link // from what is above
	kids  []*box
	depth int // of the tree below

	x, y, w, h float64
}

// newBox makes the box of the node at the end of link, and of all below, from
// being what is above.
func newBox(n, from *topo.Node, link *topo.Link) *box {
	b := &box{node: n, link: link, h: barH}
	switch n.Type {
	case topo.NodeCPU:
		b.class = "cpu"
		b.lines = []string{fmt.Sprintf("CPU %d, %v", n.CPU.NUMAID, n.CPU)}
	case topo.NodePCI:
		b.class, b.lines, b.tip = "pci", []string{"PCIe switch"}, topo.BusID(n.ID).String()
	case topo.NodeDEV:
		b.class, b.w, b.h = "gpu", gpuW, leafH
		b.lines = []string{gpuName(n.GPU), fmt.Sprintf("sm_%d", n.GPU.SM), rankList(n)}
		b.tip = n.GPU.BusID.String()
		return b
	case topo.NodeNIC:
		b.class, b.h, b.tip = "net", leafH, topo.BusID(n.ID).String()
	default:
		return b // a port, which its card draws
	}
	for i := range n.Links {
		switch l := &n.Links[i]; {
		case l.Type == topo.LinkNET && l.To.Type == topo.NodeNET,
			l.Type == topo.LinkPCI && l.To != from && n.Type != topo.NodeNIC:
			kid := newBox(l.To, n, l)
			b.kids = append(b.kids, kid)
			b.depth = max(b.depth, kid.depth+1)
		}
	}
	if n.Type == topo.NodeNIC {
		b.depth = 0
		b.w = portW * float64(max(1, len(b.kids)))
		return b
	}
	b.w = textWidth(b.lines[0]) + 16
	b.w = max(b.w, b.kidsWidth())
	return b
}

func gpuName(g *topo.GPU) string {
	if g.Part >= 0 {
		return fmt.Sprintf("GPU %d/%d", g.Dev, g.Part)
	}
	return fmt.Sprintf("GPU %d", g.Dev)
}

// rankList names the ranks on a GPU.
func rankList(dev *topo.Node) string {
	var ranks []string
	for _, l := range dev.Links {
		if l.Type == topo.LinkLOC && l.To.Type == topo.NodeGPU {
			ranks = append(ranks, fmt.Sprint(l.To.GPU.Rank))
		}
	}
	switch {
	case len(ranks) == 0:
		return "no rank"
	case len(ranks) == 1:
		return "rank " + ranks[0]
	case len(ranks) > 4:
		return fmt.Sprintf("%d ranks", len(ranks))
	default:
		return "ranks " + strings.Join(ranks, " ")
	}
}

// isLeaf reports whether b is a GPU or a card. Those of a machine are in one row.
func (b *box) isLeaf() bool { return b.class == "gpu" || b.class == "net" }

func (b *box) mid() float64    { return b.x + b.w/2 }
func (b *box) bottom() float64 { return b.y + b.h }

// gap returns the space between two neighbours.
func gap(a, b *box) float64 {
	if a.isLeaf() && b.isLeaf() {
		return leafGap
	}
	return groupGap
}

func (b *box) kidsWidth() float64 {
	w := 0.
	for i, kid := range b.kids {
		if w += kid.w; i > 0 {
			w += gap(b.kids[i-1], kid)
		}
	}
	return w
}

// place puts b at a place, its children below, leaves all at one height.
func (b *box) place(x, y, leafY float64) {
	b.x, b.y = x, y
	if b.isLeaf() {
		b.y = leafY
		return
	}
	x += (b.w - b.kidsWidth()) / 2
	for i, kid := range b.kids {
		if i > 0 {
			x += gap(b.kids[i-1], kid)
		}
		kid.place(x, y+barH+linkH, leafY)
		x += kid.w
	}
}

// each calls f for b and all below, cards but not their ports.
func (b *box) each(f func(*box)) {
	f(b)
	if b.isLeaf() {
		return
	}
	for _, kid := range b.kids {
		kid.each(f)
	}
}

// draw returns the box and what is written on it.
func (b *box) draw() []*element {
	group := newElement("g")
	if b.tip != "" {
		group.add(tip(b.tip))
	}
	group.add(newElement("rect", "class", b.class, "x", b.x, "y", b.y, "width", b.w, "height", b.h, "rx", 5))
	if b.class == "net" {
		return []*element{group.add(b.ports()...)}
	}
	top := b.y + b.h/2 - lineH*float64(len(b.lines)-1)/2 + 4
	for i, line := range b.lines {
		class := "dim"
		if i == 0 {
			class = "name"
		}
		group.add(text(class, b.mid(), top+lineH*float64(i), line))
	}
	return []*element{group}
}

// ports returns the network ports of a card, side by side.
func (b *box) ports() []*element {
	if len(b.kids) == 0 {
		return []*element{text("dim", b.mid(), b.y+b.h/2+4, "no port")}
	}
	var all []*element
	for i, port := range b.kids {
		x := b.x + portW*(float64(i)+.5)
		net := port.node.Net
		if i > 0 {
			all = append(all, line("net", "M%s %sv%s", x-portW/2, b.y, b.h))
		}
		all = append(all,
			text("name", x, b.y+b.h/2-lineH+4, fmt.Sprintf("NET %d", net.Dev)),
			text("dim", x, b.y+b.h/2+4, shorten(net.Name, portW-6)),
			text("dim", x, b.y+b.h/2+lineH+4, gbs(net.BW)+" GB/s"))
	}
	return all
}

// shorten leaves out the middle of what is too long for a width: names of ports differ at
// their ends.
func shorten(s string, width float64) string {
	runes := []rune(s)
	most := int(width / textWidth("…"))
	if len(runes) <= most {
		return s
	}
	end := most / 2
	return string(runes[:most-1-end]) + "…" + string(runes[len(runes)-end:])
}
