package detect

import (
	"io/fs"
	"slices"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

const opDetect = "detect topology"

// Source is a machine to look at.
type Source struct {
	// Files has the machine's folders sys, proc and var, as os.DirFS("/") does. It
	// should be an fs.StatFS: what opens a pipe to look at it waits. Nil: nothing can be
	// read.
	Files fs.FS
	// Arch is the machine's architecture by Go's name ("amd64"), or "": what
	// /proc/cpuinfo tells.
	Arch string
	// GPUs are those that CUDA has, by ordinal, which become the ranks. Nil: nobody
	// asked CUDA, or it tells nothing for the reason NoCUDA; NVML's GPUs do then.
	GPUs   []GPU
	NoCUDA error
	// NVML is asked for the rest; nil, with NoNVML as the reason, if it tells
	// nothing.
	NVML   nvml.API
	NoNVML error

	captured files // in place of Files, of a capture
}

// Config is what NCCL's variables and CUDA's say of how a machine is seen.
type Config struct {
	// File is the topology file of NCCL_TOPO_FILE, which wins over what is found,
	// or nil. Without one [VirtualTopology] counts, if there is one.
	File *topo.Document
	// Visible is CUDA_VISIBLE_DEVICES, nil if it is not set: set to nothing, it hides
	// all GPUs. It counts only where nobody asked CUDA, which has applied it already.
	Visible *string
	// Nets says which network ports are used.
	Nets NetFilter
}

// Machine is a machine that was looked at.
type Machine struct {
	// Document is the topology file that NCCL would write of it, with assumptions
	// and oddities in its notes.
	Document *topo.Document
	// Facts are what is said in it, in the order in which they were found.
	Facts []Fact

	ranks int
}

// System returns the machine as a graph, with a rank for each GPU.
func (m *Machine) System() (*topo.System, error) {
	s, err := topo.NewSystem(m.Document)
	if err != nil {
		return nil, result.Wrap(result.InvalidArgument, opDetect, err)
	}
	if s.NRanks() != m.ranks {
		return nil, result.New(result.InvalidArgument, opDetect, "%s has %d of %d GPUs where none is below another; correct it, or leave it out",
			m.Document.Name, s.NRanks(), m.ranks)
	}
	return s, nil
}

// NUMANode returns the NUMA node that the GPU of a rank is below, -1 if it is not
// known.
func (m *Machine) NUMANode(rank int) int {
	var below func(e *topo.Element) bool
	below = func(e *topo.Element) bool {
		return e.Name == topo.ElemGPU && e.Int("rank", -1) == rank || slices.ContainsFunc(e.Children, below)
	}
	for _, cpu := range m.Document.Root.Children {
		if below(cpu) {
			return cpu.Int("numaid", -1)
		}
	}
	return -1
}

// nameDetected is the name of the topology of a machine that was looked at without
// a file.
const nameDetected = "detected"

// builder is a document under construction. It looks at the machine in NCCL's
// order, since links are made in it: the first GPU, network ports, the other GPUs
// (ncclTopoGetSystem, NCCL v2.30 src/graph/topo.cc).
type builder struct {
	*tree
	ledger
	src Source
	cfg Config

	root    *topo.Element
	parents map[*topo.Element]*topo.Element
	filled  map[*topo.Element]bool // those that lack nothing any more
	pci     map[topo.BusID]*topo.Element
	climbed int      // switches above the device that is looked at
	kind    *cpuKind // nil until somebody asks: see cpus

	managed     []*managed
	unmanaged   []string // why NVML's other GPUs are not there
	noNVML      string   // why a GPU is none of NVML's
	gpus        []*gpu   // by rank
	fileGPUs    []*topo.Element
	notesOfFile []topo.Note
}

// Detect looks at a machine.
func Detect(src Source, cfg Config) (*Machine, error) {
	b := &builder{
		src: src, cfg: cfg, tree: newTree(src.files()),
		parents: map[*topo.Element]*topo.Element{}, filled: map[*topo.Element]bool{}, pci: map[topo.BusID]*topo.Element{},
	}
	b.askNVML()
	if err := b.chooseGPUs(); err != nil {
		return nil, err
	}
	doc := b.base()
	b.root = doc.Root
	b.compare()
	for _, cpu := range b.root.Children {
		b.fillCPU(cpu)
	}
	b.gpu(0, b.gpus[0])
	b.ports()
	for rank, g := range b.gpus[1:] {
		b.gpu(rank+1, g)
	}
	b.peers()
	doc.Name = nameDetected
	if b.cfg.File != nil {
		doc.Name = b.cfg.File.Name
	}
	doc = doc.Fused()
	doc.Notes = append(b.notesOfFile, b.notes()...)
	return &Machine{Document: doc, Facts: b.facts, ranks: len(b.gpus)}, nil
}

// files returns what the source's files are read through.
func (s *Source) files() files {
	switch {
	case s.captured != nil:
		return s.captured
	case s.Files == nil:
		return noFiles{}
	}
	return system{s.Files}
}

// noFiles are the files of a machine of which none can be read.
type noFiles struct{}

func (noFiles) readLink(string) (string, error)  { return "", fs.ErrNotExist }
func (noFiles) read(string, int) ([]byte, error) { return nil, fs.ErrNotExist }
func (noFiles) list(string) ([]string, error)    { return nil, fs.ErrNotExist }

// child adds an element.
func (b *builder) child(parent *topo.Element, name string) *topo.Element {
	e := &topo.Element{Name: name}
	parent.Children = append(parent.Children, e)
	b.parents[e] = parent
	return e
}

// init gives an attribute a value if the element lacks it and there is one.
func (b *builder) init(e *topo.Element, name, value string) {
	if !e.Has(name) && value != "" {
		e.Set(name, value)
	}
}

// firstChild returns the first child of a name, or nil.
func firstChild(e *topo.Element, name string) *topo.Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}
