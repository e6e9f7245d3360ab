package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NewSystem makes the graph of a topology file, fused as [Document.Fused] says.
// Nodes and links are created in the order in which NCCL creates them (NCCL
// v2.30 src/graph/topo.cc), since the search prefers earlier ones. Its paths are
// those of the links; what settings make of them is [System.View].
func NewSystem(doc *Document) (*System, error) {
	b, err := build(doc)
	if err != nil {
		return nil, err
	}
	b.findPaths(false)
	return b.System, nil
}

// build makes the nodes and links of a topology file.
func build(doc *Document) (*builder, error) {
	if err := doc.checkUnique(); err != nil {
		return nil, err
	}
	if err := doc.checkSize(); err != nil {
		return nil, err
	}
	b := &builder{
		System: &System{Name: doc.Name, Notes: slices.Clone(doc.Notes), doc: doc},
		doc:    doc.Fused(),
		ranks:  map[int]*Element{},
		nodes:  map[nodeKey]*Node{},
		counts: map[ends]int{},
	}
	for _, e := range b.doc.Root.Children {
		if err := b.cpu(e); err != nil {
			return nil, err
		}
	}
	b.walk(b.nvlinks)
	b.noteOneWay()
	b.walk(b.c2c)
	b.walk(b.pcilinks)
	b.flattenSwitches()
	b.connectCPUs()
	for _, cpu := range b.Nodes[NodeCPU] {
		sortLinks(cpu, nil)
	}
	if err := b.orderRanks(); err != nil {
		return nil, err
	}
	return b, nil
}

// builder is a System under construction.
type builder struct {
	*System
	doc   *Document
	ranks map[int]*Element // the gpu element of each rank
	nodes map[nodeKey]*Node
	// between are the elements that list NVLinks between GPUs, counts how many links
	// these have in one direction. Both GPUs must list them.
	between []nvlink
	counts  map[ends]int
}

// nodeKey is what makes a node unique.
type nodeKey struct {
	t    NodeType
	host int
	id   uint64
}

// node returns the node of that type, host and ID, or nil.
func (b *builder) node(t NodeType, host int, id uint64) *Node {
	return b.nodes[nodeKey{t, host, id}]
}

func (b *builder) addNode(t NodeType, host int, id uint64) *Node {
	n := &Node{Type: t, Index: len(b.Nodes[t]), Host: host, ID: id}
	b.Nodes[t] = append(b.Nodes[t], n)
	b.nodes[nodeKey{t, host, id}] = n
	return n
}

func (b *builder) note(e *Element, format string, args ...any) {
	b.Notes = append(b.Notes, Note{e.Line, e.Column, printable(fmt.Sprintf(format, args...))})
}

// host returns the index of the host of a cpu element. A file without hashes
// is one host.
func (b *builder) host(cpu *Element) int {
	hash := cpu.Hex("host_hash")
	if i := slices.Index(b.Hosts, hash); i >= 0 {
		return i
	}
	b.Hosts = append(b.Hosts, hash)
	return len(b.Hosts) - 1
}

// Names of CPU architectures and makers in files, or what these begin with
// (kvDictCpuArch and kvDictCpuVendor, NCCL v2.30 src/graph/topo.cc; the last two are
// Zhaoxin's CPUID strings).
var (
	archNames   = map[string]Arch{"x86_64": ArchX86, "arm64": ArchARM, "ppc64": ArchPOWER}
	vendorNames = map[string]Vendor{
		"GenuineIntel": VendorIntel, "AuthenticAMD": VendorAMD,
		"CentaurHauls": VendorZhaoxin, "  Shanghai  ": VendorZhaoxin,
	}
)

// named returns what is known by a name that text begins with, none of which begins
// another; 0 if there is none.
func named[T ~uint8](names map[string]T, text string) T {
	for name, v := range names {
		if strings.HasPrefix(text, name) {
			return v
		}
	}
	return 0
}

func (b *builder) cpu(e *Element) error {
	c := &CPU{
		NUMAID:   e.Int("numaid", 0),
		Affinity: e.Text("affinity"),
		Arch:     named(archNames, e.Text("arch")),
		Family:   e.Int("familyid", 0),
		Model:    e.Int("modelid", 0),
	}
	if c.Arch == ArchOther {
		b.note(e, "unknown CPU architecture %q: links between CPUs not limited", e.Text("arch"))
	}
	if c.Arch == ArchX86 {
		if !e.Has("vendor") {
			return b.doc.errorAt(e, "text is required where arch is x86_64", "<cpu> has no attribute vendor")
		}
		c.Vendor = named(vendorNames, e.Text("vendor"))
		if c.Vendor == VendorOther {
			b.note(e, "unknown CPU vendor %q: links between CPUs not limited", e.Text("vendor"))
		}
	}
	if c.Vendor == VendorIntel || c.Vendor == VendorZhaoxin {
		for _, name := range []string{"familyid", "modelid"} {
			if !e.Has(name) {
				return b.doc.errorAt(e, "a number is required where the vendor is "+e.Text("vendor"),
					"<cpu> has no attribute %s", name)
			}
		}
	}
	if len(b.Nodes[NodeCPU]) == maxCPUs {
		return b.doc.errorAt(e, fmt.Sprintf("%d are allowed", maxCPUs), "too many CPUs")
	}
	host := b.host(e)
	// A NUMA node is not always known: -1 then, which is an ID like any other.
	n := b.addNode(NodeCPU, host, uint64(int64(c.NUMAID)))
	n.CPU = c
	for _, child := range e.Children {
		if child.Name == ElemPCI {
			if err := b.pci(child, n); err != nil {
				return err
			}
			continue
		}
		// A network card that is on no PCI bus: its link to the CPU does not
		// limit it. NCCL has one such node a host, at the first CPU.
		nic := b.node(NodeNIC, host, 0)
		if nic == nil {
			nic = b.addNode(NodeNIC, host, 0)
			connectBoth(n, nic, LinkPCI, bwLOC)
		}
		b.nic(child, nic)
	}
	return nil
}

// deviceClass is what a PCI class in a file stands for.
type deviceClass uint8

const (
	classSwitch deviceClass = iota // and everything not listed
	classNVSwitch
	classBridge // POWER's NVLink bridge: the target is the CPU
	classGPU
	classNIC
)

// classOf is kvDictPciClass of NCCL v2.30 src/graph/topo.cc: prefixes, first
// match.
func classOf(class string) deviceClass {
	switch {
	case strings.HasPrefix(class, "0x068000"):
		return classNVSwitch
	case strings.HasPrefix(class, "0x068001"):
		return classBridge
	case strings.HasPrefix(class, "0x03"):
		return classGPU
	case strings.HasPrefix(class, "0x02"):
		return classNIC
	default:
		return classSwitch
	}
}

// pci adds a PCI device and what is below it.
func (b *builder) pci(e *Element, parent *Node) error {
	bw, known := pciBW(e.Text("link_speed"), e.Int("link_width", 0))
	// Where no file says so, whoever made the element has said what is assumed.
	if !known && e.Line > 0 {
		b.note(e, "unknown link_speed %q: %d Gbit/s a lane assumed", e.Text("link_speed"), pciSpeedUnknown/10)
	}
	bus := e.BusID("busid")
	var nic *Element
	for _, child := range e.Children {
		switch child.Name {
		case ElemGPU:
			// A GPU without a rank takes no part, and NCCL looks no further.
			if !child.Has("rank") {
				return nil
			}
			if err := b.gpu(child, parent, bus, bw); err != nil {
				return err
			}
		case ElemNIC:
			nic = cmp.Or(nic, child)
		}
	}
	if nic != nil {
		// Ports of one card, listed apart, are one node.
		n := b.node(NodeNIC, parent.Host, uint64(bus))
		if n == nil {
			n = b.addNode(NodeNIC, parent.Host, uint64(bus))
			defer connectBoth(n, parent, LinkPCI, bw)
		}
		b.nic(nic, n)
		return nil
	}
	if classOf(e.Text("class")) != classSwitch {
		return nil
	}
	n := b.addNode(NodePCI, parent.Host, uint64(bus))
	n.PCI = &PCI{Device: e.deviceID()}
	for _, child := range e.Children {
		if child.Name == ElemPCI {
			if err := b.pci(child, n); err != nil {
				return err
			}
		}
	}
	connectBoth(n, parent, LinkPCI, bw)
	return nil
}

// deviceID puts what a pci element says of its device into one number, 16 bits
// each. Numbers without 0x are decimal to NCCL (ncclTopoGetIntDevice, NCCL v2.30
// src/graph/topo.cc).
func (e *Element) deviceID() uint64 {
	var id uint64
	for _, name := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		n, err := strconv.ParseUint(e.Text(name), 0, 16)
		if err != nil {
			n = 0
		}
		id = id<<16 | n
	}
	return id
}

// gpu adds a rank and, if it is the first on its GPU, the GPU. A GPU that is
// split in parts for the locality of its memory is one for each part.
func (b *builder) gpu(e *Element, parent *Node, bus BusID, bw float32) error {
	g := GPU{
		Dev:   e.Int("dev", 0),
		SM:    e.Int("sm", 0),
		BusID: bus,
		Part:  e.Int("mlopart", -1),
		Rank:  e.Int("rank", 0),
		GDR:   e.Int("gdr", 0) != 0,
	}
	if other := b.ranks[g.Rank]; other != nil {
		return b.doc.errorAt(e, "a rank has one GPU", "rank %d again; it is at line %d", g.Rank, other.Line)
	}
	b.ranks[g.Rank] = e
	dev := b.node(NodeDEV, parent.Host, devID(bus, g.Part))
	if dev == nil {
		for _, n := range b.Nodes[NodeDEV] {
			if n.Host == parent.Host && n.GPU.Dev == g.Dev && n.GPU.BusID != bus {
				return b.doc.errorAt(e, "GPUs of a host have different dev", "dev %d is also %v", g.Dev, n.GPU.BusID)
			}
		}
		parts := b.parts(parent.Host, bus)
		dev = b.addNode(NodeDEV, parent.Host, devID(bus, g.Part))
		dev.GPU = &GPU{Dev: g.Dev, SM: g.SM, BusID: bus, Part: g.Part, Rank: -1}
		connectBoth(dev, parent, LinkPCI, bw)
		for _, other := range parts {
			connectBoth(dev, other, LinkLOC, bwParts)
		}
	} else if dev.GPU.Dev != g.Dev || dev.GPU.SM != g.SM || !linked(dev, parent) {
		return b.doc.errorAt(e, "an address has one GPU, and ranks on it agree in place, dev and sm",
			"dev %d of sm %d at %v, where dev %d of sm %d is", g.Dev, g.SM, bus, dev.GPU.Dev, dev.GPU.SM)
	}
	// Ranks on one GPU differ above bit 40, as in NCCL.
	n := b.addNode(NodeGPU, parent.Host, uint64(dev.GPU.Ranks)<<40|dev.ID)
	g.DEV = dev
	n.GPU = &g
	connectBoth(dev, n, LinkLOC, bwLOC)
	dev.GPU.Ranks++
	return nil
}

// maxParts is the most parts of a GPU (NCCL_TOPO_MLOPART_DEV_MAX, NCCL v2.30
// src/graph/topo.h).
const maxParts = 2

// devID is the ID of a GPU at an address, or of a part of it, which differs in
// the lowest bits, as in NCCL (NCCL_TOPO_MLOPART).
func devID(bus BusID, part int) uint64 {
	if part < 0 {
		return uint64(bus)
	}
	return uint64(bus) | uint64(part)<<1 | 1
}

// parts returns the GPU at an address, all parts of it if it is split.
func (b *builder) parts(host int, bus BusID) []*Node {
	var all []*Node
	for part := -1; part < maxParts; part++ {
		if dev := b.node(NodeDEV, host, devID(bus, part)); dev != nil && dev.GPU.BusID == bus {
			all = append(all, dev)
		}
	}
	slices.SortFunc(all, func(a, b *Node) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

func linked(a, b *Node) bool {
	return slices.ContainsFunc(a.Links, func(l Link) bool { return l.To == b })
}

// nic adds the ports of a network card.
func (b *builder) nic(e *Element, nic *Node) {
	for _, child := range e.Children {
		// Without a device number a port was trimmed; net="0" is one that only
		// serves device-initiated traffic.
		if !child.Has("dev") || child.Int("net", 1) == 0 {
			continue
		}
		dev := child.Int("dev", 0)
		if child.Int("speed", 0) <= 0 {
			b.note(child, "speed of <net> not known: %d Mbit/s assumed", netSpeedUnknown)
		}
		guid := child.Hex("guid")
		if !child.Has("guid") {
			// Something unique to the port, as in NCCL: host and number.
			guid = uint64(nic.Host)<<56 + uint64(dev)
		}
		net := &Net{
			Name:    child.Text("name"),
			Dev:     dev,
			GUID:    guid,
			Card:    nic.ID,
			Port:    child.Int("port", 0),
			BW:      netBW(child.Int("speed", 0)),
			Latency: child.Float("latency"),
			GDR:     child.Int("gdr", 0) != 0,
			Coll:    child.Int("coll", 0) != 0,
			noColl:  child.Int("coll", 1) == 0,
			MaxConn: child.Int("maxconn", 64),
			Rail:    child.Int("rail", -1),
			Plane:   child.Int("plane", -1),
		}
		n := b.addNode(NodeNET, nic.Host, uint64(dev))
		n.Net = net
		connectBoth(nic, n, LinkNET, net.BW)
	}
}

// orderRanks checks that ranks are 0 to n-1.
func (b *builder) orderRanks() error {
	gpus := b.Nodes[NodeGPU]
	if len(gpus) == 0 {
		return b.doc.errorAt(b.doc.Root, "a <gpu> with the attributes dev, sm and rank is required", "no GPU has a rank")
	}
	b.byRank = make([]*Node, len(gpus))
	for _, n := range gpus {
		if n.GPU.Rank >= len(gpus) {
			return b.doc.errorAt(b.ranks[n.GPU.Rank], fmt.Sprintf("0 to %d, each once, are allowed", len(gpus)-1),
				"rank %d among %d GPUs", n.GPU.Rank, len(gpus))
		}
		b.byRank[n.GPU.Rank] = n
	}
	b.number()
	return nil
}
