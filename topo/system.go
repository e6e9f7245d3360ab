package topo

import "slices"

// System is a machine, or several that one file describes, as a graph.
type System struct {
	Name string
	// Nodes holds the nodes of each type in the order of the file.
	Nodes [NumNodeTypes][]*Node
	// Hosts are the hashes of the hosts, in order of appearance.
	Hosts []uint64
	// Notes are what was odd in the file, or assumed.
	Notes []Note

	// Of a [System.View], what follows; of NewSystem, zero.

	// Params are the settings of the view.
	Params Params
	// Inter says that the communicator has ranks that the view has no GPU for:
	// they are reached through network cards.
	Inter bool
	// MaxBW is the most a path from a GPU carries, to a network card if Inter,
	// to another GPU otherwise, GB/s.
	MaxBW float32
	// TotalBW is the most that the NVLinks, or else the PCI link, of a GPU carry
	// together, GB/s.
	TotalBW float32

	byRank   []*Node // the GPU nodes by rank; nil of ranks that are not in a view
	parts    []int   // of a view: the part that each rank belongs to, see part
	numNodes int
	numLinks int
	doc      *Document
}

// Node is a node of a [System].
type Node struct {
	Type  NodeType
	Index int    // position in System.Nodes[Type]
	Host  int    // index into System.Hosts
	ID    uint64 // unique in its host and type: PCI address, NUMA node, net dev

	// Links leave this node: NVLinks and other fast ones first, PCI links down
	// before the one up, as NCCL orders them.
	Links []Link

	GPU *GPU // of NodeGPU and NodeDEV
	CPU *CPU // of NodeCPU
	PCI *PCI // of NodePCI
	Net *Net // of NodeNET

	paths [NumNodeTypes][]Path // to the nodes of each type; see hasPaths
	seq   int                  // position among all nodes
}

// Link is one direction of a connection between two nodes.
type Link struct {
	Type LinkType
	BW   float32 // GB/s
	To   *Node

	seq int // position among all links
}

// GPU is what is known of a GPU, which is a DEV node, and of each rank on it,
// which is a GPU node.
type GPU struct {
	Dev   int // device number in its host
	SM    int // compute capability times 10
	BusID BusID
	Part  int   // which part of a GPU that is split for memory locality, -1: it is whole
	Rank  int   // of a GPU node
	GDR   bool  // network cards may access its memory, of a GPU node
	DEV   *Node // the GPU that the rank is on, of a GPU node
	Ranks int   // how many ranks are on it, of a DEV node
}

// CPU is what is known of a NUMA node.
type CPU struct {
	NUMAID   int
	Arch     Arch
	Vendor   Vendor
	Family   int
	Model    int
	Affinity string // mask of its cores, as in the file
}

// Arch is the architecture of a CPU.
type Arch uint8

const (
	ArchOther Arch = iota
	ArchX86
	ArchARM
	ArchPOWER
	// ArchMixed stands for CPUs of several architectures, of a [Hardware].
	ArchMixed
)

// Vendor is the maker of an x86 CPU.
type Vendor uint8

const (
	VendorOther Vendor = iota
	VendorIntel
	VendorAMD
	VendorZhaoxin
	// VendorMixed stands for CPUs of several makers, of a [Hardware].
	VendorMixed
)

// PCI is what is known of a PCIe switch.
type PCI struct {
	// Device is vendor, device, subsystem vendor and subsystem device, 16 bits
	// each.
	Device uint64
}

// Net is what is known of a network port.
type Net struct {
	Name    string
	Dev     int
	GUID    uint64
	Card    uint64 // PCI address of the card, 0 if it has none
	Port    int
	BW      float32 // GB/s
	Latency float32 // µs
	GDR     bool
	Coll    bool // supports CollNet
	MaxConn int
	Rail    int // -1 if not known
	Plane   int // -1 if not known
	// LocalGPU is the index of the GPU that the port is the local one of, -1 if
	// there is none, in a [System.View].
	LocalGPU int

	noColl bool // the file says that the port does not support CollNet
}

// NRanks returns how many ranks the file has a GPU for. Not all need be in a
// [System.View].
func (s *System) NRanks() int { return len(s.byRank) }

// RankGPU returns the GPU node of rank, 0 <= rank < NRanks; nil if the rank is
// not in the view.
func (s *System) RankGPU(rank int) *Node { return s.byRank[rank] }

// Label names a node in a few words, as String does.
func (s *System) Label(n *Node) string { return s.describe(n) }

// Document returns the topology file of the system, as NCCL would write it: fused,
// and with its ranks.
func (s *System) Document() *Document { return s.doc.Fused() }

// Path returns the path from the GPU of one rank to that of another.
func (s *System) Path(from, to int) *Path {
	return s.byRank[from].Path(s.byRank[to])
}

// number gives nodes and links their positions.
func (s *System) number() {
	s.numNodes, s.numLinks = 0, 0
	for _, nodes := range s.Nodes {
		for i, n := range nodes {
			n.Index = i
			n.seq = s.numNodes
			s.numNodes++
			for l := range n.Links {
				n.Links[l].seq = s.numLinks
				s.numLinks++
			}
		}
	}
}

// removeNode takes a node that nothing links to out of the system.
func (s *System) removeNode(n *Node) {
	nodes := s.Nodes[n.Type]
	s.Nodes[n.Type] = append(nodes[:n.Index], nodes[n.Index+1:]...)
	for i, m := range s.Nodes[n.Type] {
		m.Index = i
	}
}

// unlink removes the links from n to another node.
func (n *Node) unlink(to *Node) {
	n.Links = slices.DeleteFunc(n.Links, func(l Link) bool { return l.To == to })
}

// connect adds bandwidth to the link of type t from a to b, making it if there
// is none. Links stay in order of falling bandwidth, older first among equals.
func connect(a, b *Node, t LinkType, bw float32) {
	at := len(a.Links)
	for i := range a.Links {
		if a.Links[i].To == b && a.Links[i].Type == t {
			at = i
			break
		}
	}
	if at == len(a.Links) {
		a.Links = append(a.Links, Link{Type: t, To: b})
	}
	a.Links[at].BW += bw
	for ; at > 0 && a.Links[at-1].BW < a.Links[at].BW; at-- {
		a.Links[at-1], a.Links[at] = a.Links[at], a.Links[at-1]
	}
}

func connectBoth(a, b *Node, t LinkType, bw float32) {
	connect(a, b, t, bw)
	connect(b, a, t, bw)
}
