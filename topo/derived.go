package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/result"
)

// FirstGPUs returns the system with only the ranks 0 to n-1 on their GPUs, as
// NCCL sees it when the others take no part. A number that s does not have is an
// invalid argument.
func (s *System) FirstGPUs(n int) (*System, error) {
	if n < 1 || n > s.NRanks() {
		return nil, result.New(result.InvalidArgument, "topology", "%d GPUs of %s; it has %d", n, s.Name, s.NRanks())
	}
	if n == s.NRanks() {
		return s, nil
	}
	return s.derive(s.doc.Root.without(func(e *Element) bool {
		return e.Name == ElemGPU && e.Int("rank", -1) >= n
	}))
}

// Place returns the system with rank i on the GPU at address buses[i], and no
// other ranks. Several ranks may be on one GPU. It is s itself if its ranks are
// so already. Where several hosts have a GPU at that address it is the first's. An
// address without a GPU is an error that names those with one.
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

// Fabric returns n hosts like s whose NVSwitches form one NVLink fabric, as NCCL
// sees them where MNNVL joins them: ranks go on from host to host, and host
// hashes count up from that of s. What has no NVSwitch, or is several hosts already,
// can't be repeated, nor more often than [MaxGPUs] allows: these are invalid
// arguments.
func (s *System) Fabric(n int) (*System, error) {
	switch {
	case n < 1:
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts; at least one is needed", n)
	case n > MaxGPUs/s.NRanks():
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts of %d GPUs; a fabric has at most %d GPUs", n, s.NRanks(), MaxGPUs)
	case n > maxHosts:
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts; a fabric has at most %d", n, maxHosts)
	case n == 1:
		return s, nil
	case len(s.Hosts) > 1:
		return nil, result.New(result.InvalidArgument, "topology", "%s has %d hosts already; a fabric repeats a file of one host", s.Name, len(s.Hosts))
	case len(s.Nodes[NodeNVS]) == 0:
		return nil, result.New(result.InvalidArgument, "topology", "%s has no NVSwitch; hosts are joined by theirs", s.Name)
	}
	root := *s.doc.Root
	root.Children = nil
	for host := range n {
		for _, cpu := range s.doc.Root.Children {
			c := cpu.shift(host * s.NRanks())
			c.Set("host_hash", fmt.Sprintf("%#x", cpu.Hex("host_hash")+uint64(host)))
			root.Children = append(root.Children, c)
		}
	}
	return s.derive(&root)
}

// shift returns a copy of e in which all ranks are greater by some number.
func (e *Element) shift(ranks int) *Element {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	if rank := e.Int("rank", -1); e.Name == ElemGPU && rank >= 0 {
		c.Set("rank", strconv.Itoa(rank+ranks))
	}
	c.Children = make([]*Element, len(e.Children))
	for i, child := range e.Children {
		c.Children[i] = child.shift(ranks)
	}
	return &c
}

// derive returns the system of another document made of s's. What is odd in the
// file is said once, of all of it.
func (s *System) derive(root *Element) (*System, error) {
	doc := *s.doc
	doc.Root = root
	d, err := NewSystem(&doc)
	if err != nil {
		return nil, err
	}
	d.Notes = s.Notes
	return d, nil
}

// without returns a copy of e without the descendants for which drop is true.
func (e *Element) without(drop func(*Element) bool) *Element {
	c := *e
	c.Children = nil
	for _, child := range e.Children {
		if !drop(child) {
			c.Children = append(c.Children, child.without(drop))
		}
	}
	return &c
}
