package picture

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// Machine draws a system: CPUs as bars over what is attached to them, switches as
// bars over what is below them, GPUs and network cards in a row, NVLinks under the
// GPUs. Each link has its bandwidth in GB/s, of one direction. Links between
// PCIe switches that are no part of the tree are left out.
func Machine(w io.Writer, s *topo.System) error {
	m := newMachine(s)
	m.place()
	m.drawHosts()
	m.drawLinks()
	m.drawNVSwitches()
	m.drawNVLinks()
	for _, cpu := range m.cpus {
		cpu.each(func(b *box) { m.boxes = append(m.boxes, b.draw()...) })
	}
	m.drawKey()
	content := append(append(m.lines, m.boxes...), m.labels...)
	return write(w, m.width, m.height, title(s), summary(s), content...)
}

// title is the name of a system: of a file's, without folder and ending.
func title(s *topo.System) string { return strings.TrimSuffix(path.Base(s.Name), ".xml") }

// summary says in a few words what a system has.
func summary(s *topo.System) string {
	parts := []string{
		count(len(s.Nodes[topo.NodeDEV]), "GPU"), count(len(s.Nodes[topo.NodeCPU]), "CPU"),
		count(len(s.Nodes[topo.NodeNET]), "network port"),
	}
	if len(s.Hosts) > 1 {
		parts = append(parts, count(len(s.Hosts), "host"))
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// gbs writes a bandwidth.
func gbs(bw float32) string { return strconv.FormatFloat(float64(bw), 'g', 4, 32) }

// machine is a picture of a system while it is drawn.
type machine struct {
	s             *topo.System
	cpus          []*box
	gpus          map[*topo.Node]*box
	width, height float64
	lines         []*element
	boxes         []*element
	labels        []*element
	kinds         map[topo.LinkType]bool // of links that were drawn
}

func newMachine(s *topo.System) *machine {
	m := &machine{s: s, gpus: map[*topo.Node]*box{}, kinds: map[topo.LinkType]bool{}}
	for _, cpu := range s.Nodes[topo.NodeCPU] {
		m.cpus = append(m.cpus, newBox(cpu, nil, nil))
	}
	// Hosts beside one another, whatever the order of the file.
	slices.SortStableFunc(m.cpus, func(a, b *box) int { return cmp.Compare(a.node.Host, b.node.Host) })
	for _, cpu := range m.cpus {
		cpu.each(func(b *box) {
			if b.class == "gpu" {
				m.gpus[b.node] = b
			}
		})
	}
	return m
}

const (
	titleH = 44. // with the space below
	busH   = 34. // of the line between CPUs
	keyH   = 30.
	nvsH   = 24.
)

// place gives everything its place.
func (m *machine) place() {
	depth := 1
	bus := 0.
	for i, cpu := range m.cpus {
		depth = max(depth, cpu.depth)
		if i > 0 && cpu.node.Host == m.cpus[i-1].node.Host {
			bus = busH
		}
	}
	x, y := margin, titleH+bus
	if len(m.s.Hosts) > 1 {
		x, y = x+hostGap/4, y+lineH
	}
	leafY := y + float64(depth)*(barH+linkH)
	for i, cpu := range m.cpus {
		if i > 0 {
			if x += cpuGap; cpu.node.Host != m.cpus[i-1].node.Host {
				x += hostGap - cpuGap
			}
		}
		cpu.place(x, y, leafY)
		x += cpu.w
	}
	m.width = max(x+margin, textWidth(title(m.s)+summary(m.s))*1.3+2*margin, 420)
	m.height = leafY + leafH + margin
}

// drawHosts draws the title, and a frame around each of several hosts.
func (m *machine) drawHosts() {
	m.boxes = append(m.boxes, text("title", margin, 26, title(m.s)+": "+summary(m.s)))
	for lo := 0; lo < len(m.cpus); {
		hi := lo
		for hi+1 < len(m.cpus) && m.cpus[hi+1].node.Host == m.cpus[lo].node.Host {
			hi++
		}
		first, last := m.cpus[lo], m.cpus[hi]
		m.drawBus(m.cpus[lo : hi+1])
		if len(m.s.Hosts) > 1 {
			const pad = hostGap / 4
			top := titleH - 6.
			m.lines = append(m.lines, newElement("rect", "class", "host", "x", first.x-pad, "y", top,
				"width", last.x+last.w-first.x+2*pad, "height", m.height-margin-top+pad, "rx", 8))
			m.labels = append(m.labels, text("dim left", first.x-pad+8, top+13, fmt.Sprintf("host %d", first.node.Host)))
		}
		lo = hi + 1
	}
}

// drawBus draws what joins the CPUs of a host.
func (m *machine) drawBus(cpus []*box) {
	var speeds []string
	for _, cpu := range cpus {
		for _, l := range cpu.node.Links {
			if l.Type == topo.LinkSYS && !slices.Contains(speeds, gbs(l.BW)) {
				speeds = append(speeds, gbs(l.BW))
			}
		}
	}
	if speeds == nil {
		return
	}
	y := cpus[0].y - busH/2
	first, last := cpus[0].mid(), cpus[len(cpus)-1].mid()
	m.line(topo.LinkSYS, "M%s %sH%s", first, y, last)
	for _, cpu := range cpus {
		m.line(topo.LinkSYS, "M%s %sV%s", cpu.mid(), y, cpu.y)
	}
	m.label((first+last)/2, y+4, strings.Join(speeds, " or "))
}

// line draws a link of that kind.
func (m *machine) line(kind topo.LinkType, format string, numbers ...float64) {
	m.kinds[kind] = true
	m.lines = append(m.lines, line("link "+classes[kind], format, numbers...))
}

var classes = map[topo.LinkType]string{
	topo.LinkPCI: "on-pci", topo.LinkNVL: "on-nvl", topo.LinkC2C: "on-c2c", topo.LinkSYS: "on-sys",
}

// label writes a number beside a line.
func (m *machine) label(x, y float64, s string) {
	m.labels = append(m.labels, onGround("gbs", x, y, s))
}

// unlimited is the least bandwidth that is none: a link within a chip, or of a
// device that has no real one (LOC_BW, NCCL v2.30 src/graph/topo.h).
const unlimited = 5000

// drawLinks draws the tree below each CPU, and beside it the faster links of GPUs to
// their CPU.
func (m *machine) drawLinks() {
	const aside = 17.
	for _, cpu := range m.cpus {
		cpu.each(func(b *box) {
			if b.isLeaf() {
				return
			}
			for _, kid := range b.kids {
				x := kid.mid()
				fast := fastToCPU(kid.node)
				if fast != nil {
					x -= aside
					m.line(fast.Type, "M%s %sV%s", kid.mid()+aside, kid.y, cpu.bottom())
					m.label(kid.mid()+aside, kid.y-linkH/2+4, gbs(fast.BW))
				}
				m.line(topo.LinkPCI, "M%s %sV%s", x, kid.y, b.bottom())
				if kid.link.BW < unlimited {
					m.label(x, kid.y-linkH/2+4, gbs(kid.link.BW))
				}
			}
		})
	}
}

// fastToCPU returns the link of a GPU to its CPU that is not PCIe, nil if there is
// none.
func fastToCPU(n *topo.Node) *topo.Link {
	for i := range n.Links {
		l := &n.Links[i]
		if l.Type == topo.LinkC2C || l.Type == topo.LinkNVL && l.To.Type == topo.NodeCPU {
			return l
		}
	}
	return nil
}

// drawNVSwitches draws the fabric of NVSwitches as a bar under the GPUs.
func (m *machine) drawNVSwitches() {
	for _, nvs := range m.s.Nodes[topo.NodeNVS] {
		bar := &box{node: nvs, class: "nvs", lines: []string{"NVSwitch"}, h: nvsH}
		bar.y = m.height - margin + linkH
		left, right := m.width, 0.
		for _, l := range nvs.Links {
			gpu := m.gpus[l.To]
			if gpu == nil {
				continue
			}
			left, right = min(left, gpu.x), max(right, gpu.x+gpu.w)
			m.line(topo.LinkNVL, "M%s %sV%s", gpu.mid(), gpu.bottom(), bar.y)
			m.label(gpu.mid(), gpu.bottom()+linkH/2+4, gbs(l.BW))
		}
		if right == 0 {
			continue
		}
		bar.x, bar.w = left, right-left
		m.boxes = append(m.boxes, bar.draw()...)
		m.height = bar.bottom() + margin
	}
}

// drawKey says what the colours of lines mean.
func (m *machine) drawKey() {
	x, y := margin, m.height+4
	for _, k := range []struct {
		kind topo.LinkType
		name string
	}{{topo.LinkPCI, "PCIe"}, {topo.LinkNVL, "NVLink"}, {topo.LinkC2C, "chip to chip"}, {topo.LinkSYS, "between CPUs"}} {
		if m.kinds[k.kind] {
			m.lines = append(m.lines, line("link "+classes[k.kind], "M%s %sh22", x, y-4))
			m.labels = append(m.labels, text("dim left", x+28, y, k.name))
			x += 28 + textWidth(k.name) + 14
		}
	}
	m.labels = append(m.labels, text("dim left", x, y, "GB/s in each direction"))
	m.width = max(m.width, x+textWidth("GB/s in each direction")+margin)
	m.height += keyH - margin/2
}
