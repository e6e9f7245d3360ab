package topo

import "slices"

// terrain is what stays as it is while a walker searches a system.
type terrain struct {
	*routes
	s        *System
	inter    bool // there are ranks elsewhere
	hasNVS   bool
	nics     *nics
	nearGPUs [][]int // [net]: the GPUs nearest to it
	samePort [][]int // [net]: the nets that are one port of one card with it
	orders   orders
	pciLinks [][2]int32 // [gpu]: its PCI link up and down, -1 if it has none
	// railPerHost identifies ports of different hosts by PCI address.
	railPerHost bool
}

func newTerrain(s *System, p *SearchParams) *terrain {
	t := &terrain{
		routes: newRoutes(s), s: s, inter: s.Inter, hasNVS: len(s.Nodes[NodeNVS]) > 0,
		nics:        newNICs(s, len(s.Hosts) > 1 && !p.NoScatter),
		railPerHost: p.RailPerHost,
	}
	nets := s.Nodes[NodeNET]
	for _, a := range nets {
		t.nearGPUs = append(t.nearGPUs, a.nearest(NodeGPU))
		var same []int
		for j, b := range nets {
			if a.Net.GUID == b.Net.GUID && a.Net.Port == b.Net.Port {
				same = append(same, j)
			}
		}
		t.samePort = append(t.samePort, same)
	}
	for _, gpu := range s.Nodes[NodeGPU] {
		t.pciLinks = append(t.pciLinks, pciLinks(gpu.GPU.DEV))
	}
	return t
}

// pciLinks returns the positions of the first PCI link of a GPU and of that
// back to it.
func pciLinks(dev *Node) [2]int32 {
	for i := range dev.Links {
		up := &dev.Links[i]
		if up.Type != LinkPCI {
			continue
		}
		for j := range up.To.Links {
			if down := &up.To.Links[j]; down.To == dev {
				return [2]int32{int32(up.seq), int32(down.seq)}
			}
		}
	}
	return [2]int32{none, none}
}

// onePort reports whether two nets are the same port of the same card, or, in
// systems with a rail per host, of cards at the same address. A card that is on no
// PCI bus has none.
func (t *terrain) onePort(a, b int) bool {
	x, y := t.s.Nodes[NodeNET][a], t.s.Nodes[NodeNET][b]
	if t.railPerHost && x.Host != y.Host && (x.Net.Card != 0 || y.Net.Card != 0) {
		return x.Net.Card == y.Net.Card && x.Net.Port == y.Net.Port
	}
	return x.Net.GUID == y.Net.GUID && x.Net.Port == y.Net.Port
}

// hasNVLS reports whether GPUs can reduce in NVSwitches (ncclNvlsInit, NCCL v2.30
// src/transport/nvls.cc, and what the driver reports as multicast support). Ranks
// share a GPU also if each has a part of it.
func (t *terrain) hasNVLS() bool {
	part := func(l Link) bool { return l.Type == LinkLOC && l.To.Type == NodeDEV }
	shared := slices.ContainsFunc(t.s.Nodes[NodeDEV], func(dev *Node) bool {
		return dev.GPU.Ranks > 1 || slices.ContainsFunc(dev.Links, part)
	})
	return t.hasNVS && t.minSM() >= 90 && t.gpus > 1 && !shared
}

// minSM returns the lowest compute capability times 10.
func (t *terrain) minSM() int {
	sm := t.s.Nodes[NodeDEV][0].GPU.SM
	for _, dev := range t.s.Nodes[NodeDEV] {
		sm = min(sm, dev.GPU.SM)
	}
	return sm
}

// gpuTypes returns the range of paths between GPUs.
func (t *terrain) gpuTypes() typeRange {
	r := typeRange{PathSYS, PathLOC}
	for i := range t.gpuGPU {
		if i/t.gpus != i%t.gpus {
			r.best = min(r.best, t.gpuGPU[i].kind)
			r.worst = max(r.worst, t.gpuGPU[i].kind)
		}
	}
	return r
}

// netTypes returns the range of paths from GPUs to the network.
func (t *terrain) netTypes() typeRange {
	r := typeRange{PathSYS, PathLOC}
	for i := range t.gpuNET {
		r.best = min(r.best, t.gpuNET[i].kind)
		r.worst = max(r.worst, t.gpuNET[i].kind)
	}
	return r
}

// splitNVLink reports whether GPUs form exactly two groups that NVLink joins,
// with slower links between them (ncclTopoSplitNvLink, NCCL v2.30
// src/graph/paths.cc).
func (t *terrain) splitNVLink() bool {
	group := make([]int, t.gpus)
	for g := range group {
		group[g] = g
	}
	for g := range t.gpus {
		for p := g + 1; p < t.gpus; p++ {
			if t.gpuGPU[g*t.gpus+p].kind == PathNVL {
				group[p] = group[g]
			}
		}
	}
	size := make([]int, t.gpus)
	groups := 0
	for _, g := range group {
		if size[g]++; size[g] == 2 {
			groups++
		}
	}
	return groups == 2
}
