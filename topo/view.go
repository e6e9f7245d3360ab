package topo

import "github.com/ncclgo/ncclgo/internal/result"

// View returns the system as a rank of a communicator sees it (ncclTopoComputePaths
// and ncclTopoTrimSystem, NCCL v2.30 src/graph/paths.cc): the paths between GPUs
// that do not access each other's memory, and between GPUs and network cards
// that do not, lead through a CPU; those to cards of other GPUs through the GPU;
// and GPUs that are better reached by network are not part of it. Fewer ranks than s
// has, and a rank that it lacks, are invalid arguments.
func (s *System) View(p Params) (*System, error) { return s.view(p, nil) }

// view is View. The views of all ranks part the ranks in the same way: parts, if not
// nil, is what another rank's view found.
func (s *System) view(p Params, parts []int) (*System, error) {
	if p.NRanks == 0 {
		p.NRanks = s.NRanks()
	}
	if p.NRanks < s.NRanks() {
		return nil, result.New(result.InvalidArgument, "topology", "%d ranks; %s alone has %d", p.NRanks, s.Name, s.NRanks())
	}
	if p.Rank < 0 || p.Rank >= s.NRanks() {
		return nil, result.New(result.InvalidArgument, "topology", "the view of rank %d; %s has the ranks 0 to %d", p.Rank, s.Name, s.NRanks()-1)
	}
	b, err := build(s.doc)
	if err != nil {
		return nil, err
	}
	v := b.System
	v.Params = p
	for _, net := range v.Nodes[NodeNET] {
		net.Net.Coll = net.Net.Coll || p.CollNet && !net.Net.noColl
	}
	if v.parts = parts; parts == nil {
		v.setPaths()
		v.parts = v.part()
	}
	if v.trim() || parts != nil {
		v.setPaths()
	}
	v.Inter = len(v.Nodes[NodeGPU]) != p.NRanks
	v.setBandwidth()
	return v, nil
}

// setPaths computes the paths of a view.
func (s *System) setPaths() {
	s.findPaths(s.Params.NoNVB)
	for _, to := range s.Nodes[NodeGPU] {
		s.divertGPUs(to)
	}
	for _, gpu := range s.Nodes[NodeGPU] {
		s.preferC2C(gpu)
	}
	local := newLocality(s)
	for _, net := range s.Nodes[NodeNET] {
		local.divert(net)
	}
	for _, net := range s.Nodes[NodeNET] {
		net.Net.LocalGPU = -1
		if gpu := local.gpu(net); gpu != nil {
			net.Net.LocalGPU = gpu.Index
		}
	}
}

// divertGPUs sends traffic to a GPU that others may not access through the CPU
// next to it, and marks those that do not exchange with it but by network.
func (s *System) divertGPUs(to *Node) {
	cpu := s.localCPU(to)
	for _, from := range s.Nodes[NodeGPU] {
		if !s.directP2P(from, to) {
			join(from, cpu, to)
		}
	}
	for _, from := range s.Nodes[NodeGPU] {
		if from != to && !s.canExchange(from, to) {
			from.Path(to).Type = PathNET
		}
	}
}

// preferC2C makes a path between a GPU and the cards nearest to it one through
// C2C if both are linked to a CPU that way.
func (s *System) preferC2C(gpu *Node) {
	cpu := s.localCPU(gpu)
	if cpu == nil {
		return
	}
	for _, i := range gpu.nearest(NodeNET) {
		net := s.Nodes[NodeNET][i]
		if joinType(gpu.Path(cpu).Type, net.Path(cpu).Type) == PathP2C {
			there, back := gpu.Path(net), net.Path(gpu)
			there.Type = min(PathP2C, there.Type)
			back.Type = min(PathP2C, back.Type)
		}
	}
}

// divert sends traffic to a network port through the GPU next to it, if that is
// better than the direct path, and traffic to and from GPUs whose memory the port
// may not access through the CPU next to the GPU. Which GPU is next to the port
// depends on the paths, so it is asked for anew after each change.
func (c *locality) divert(net *Node) {
	for _, gpu := range c.Nodes[NodeGPU] {
		if !c.Params.NoPXN {
			if near := c.gpu(net); near != nil && near != gpu && c.proxyPays(gpu, near, net) {
				join(gpu, near, net)
				c.changed(gpu, net)
			}
		}
		if gpu.Path(net).Type < PathPHB && !c.gdr(gpu, net, false) {
			cpu := c.localCPU(gpu)
			join(net, cpu, gpu)
			join(gpu, cpu, net)
			c.changed(gpu, net)
		}
	}
}

// proxyPays reports whether a GPU had better send to a network port through
// another GPU, which is near it. Only sends: a rank receives at its own port.
func (s *System) proxyPays(gpu, near, net *Node) bool {
	worst := PathP2C
	if s.Params.NoPXNC2C {
		worst = PathPXB
	}
	own, through := gpu.Path(net), near.Path(net)
	return through.Type <= worst && s.gdr(near, net, true) &&
		near.Path(gpu).Type <= PathNVL && near.Host == gpu.Host &&
		(through.BW > own.BW || own.Type > PathPXN)
}

// join makes the path from one node to another the one through a third.
func join(from, via, to *Node) {
	first, second, path := from.Path(via), via.Path(to), from.Path(to)
	links := make([]*Link, 0, len(first.Links)+len(second.Links))
	t := joinType(first.Type, second.Type)
	if via.Type == NodeGPU {
		t = PathPXN
	}
	*path = Path{Type: t, BW: min(first.BW, second.BW), Links: append(append(links, first.Links...), second.Links...)}
}

// joinType is the type of two paths one after the other.
func joinType(a, b PathType) PathType {
	if max(a, b) == PathPHB && min(a, b) == PathC2C {
		return PathP2C
	}
	return max(a, b)
}

// part returns for each rank the part it belongs to: ranks of different ones exchange
// by network alone.
func (s *System) part() []int {
	gpus := s.Nodes[NodeGPU]
	domains := make([]int, len(gpus))
	parts := make([]int, len(gpus))
	for i, gpu := range gpus {
		domains[i] = i
		for j := range i {
			if gpu.paths[NodeGPU][j].Type < PathNET {
				domains[i] = min(domains[i], domains[j])
			}
		}
		parts[gpu.GPU.Rank] = domains[i]
	}
	return parts
}

// trim removes the GPUs of other parts than that of the view's rank, and reports
// whether there were any.
func (s *System) trim() bool {
	gpus := s.Nodes[NodeGPU]
	own := s.parts[s.Params.Rank]
	kept := gpus[:0:0]
	for _, gpu := range gpus {
		if s.parts[gpu.GPU.Rank] == own {
			kept = append(kept, gpu)
			continue
		}
		gpu.GPU.DEV.unlink(gpu)
		s.byRank[gpu.GPU.Rank] = nil
	}
	if len(kept) == len(gpus) {
		return false
	}
	s.Nodes[NodeGPU] = kept
	s.number()
	return true
}

// setBandwidth sets what the search begins with (ncclTopoSearchInit, NCCL v2.30
// src/graph/search.cc).
func (s *System) setBandwidth() {
	if !s.Inter && len(s.Nodes[NodeGPU]) == 1 {
		s.MaxBW, s.TotalBW = bwLOC, bwLOC
		return
	}
	to := NodeDEV
	if s.Inter {
		to = NodeNET
	}
	for _, dev := range s.Nodes[NodeDEV] {
		for i := range dev.paths[to] {
			if p := &dev.paths[to][i]; len(p.Links) > 0 {
				s.MaxBW = max(s.MaxBW, p.BW)
			}
		}
		nvlinks, pci := float32(0), float32(0)
		for _, l := range dev.Links {
			switch l.Type {
			case LinkNVL:
				nvlinks += l.BW
			case LinkPCI:
				pci = l.BW
			}
		}
		s.TotalBW = max(s.TotalBW, pci, nvlinks)
	}
}
