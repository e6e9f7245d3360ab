package topo

import "slices"

// walk calls visit for every element below a pci element whose GPU or switch
// is part of the system, with the host and the address of that pci element.
func (b *builder) walk(visit func(e, parent *Element, host int, bus BusID)) {
	var down func(e, parent *Element, host int, bus BusID)
	down = func(e, parent *Element, host int, bus BusID) {
		if e.Name == ElemPCI {
			bus = e.BusID("busid")
		}
		visit(e, parent, host, bus)
		for _, child := range e.Children {
			down(child, e, host, bus)
		}
	}
	for _, cpu := range b.doc.Root.Children {
		down(cpu, b.doc.Root, b.host(cpu), 0)
	}
}

// first returns the GPU at an address, or the part of it that gpu is, if gpu is
// the first element of it that has a rank: links are listed under each rank of a
// GPU but exist once.
func (b *builder) first(gpu *Element, host int, bus BusID) *Node {
	id := devID(bus, gpu.Int("mlopart", -1))
	dev := b.node(NodeDEV, host, id)
	if dev == nil || !gpu.Has("rank") {
		return nil
	}
	for _, l := range dev.Links {
		if l.Type == LinkLOC && l.To.Type == NodeGPU && l.To.GPU.Rank == gpu.Int("rank", -1) && l.To.ID == id {
			return dev
		}
	}
	return nil
}

func (b *builder) nvlinks(e, parent *Element, host int, bus BusID) {
	if e.Name != ElemNVLink {
		return
	}
	dev := b.first(parent, host, bus)
	if dev == nil {
		return
	}
	if e.Int("count", 0) == 0 {
		b.note(e, "no NVLink to %v: count is 0", e.BusID("target"))
	}
	// The parts of a GPU share its links.
	parts := float32(len(b.parts(host, bus)))
	bw := float32(float32(e.Int("count", 0)) * nvLinkBW(dev.GPU.SM))
	switch classOf(e.Text("tclass")) {
	case classGPU:
		// The other GPU lists the link back.
		target := e.BusID("target")
		others := b.parts(host, target)
		for _, other := range others {
			connect(dev, other, LinkNVL, bw/float32(len(others))/parts)
			b.counts[ends{dev, other}] += e.Int("count", 0)
		}
		switch {
		case len(others) == 0:
			b.note(e, "NVLink to %v, which is no GPU here: ignored", target)
		case others[0].GPU.BusID == bus:
			b.note(e, "NVLink from %v to itself: not used", target)
		default:
			b.between = append(b.between, nvlink{e, ends{dev, others[0]}})
		}
	case classBridge:
		if cpu := localCPU(dev, nil); cpu != nil {
			connectBoth(dev, cpu, LinkNVL, bw/parts)
		}
	default:
		if classOf(e.Text("tclass")) != classNVSwitch {
			b.note(e, "NVLink to a device of class %q: taken for an NVSwitch", e.Text("tclass"))
		}
		// All NVSwitches are one node: they form one full-bandwidth fabric.
		if len(b.Nodes[NodeNVS]) == 0 {
			b.addNode(NodeNVS, 0, 0)
		}
		connectBoth(dev, b.Nodes[NodeNVS][0], LinkNVL, bw/parts)
	}
}

// ends are a GPU and another one that it lists NVLinks to.
type ends struct{ from, to *Node }

// nvlink is an element that lists NVLinks from one GPU to another.
type nvlink struct {
	e *Element
	ends
}

// noteOneWay notes the NVLinks between GPUs that only one lists, or of which each
// lists another number: no path uses a link without one back.
func (b *builder) noteOneWay() {
	said := map[ends]bool{}
	for _, l := range b.between {
		back := ends{l.to, l.from}
		there := b.counts[l.ends]
		listed, known := b.counts[back]
		switch {
		case !known:
			b.note(l.e, "NVLink to %v, which lists none back: not used", l.to.GPU.BusID)
		case listed != there && listed > 0 && there > 0 && !said[back] && !said[l.ends]:
			b.note(l.e, "%d NVLinks to %v, which lists %d back: each direction has its own bandwidth", there, l.to.GPU.BusID, listed)
			said[l.ends] = true
		}
	}
}

func (b *builder) c2c(e, parent *Element, host int, bus BusID) {
	if e.Name != ElemC2C {
		return
	}
	dev := b.first(parent, host, bus)
	if dev == nil {
		return
	}
	cpu := localCPU(dev, nil)
	if cpu == nil {
		return
	}
	if e.Int("bw", 0) == 0 || e.Int("count", 0) == 0 {
		b.note(e, "no C2C link: bw or count is 0")
	}
	// bw is MB/s.
	bw := float32(float64(e.Int("bw", 0)*e.Int("count", 0)) / 1000)
	if len(b.parts(host, bus)) == 1 {
		connectBoth(dev, cpu, LinkC2C, bw)
		return
	}
	// The parts of a GPU share the link to the CPU behind a node of its own.
	bridge := b.node(NodeCXB, host, uint64(bus))
	if bridge == nil {
		bridge = b.addNode(NodeCXB, host, uint64(bus))
		connectBoth(bridge, cpu, LinkC2C, bw)
	}
	connectBoth(dev, bridge, LinkC2C, bw)
}

func (b *builder) pcilinks(e, _ *Element, host int, bus BusID) {
	if e.Name != ElemPCILink {
		return
	}
	from := b.node(NodePCI, host, uint64(bus))
	to := b.node(NodePCI, host, uint64(e.BusID("target")))
	if from == nil || to == nil {
		b.note(e, "pcilink from %v to %v: not both are switches here, ignored", bus, e.BusID("target"))
		return
	}
	connect(from, to, LinkLOC, bwLOC)
}

// localCPU climbs the PCI tree from n.
func localCPU(n, from *Node) *Node {
	if n.Type == NodeCPU {
		return n
	}
	for _, l := range n.Links {
		if l.Type == LinkPCI && l.To != from && (l.To.Type == NodePCI || l.To.Type == NodeCPU) {
			if cpu := localCPU(l.To, n); cpu != nil {
				return cpu
			}
		}
	}
	return nil
}

// broadcomGen returns the PCIe generation of a Broadcom switch that shows
// itself as two levels though all its ports share one crossbar, 0 for others
// (getBcmGen, NCCL v2.30 src/graph/topo.cc). level is 0 for the upper one.
func broadcomGen(device uint64, level uint64) int {
	const mask = 0xfffffffffffff000
	switch {
	case device&mask == 0x1000c0101000a000:
		return 4
	case device&mask == 0x1000c03010000000|level*0x1000:
		return 5
	}
	return 0
}

// flattenSwitches merges the lower halves of Broadcom switches into the upper
// ones.
func (b *builder) flattenSwitches() {
	for i := 0; i < len(b.Nodes[NodePCI]); i++ {
		top := b.Nodes[NodePCI][i]
		gen := broadcomGen(top.PCI.Device, 0)
		if gen == 0 {
			continue
		}
		var subs []*Node
		top.Links = slices.DeleteFunc(top.Links, func(l Link) bool {
			if l.To.Type != NodePCI || broadcomGen(l.To.PCI.Device, 1) != gen {
				return false
			}
			subs = append(subs, l.To)
			return true
		})
		for _, sub := range subs {
			for _, l := range sub.Links {
				if l.To == top {
					continue
				}
				top.Links = append(top.Links, l)
				for j := range l.To.Links {
					if l.To.Links[j].To == sub {
						l.To.Links[j].To = top
						break
					}
				}
			}
			b.removeNode(sub)
		}
		// It is a plain switch from now on; start over, as positions changed.
		top.PCI.Device |= 0xffff
		i = -1
	}
}

// connectCPUs links all CPUs of a host with one another.
func (b *builder) connectCPUs() {
	for _, from := range b.Nodes[NodeCPU] {
		for _, to := range b.Nodes[NodeCPU] {
			if from != to && from.Host == to.Host {
				connect(from, to, LinkSYS, interCPUBW(from.CPU))
			}
		}
	}
}

// sortLinks moves each node's link up the PCI tree behind its others.
func sortLinks(n, up *Node) {
	if i := slices.IndexFunc(n.Links, func(l Link) bool { return up != nil && l.To == up }); i >= 0 {
		l := n.Links[i]
		n.Links = append(slices.Delete(n.Links, i, i+1), l)
	}
	for _, l := range n.Links {
		if l.Type == LinkPCI && l.To != up {
			sortLinks(l.To, n)
		}
	}
}
