package detect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ncclgo/ncclgo/topo"
)

// VirtualTopology is the file that some clouds' virtual machines have of the
// machine below, which counts where no other is named (NCCL v2.30
// src/graph/topo.cc). It is read from [Source.Files].
const VirtualTopology = "/var/run/nvidia-topologyd/virtualTopology.xml"

// base returns the document that detection adds to: a copy of what a file says, or
// an empty one.
func (b *builder) base() *topo.Document {
	empty := &topo.Document{Root: &topo.Element{Name: topo.ElemSystem}}
	empty.Root.Set("version", fmt.Sprint(topo.Version))
	if b.cfg.File == nil {
		b.cfg.File = b.virtual()
	}
	if b.cfg.File == nil {
		return empty
	}
	b.measured("machine", "topology", "as the file says, completed", b.cfg.File.Name)
	doc := &topo.Document{Root: b.cfg.File.Root.Clone()}
	b.notesOfFile = b.cfg.File.Notes
	b.take(doc.Root, nil)
	return doc
}

// virtual returns the topology file of a virtual machine, nil if it has none.
func (b *builder) virtual() *topo.Document {
	at, err := b.resolve(VirtualTopology[1:])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var doc *topo.Document
	if err == nil {
		doc, err = readFile(b.files, at, VirtualTopology)
	}
	if err == nil {
		return doc
	}
	b.assumed("machine", "topology", "as sysfs and NVML say", "a file of the virtual machine is there but no use, "+reason(err))
	return nil
}

// ReadFile reads the topology file at a path of the machine, for [Config]. name is what
// its user calls it.
func ReadFile(machine fs.FS, path, name string) (*topo.Document, error) {
	doc, err := readFile(system{machine}, path, name)
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s: %w", name, at.Err)
	case errors.Is(err, errNoFile):
		return nil, fmt.Errorf("%s: %w; name a topology file", name, err)
	}
	return doc, err
}

func readFile(f files, path, name string) (*topo.Document, error) {
	data, err := f.read(path, topoBytes+1)
	switch {
	case err != nil:
		return nil, err
	case len(data) > topoBytes:
		return nil, fmt.Errorf("%s is no topology file: it has more than %d MiB", name, topoBytes>>20)
	}
	return topo.Parse(name, data)
}

// take prepares elements of a file. Which host it was counts no more.
func (b *builder) take(e, parent *topo.Element) {
	b.parents[e] = parent
	switch e.Name {
	case topo.ElemCPU:
		e.Unset("host_hash")
	case topo.ElemPCI:
		// Of several of one address the first counts, as in NCCL.
		if bus := e.BusID("busid"); b.pci[bus] == nil {
			b.pci[bus] = e
		}
	case topo.ElemGPU:
		b.fileGPUs = append(b.fileGPUs, e)
	}
	for _, c := range e.Children {
		b.take(c, e)
	}
}

// fileNets returns the ports that the file has, by name; of several of one name
// the first, as in NCCL.
func (b *builder) fileNets() map[string]*topo.Element {
	nets := map[string]*topo.Element{}
	var down func(*topo.Element)
	down = func(e *topo.Element) {
		if name, named := e.Get("name"); e.Name == topo.ElemNet && named && nets[name] == nil {
			nets[name] = e
		}
		for _, c := range e.Children {
			down(c)
		}
	}
	down(b.root)
	return nets
}

// compare says how the file and the machine differ in GPUs.
func (b *builder) compare() {
	if b.cfg.File == nil {
		return
	}
	for _, e := range b.fileGPUs {
		bus := b.parents[e].BusID("busid")
		if firstChild(b.pci[bus], topo.ElemGPU) != e {
			e.Unset("rank") // the file had several ranks on a GPU
		}
		if !b.isGPU(bus) {
			e.Unset("rank")
			b.odd("GPU "+bus.String(), "rank", "none", b.cfg.File.Name, "it is not a GPU of this process, so it is left out")
		}
	}
	for _, g := range b.gpus {
		if e := b.pci[g.bus]; e == nil {
			b.assumed(g.subject(), "place", "where sysfs has it", b.cfg.File.Name+" does not have it")
		}
	}
}
