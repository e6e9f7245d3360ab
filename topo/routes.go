package topo

// route is a [Path] as the search walks it.
type route struct {
	kind  PathType
	back  PathType // of the path the other way
	bw    float32
	links int    // of the path
	steps []step // those of its links that may run out of bandwidth
	// viaIntel says that it is between GPUs by way of an Intel CPU, which cuts
	// peer-to-peer traffic into small packets.
	viaIntel bool
	// plain says that each link carries what the channel does, and nothing
	// comes back.
	plain bool
}

// step is a link of a [route] and what its traffic takes of the link the other
// way: reads and acknowledgements.
type step struct {
	link, back int32
	pci        bool
	// eighth says that an eighth of the traffic comes back, full that all does.
	eighth, full bool
}

// routes are the paths of a system between what channels join.
type routes struct {
	gpus, nets int
	gpuGPU     []route // [from*gpus+to]
	gpuNET     []route // [gpu*nets+net]
	netGPU     []route // [net*gpus+gpu]
	gpuNVS     []route // [gpu], to the NVSwitch
	nvsGPU     []route // [gpu]
}

func newRoutes(s *System) *routes {
	gpus, nets := s.Nodes[NodeGPU], s.Nodes[NodeNET]
	r := &routes{gpus: len(gpus), nets: len(nets)}
	rev := reverseLinks(s)
	ample := ampleLinks(s)
	between := func(from, to []*Node) []route {
		all := make([]route, 0, len(from)*len(to))
		for _, a := range from {
			for _, b := range to {
				all = append(all, newRoute(a, b, rev, ample))
			}
		}
		return all
	}
	r.gpuGPU = between(gpus, gpus)
	r.gpuNET = between(gpus, nets)
	r.netGPU = between(nets, gpus)
	if nvs := s.Nodes[NodeNVS]; len(nvs) > 0 {
		r.gpuNVS = between(gpus, nvs[:1])
		r.nvsGPU = between(nvs[:1], gpus)
	}
	return r
}

// reverseLinks returns the position of the link back for each link.
func reverseLinks(s *System) []int32 {
	rev := make([]int32, s.numLinks)
	for _, nodes := range s.Nodes {
		for _, n := range nodes {
			for i := range n.Links {
				l := &n.Links[i]
				rev[l.seq] = -1
				if back := reverse(n, l); back != nil {
					rev[l.seq] = int32(back.seq)
				}
			}
		}
	}
	return rev
}

// ampleLinks returns which links never run out of bandwidth: those between a
// GPU and the only rank on it. What they carry, each time, comes in or goes out
// by another link of the GPU as well, so if these have less together, with a
// margin for what comes back, that is where it ends.
func ampleLinks(s *System) []bool {
	ample := make([]bool, s.numLinks)
	for _, dev := range s.Nodes[NodeDEV] {
		if dev.GPU.Ranks != 1 {
			continue
		}
		const margin = 2
		in, out, rank := float32(0), float32(0), (*Link)(nil)
		for i := range dev.Links {
			l := &dev.Links[i]
			back := reverse(dev, l)
			switch {
			case back == nil:
			case l.To.Type == NodeGPU:
				rank = l
			default:
				in += back.BW
				out += l.BW
			}
		}
		if rank != nil && margin*max(in, out) < rank.BW {
			ample[rank.seq] = true
			ample[reverse(dev, rank).seq] = true
		}
	}
	return ample
}

func newRoute(from, to *Node, rev []int32, ample []bool) route {
	p := from.Path(to)
	r := route{kind: p.Type, back: to.Path(from).Type, bw: p.BW, links: len(p.Links), plain: true, steps: make([]step, 0, len(p.Links))}
	for _, l := range p.Links {
		cpu := l.To.CPU
		if cpu != nil && p.Type == PathPHB && from.Type == NodeGPU && cpu.Vendor == VendorIntel {
			r.viaIntel = true
		}
		if ample[l.seq] {
			continue
		}
		st := step{
			link: int32(l.seq),
			back: rev[l.seq],
			pci:  l.Type == LinkPCI,
			// GPUs before Ampere read what others write to them, and POWER's
			// NVLinks acknowledge in full (followPath, NCCL v2.30
			// src/graph/search.cc).
			eighth: l.To.Type == NodeDEV && l.To.GPU.SM < 80 && from.Type != NodeGPU,
			full:   cpu != nil && cpu.Arch == ArchPOWER && l.Type == LinkNVL,
		}
		if st.back < 0 {
			st.eighth, st.full = false, false
		}
		r.plain = r.plain && !st.eighth && !st.full
		r.steps = append(r.steps, st)
	}
	r.plain = r.plain && !r.viaIntel
	return r
}
