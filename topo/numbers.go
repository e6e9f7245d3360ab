package topo

import (
	"cmp"
	"slices"
	"strconv"
)

// Renumber gives GPUs and network ports the numbers they have where NCCL reads
// the file: they are not the file's. GPUs get the ranks 0 to n-1 in the order of
// their device numbers, host after host, as in a program that has one rank on
// each GPU. The ports of a host get the device numbers 0 to n-1 in the order of
// those they have, but for those that only serve traffic that GPUs initiate
// (net="0"). A GPU or port without a number, among others that have one, takes no
// part; if none has, all do.
func (d *Document) Renumber() {
	gpus := numbered(d.find(ElemGPU), "rank")
	slices.SortStableFunc(gpus, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.dev(), b.dev()), cmp.Compare(a.rank(), b.rank()))
	})
	for rank, p := range gpus {
		p.element().Set("rank", strconv.Itoa(rank))
	}
	ports := slices.DeleteFunc(d.ports(), func(p placed) bool { return p.element().Int("net", 1) == 0 })
	ports = numbered(ports, "dev")
	slices.SortStableFunc(ports, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.dev(), b.dev()))
	})
	first := 0
	for i, p := range ports {
		if p.host != ports[first].host {
			first = i
		}
		p.element().Set("dev", strconv.Itoa(i-first))
	}
}

// numbered returns those that have an attribute, or all if none has.
func numbered(all []placed, attr string) []placed {
	has := func(p placed) bool { return p.element().Has(attr) }
	if !slices.ContainsFunc(all, has) {
		return all
	}
	return slices.DeleteFunc(all, func(p placed) bool { return !has(p) })
}

// ports returns the network ports of the file in its order; of several of one
// name on a host NCCL finds the first.
func (d *Document) ports() []placed {
	type port struct {
		host int
		name string
	}
	seen := map[port]bool{}
	return slices.DeleteFunc(d.find(ElemNet), func(p placed) bool {
		e := p.element()
		name, named := e.Get("name")
		again := named && seen[port{p.host, name}]
		seen[port{p.host, name}] = true
		return again
	})
}

// placed is an element and where it is.
type placed struct {
	path []*Element // from the root to the element
	host int        // hosts are numbered in order of appearance
}

func (p placed) element() *Element { return p.path[len(p.path)-1] }

func (p placed) rank() int { return p.element().Int("rank", -1) }

func (p placed) dev() int { return p.element().Int("dev", 0) }

// find returns the elements of a name, which do not hold one another, in the
// order of the file.
func (d *Document) find(name string) []placed {
	var all []placed
	hosts := map[uint64]int{}
	var down func(path []*Element)
	down = func(path []*Element) {
		e := path[len(path)-1]
		switch e.Name {
		case ElemCPU:
			hash := e.Hex("host_hash")
			if _, known := hosts[hash]; !known {
				hosts[hash] = len(hosts)
			}
		case name:
			all = append(all, placed{slices.Clone(path), hosts[path[1].Hex("host_hash")]})
			return
		}
		for _, child := range e.Children {
			down(append(path, child))
		}
	}
	down([]*Element{d.Root})
	return all
}
