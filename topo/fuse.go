package topo

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Fused returns the topology that NCCL's ranks agree on when each reads d: what
// every rank keeps of the file, one after the other in order of ranks (NCCL
// v2.30 ncclTopoGetSystem and ncclTopoTrimXml). A rank keeps its own GPU and the
// network cards of its host, and of PCI devices and CPUs those they are below.
// So the first GPU of a host and its network cards come first, the other GPUs
// after everything that was there before, and what nobody uses is gone. The
// order matters: links are made in it, and the search prefers earlier ones.
//
// A document that NCCL wrote is fused already and stays as it is.
func (d *Document) Fused() *Document {
	f := fuser{copies: map[*Element]*Element{}, twins: map[string]*Element{}, ids: map[*Element]int{}}
	root := *d.Root
	root.Children = nil
	f.copies[d.Root] = &root

	ranks := slices.DeleteFunc(d.find(ElemGPU), func(p placed) bool { return !p.element().Has("rank") })
	slices.SortStableFunc(ranks, func(a, b placed) int { return cmp.Compare(a.rank(), b.rank()) })
	cpus, ports := map[uint64][]*Element{}, map[int][]*Element{} // of each host
	for _, cpu := range d.Root.Children {
		hash := cpu.Hex("host_hash")
		cpus[hash] = append(cpus[hash], cpu)
	}
	for _, p := range d.ports() {
		// A port without a number is one that was left out.
		if p.element().Has("dev") {
			ports[p.host] = append(ports[p.host], p.element())
		}
	}
	seen := map[int]bool{}
	for _, p := range ranks {
		f.merge = seen[p.host]
		if f.merge {
			f.add(p.path)
			continue
		}
		seen[p.host] = true
		f.firstView(d.Root, p.element(), cpus[p.path[1].Hex("host_hash")], ports[p.host])
	}
	fused := *d
	fused.Root = &root
	return &fused
}

// fuser builds the fused document.
type fuser struct {
	copies map[*Element]*Element // of elements of the file
	twins  map[string]*Element   // the first copy by parent, name and attributes
	ids    map[*Element]int      // of copies, for the keys of twins
	merge  bool                  // what is the same as a copy is not copied again
}

// firstView adds what the first rank of a host keeps, its own GPU and the host's
// network ports, as the file has them.
func (f *fuser) firstView(root, own *Element, cpus, ports []*Element) {
	kept := map[*Element]bool{own: true}
	for _, port := range ports {
		kept[port] = true
	}
	var down func(path []*Element)
	down = func(path []*Element) {
		for _, child := range path[len(path)-1].Children {
			at := append(path, child)
			if kept[child] {
				f.add(at)
				continue
			}
			down(at)
		}
	}
	for _, cpu := range cpus {
		down([]*Element{root, cpu})
	}
}

// add puts the last element of a path into the copy, with those above it that
// are not there yet.
func (f *fuser) add(path []*Element) {
	for i := 1; i < len(path); i++ {
		if f.copies[path[i]] == nil {
			f.copies[path[i]] = f.child(f.copies[path[i-1]], path[i])
		}
	}
}

// child returns the copy of e below parent: a new one, but for one that is there
// and the same except for its children, if those are merged.
func (f *fuser) child(parent, e *Element) *Element {
	key := f.key(parent, e)
	twin := f.twins[key]
	if twin != nil && f.merge {
		return twin
	}
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	c.Unset("keep")
	c.Children = nil
	switch e.Name {
	case ElemGPU:
		c.Children = e.Children
		c.init("mlopart", "-1")
	case ElemNet:
		c.init("latency", "0")
		c.init("net", "1")
	}
	// Links between switches are kept with the switch.
	for _, child := range e.Children {
		if child.Name == ElemPCILink {
			c.Children = append(c.Children, child)
		}
	}
	parent.Children = append(parent.Children, &c)
	if twin == nil {
		f.twins[key] = &c
	}
	return &c
}

// key identifies an element by its parent's copy, name and attributes.
func (f *fuser) key(parent, e *Element) string {
	id, known := f.ids[parent]
	if !known {
		id = len(f.ids)
		f.ids[parent] = id
	}
	var b strings.Builder
	b.WriteString(strconv.Itoa(id) + " " + e.Name)
	attrs := slices.Clone(e.Attrs)
	slices.SortFunc(attrs, func(a, b Attr) int { return cmp.Compare(a.Name, b.Name) })
	for _, a := range attrs {
		b.WriteString(" " + a.Name + "=" + strconv.Quote(a.Value))
	}
	return b.String()
}

// init gives an attribute a value if e lacks it.
func (e *Element) init(name, value string) {
	if !e.Has(name) {
		e.Set(name, value)
	}
}
