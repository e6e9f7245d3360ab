package topo

import "slices"

// directP2P reports whether the GPU of one rank may access the memory of
// another's: whether the path is near enough (ncclTopoCheckP2p, NCCL v2.30
// src/graph/paths.cc).
func (s *System) directP2P(a, b *Node) bool {
	level := PathPXB
	if s.Nodes[NodeCPU][0].CPU.Vendor == VendorAMD && len(s.Nodes[NodeDEV]) <= 2 {
		level = PathSYS
	}
	if s.Params.P2PLevel != nil {
		level = *s.Params.P2PLevel
	}
	return a.Path(b).Type <= level
}

// relayLinks is the length of a path from rank to rank through a third GPU.
const relayLinks = 4

// relayed reports whether a path between ranks goes through a third GPU.
func relayed(p *Path) bool {
	return len(p.Links) == relayLinks && p.Links[1].To.Type == NodeDEV
}

// canExchange reports whether two ranks exchange through each other's memory or
// that of their host, rather than by network (p2pCanConnect and shmCanConnect,
// NCCL v2.30 src/transport).
func (s *System) canExchange(a, b *Node) bool {
	if s.directP2P(a, b) && (relayed(a.Path(b)) || !s.netIsFaster(a, b)) {
		return true
	}
	return !s.Params.NoSHM && a.Host == b.Host && !s.netIsFaster(a, b)
}

// netIsFaster reports whether both GPUs reach the network, through PCIe switches
// alone, with more bandwidth than each other (ncclTopoCheckNet, NCCL v2.30
// src/graph/paths.cc).
func (s *System) netIsFaster(a, b *Node) bool {
	if s.Params.NoIntraNet {
		return false
	}
	speed := a.Path(b).BW
	return netSpeed(a) > speed && netSpeed(b) > speed
}

// netSpeed returns the most bandwidth with which a GPU reaches a network port
// through PCIe switches alone.
func netSpeed(gpu *Node) float32 {
	most := float32(0)
	for i := range gpu.paths[NodeNET] {
		if p := &gpu.paths[NodeNET][i]; p.Type <= PathPXB {
			most = max(most, p.BW)
		}
	}
	return most
}

// gdr reports whether a network port may access the memory of a GPU, for reads
// or for writes (ncclTopoCheckGdr, NCCL v2.30 src/graph/paths.cc).
func (s *System) gdr(gpu, net *Node, read bool) bool {
	if !net.Net.GDR || !gpu.GPU.GDR {
		return false
	}
	if gpu.GPU.Part >= 0 && !s.Params.GDRPartitions {
		return false
	}
	if read && !s.gdrReads(gpu) {
		return false
	}
	level := PathP2C
	if s.Params.NoGDRC2C {
		level = PathPXB
	}
	if s.Params.GDRLevel != nil {
		level = *s.Params.GDRLevel
	}
	distance := gpu.Path(net).Type
	if distance == PathPXN {
		distance = s.proxy(gpu, net).Path(net).Type
	}
	return distance <= level
}

// gdrReads reports whether reads of a GPU's memory by network cards pay. Before
// Ampere they are slow, which matters unless its PCI link is free of other
// traffic.
func (s *System) gdrReads(gpu *Node) bool {
	if s.Params.GDRRead != GDRReadAuto || gpu.GPU.SM >= 80 || len(s.Nodes[NodeGPU]) == 1 {
		return s.Params.GDRRead != GDRReadOff
	}
	for i := range gpu.paths[NodeGPU] {
		if i != gpu.Index && gpu.paths[NodeGPU][i].Type == PathNVL {
			return true
		}
	}
	return false
}

// proxy returns the GPU through which the path from a GPU to a network port goes
// if that is another GPU's, else the GPU itself (ncclTopoGetIntermediateRank,
// NCCL v2.30 src/graph/paths.cc).
func (s *System) proxy(gpu, net *Node) *Node {
	p := gpu.Path(net)
	if p.Type != PathPXN {
		return gpu
	}
	for _, l := range p.Links[1:] {
		switch l.To.Type {
		case NodeNVS:
			continue
		case NodeGPU:
			return s.firstOn(l.To.GPU.DEV)
		case NodeDEV:
			return s.firstOn(l.To)
		}
		break
	}
	return gpu
}

// firstOn returns the first rank on a GPU.
func (s *System) firstOn(dev *Node) *Node {
	i := slices.IndexFunc(s.Nodes[NodeGPU], func(n *Node) bool {
		return n.Host == dev.Host && n.GPU.Dev == dev.GPU.Dev
	})
	return s.Nodes[NodeGPU][i]
}
