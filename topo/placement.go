package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Place returns the system with rank i on the GPU at address buses[i], and no
// other ranks. Several ranks may be on one GPU. It is s itself if its ranks are
// so already. Where several hosts have a GPU at that address it is the first's.
func (s *System) Place(buses []BusID) (*System, error) {
	if s.placed(buses) {
		return s, nil
	}
	p := placement{ranks: map[BusID][]int{}}
	for rank, bus := range buses {
		p.ranks[bus] = append(p.ranks[bus], rank)
	}
	root := p.copy(s.doc.Root, 0)
	for rank, bus := range buses {
		if _, missing := p.ranks[bus]; missing {
			return nil, fmt.Errorf("%s has no GPU at %v for rank %d; it has GPUs at %s", s.Name, bus, rank, s.busList())
		}
	}
	return s.derive(root)
}

func (s *System) placed(buses []BusID) bool {
	return slices.EqualFunc(s.byRank, buses, func(n *Node, bus BusID) bool {
		return n != nil && n.GPU.BusID == bus
	})
}

func (s *System) busList() string {
	var names []string
	for _, n := range s.Nodes[NodeDEV] {
		names = append(names, n.GPU.BusID.String())
	}
	return strings.Join(names, " ")
}

// placement holds the ranks that are still to be put on a GPU, by its address.
type placement struct {
	ranks map[BusID][]int
}

// copy returns a copy of e, which is at address bus, with the ranks of p in
// place of those it has.
func (p *placement) copy(e *Element, bus BusID) *Element {
	c := *e
	c.Children = nil
	if e.Name == ElemPCI {
		bus = e.BusID("busid")
	}
	for _, child := range e.Children {
		if child.Name != ElemGPU || !child.Has("rank") {
			c.Children = append(c.Children, p.copy(child, bus))
			continue
		}
		for _, rank := range p.ranks[bus] {
			gpu := *child
			gpu.Attrs = slices.Clone(child.Attrs)
			gpu.Set("rank", strconv.Itoa(rank))
			c.Children = append(c.Children, &gpu)
		}
		delete(p.ranks, bus)
	}
	return &c
}
