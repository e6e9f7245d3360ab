package topo

// Hardware is what predictions of time need to know of a node beside its graphs,
// and, of a [Layout], what they need to know of all nodes.
type Hardware struct {
	// Arch and Vendor are those of the node's first CPU; ArchMixed and VendorMixed
	// where nodes differ.
	Arch   Arch
	Vendor Vendor
	// NVSwitch says that the node has NVSwitches.
	NVSwitch bool
	// PeerBW is the least bandwidth between two GPUs over NVLink alone, without
	// going through another GPU, GB/s. It is 0 if two of them have no such path, or
	// if there is one GPU only. Below an NVSwitch all peers share it, otherwise each
	// peer has as much.
	PeerBW float32
	// AllNVLink says that GPUs reach one another without PCIe, perhaps through
	// another GPU or through a CPU.
	AllNVLink bool
}

// hardware returns that of the node that a view is of (ncclTopoCpuType and
// ncclTopoGetNvsCount, NCCL v2.30 src/graph/topo.cc).
func (s *System) hardware() Hardware {
	cpu := s.Nodes[NodeCPU][0].CPU
	h := Hardware{Arch: cpu.Arch, Vendor: cpu.Vendor, NVSwitch: len(s.Nodes[NodeNVS]) > 0, AllNVLink: s.allNVLink()}
	gpus := s.Nodes[NodeGPU]
	for i, from := range gpus {
		for j, to := range gpus {
			if i == j {
				continue
			}
			p := from.Path(to)
			if p.Type > PathNVL {
				h.PeerBW = 0
				return h
			}
			if h.PeerBW == 0 || p.BW < h.PeerBW {
				h.PeerBW = p.BW
			}
		}
	}
	return h
}

// allNVLink reports whether no path between GPUs goes over PCIe
// (ncclTopoPathAllNVLink, NCCL v2.30 src/graph/paths.cc).
func (s *System) allNVLink() bool {
	for _, from := range s.Nodes[NodeGPU] {
		for _, to := range s.Nodes[NodeGPU] {
			if from.Path(to).Type >= PathPIX {
				return false
			}
		}
	}
	return true
}

// limit brings h down to what o has.
func (h *Hardware) limit(o *Hardware) {
	if h.Arch != o.Arch {
		h.Arch = ArchMixed
	}
	if h.Vendor != o.Vendor {
		h.Vendor = VendorMixed
	}
	h.NVSwitch = h.NVSwitch && o.NVSwitch
	h.PeerBW = min(h.PeerBW, o.PeerBW)
	h.AllNVLink = h.AllNVLink && o.AllNVLink
}

// Hardware returns what all nodes have.
func (l *Layout) Hardware() Hardware { return l.hardware }

// Agreed are the figures that all nodes agreed on of a graph. Of one that some node
// lacks the channels are 0.
type Agreed struct {
	Channels int
	// BWIntra is what a channel carries between GPUs, BWInter what it carries
	// between a GPU and a network card, GB/s.
	BWIntra, BWInter float32
	// LatencyInter is that of the slowest network card, µs.
	LatencyInter float32
	// TypeIntra and TypeInter are the worst paths between neighbours, and between a
	// GPU and its network card.
	TypeIntra, TypeInter PathType
	SameChannels         bool
}

// Agreed returns the figures of a graph.
func (l *Layout) Agreed(id GraphID) Agreed {
	g := l.merged[id]
	return Agreed{
		Channels: l.counts[id], BWIntra: g.BWIntra, BWInter: g.BWInter, LatencyInter: g.LatencyInter,
		TypeIntra: g.TypeIntra, TypeInter: g.TypeInter, SameChannels: g.SameChannels,
	}
}

// SMs returns the lowest and the highest compute capability of any rank's GPU,
// times 10.
func (l *Layout) SMs() (least, most int) {
	ring := l.merged[GraphRing]
	return ring.MinSM, ring.MaxSM
}

// RanksPerGPU returns the largest number of ranks that share a GPU.
func (l *Layout) RanksPerGPU() int { return l.merged[GraphRing].RanksPerGPU }
