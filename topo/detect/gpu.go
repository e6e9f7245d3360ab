package detect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// Bounds of a topology file.
const (
	maxSM        = 999
	maxC2CLinks  = 1024
	maxC2CLinkBW = 1 << 24 // MB/s
)

// GPU is what CUDA says of a GPU that the process may use.
type GPU struct {
	BusID string `json:"busId"` // PCI address, in either case and with any width of domain
	SM    int    `json:"sm"`    // compute capability times 10
	// GDR and DMABuf are CUDA's attributes GPU_DIRECT_RDMA_SUPPORTED and
	// DMA_BUF_SUPPORTED.
	GDR    bool `json:"gdr"`
	DMABuf bool `json:"dmaBuf"`
}

// gpu is a GPU that gets a rank.
type gpu struct {
	bus  topo.BusID
	dev  int // NVML's index, or CUDA's ordinal where NVML tells nothing
	sm   int
	cuda *GPU     // nil if CUDA was not asked
	nvml *managed // nil if NVML does not know it
}

func (g *gpu) subject() string { return "GPU " + g.bus.String() }

// managed is what NVML says of a GPU.
type managed struct {
	nvml.Device
	bus   topo.BusID
	links nvml.Fact[[]nvml.NVLink]
	c2c   nvml.Fact[nvml.C2C]

	fabric nvml.Fact[nvml.Fabric]
}

// askNVML asks NVML for all GPUs. What it does not tell is assumed.
func (b *builder) askNVML() {
	b.noNVML = "NVML does not know it"
	if b.src.NVML == nil {
		b.noNVML = "nobody asked NVML"
		if b.src.NoNVML != nil {
			b.noNVML = "NVML tells nothing, " + b.src.NoNVML.Error()
		}
		return
	}
	n, err := b.src.NVML.NumDevices()
	if err != nil {
		b.noNVML = "NVML tells nothing, " + err.Error()
		return
	}
	for i := range n {
		m := &managed{}
		if m.Device, err = b.src.NVML.Device(i); err == nil {
			m.bus, err = topo.ParseBusID(m.BusID)
		}
		if err != nil {
			unreached := fmt.Sprintf("NVML does not reach its GPU %d, %v", i, err)
			b.noNVML += "; " + unreached
			b.unmanaged = append(b.unmanaged, unreached)
			continue
		}
		if other := b.manager(m.bus); other != nil {
			b.odd("GPU "+m.bus.String(), "NVML's number", strconv.Itoa(other.Index), fromNVML, fmt.Sprintf("GPU %d is said to be there too, and does not count", m.Index))
			continue
		}
		// A GPU that goes away now is one that tells nothing more.
		m.links, _ = b.src.NVML.NVLinks(i)
		m.c2c, _ = b.src.NVML.C2C(i)
		m.fabric, _ = b.src.NVML.Fabric(i)
		b.managed = append(b.managed, m)
	}
}

// manager returns what NVML says of the GPU at an address, or nil.
func (b *builder) manager(bus topo.BusID) *managed {
	if i := slices.IndexFunc(b.managed, func(m *managed) bool { return m.bus == bus }); i >= 0 {
		return b.managed[i]
	}
	return nil
}

// nvmlIdentity returns what NVML says a GPU is, by name of the attribute.
func (b *builder) nvmlIdentity(bus topo.BusID) map[string]string {
	m := b.manager(bus)
	if m == nil {
		return nil
	}
	all := map[string]string{}
	for i, v := range []uint16{m.Vendor, m.Product, m.SubsystemVendor, m.SubsystemProduct} {
		if v != 0 {
			all[identity[i]] = fmt.Sprintf("0x%04x", v)
		}
	}
	return all
}

// nvmlLink returns the most that NVML says the PCIe link of a GPU carries.
func (b *builder) nvmlLink(bus topo.BusID) (nvml.PCIe, bool) {
	m := b.manager(bus)
	if m == nil {
		return nvml.PCIe{}, false
	}
	link, known := m.MaxPCIe.Get()
	return link, known && link.Generation > 0 && link.Width > 0 && link.Width <= maxWidth
}

// chooseGPUs lists the GPUs that get ranks: CUDA's, or without it those of NVML's
// that CUDA_VISIBLE_DEVICES leaves.
func (b *builder) chooseGPUs() error {
	if b.src.GPUs == nil {
		chosen, err := b.visible()
		if err != nil {
			return err
		}
		for _, m := range chosen {
			b.gpus = append(b.gpus, &gpu{bus: m.bus, dev: m.Index, sm: m.SM, nvml: m})
		}
		if len(b.gpus) > 0 {
			b.assumed("GPUs", "order of ranks", "NVML's", b.noCUDA()+", whose order may be another")
		}
	}
	for i := range b.src.GPUs {
		c := &b.src.GPUs[i]
		bus, err := topo.ParseBusID(c.BusID)
		if err != nil {
			return result.New(result.InvalidArgument, opDetect, "GPU %d of CUDA: %w", i, err)
		}
		g := &gpu{bus: bus, dev: i, sm: c.SM, cuda: c, nvml: b.manager(bus)}
		if g.nvml != nil {
			g.dev = g.nvml.Index
		}
		b.gpus = append(b.gpus, g)
	}
	if len(b.gpus) == 0 {
		return b.noGPU()
	}
	if len(b.gpus) > topo.MaxGPUs {
		return result.New(result.InvalidArgument, opDetect, "%d GPUs; at most %d are supported", len(b.gpus), topo.MaxGPUs)
	}
	// With NVML for some GPUs only, its indices and CUDA's ordinals may clash.
	if slices.ContainsFunc(b.gpus, func(g *gpu) bool { return g.nvml == nil }) {
		for i, g := range b.gpus {
			g.dev = i
		}
	}
	for i, g := range b.gpus {
		if g.sm < 1 || g.sm > maxSM {
			return result.New(result.InvalidArgument, opDetect, "%s has compute capability %d.%d; 0.1 to 99.9 are allowed", g.subject(), g.sm/10, g.sm%10)
		}
		for _, other := range b.gpus[:i] {
			if other.bus == g.bus {
				return result.New(result.InvalidArgument, opDetect,
					"two GPUs at %v; partitions of one GPU (MIG) cannot access each other: use one rank, or whole GPUs", g.bus)
			}
		}
	}
	return nil
}

// noCUDA says why CUDA tells nothing.
func (b *builder) noCUDA() string {
	if b.src.NoCUDA != nil {
		return "CUDA tells nothing (" + b.src.NoCUDA.Error() + ")"
	}
	return "nobody asked CUDA"
}

// noGPU is the error of a machine without one.
func (b *builder) noGPU() error {
	why, what := "CUDA has none", "give a description of a machine (nccl-run: --topo)"
	if b.src.GPUs == nil {
		why = b.noCUDA() + ", and NVML has none"
		if b.src.NoNVML != nil {
			why = fmt.Sprintf("%s, and NVML tells nothing (%v)", b.noCUDA(), b.src.NoNVML)
		}
		if b.cfg.Visible != nil && len(b.managed) > 0 {
			why = fmt.Sprintf("%s, and %s=%s of NVML's GPUs", b.noCUDA(), visibleVariable, b.leaves(0))
			what = "change " + visibleVariable
		}
	}
	if len(b.unmanaged) > 0 {
		why += "; " + strings.Join(b.unmanaged, "; ")
	}
	return result.New(result.SystemError, opDetect, "no GPU: %s; %s", why, what)
}

// gpu adds the elements of rank's GPU.
func (b *builder) gpu(rank int, g *gpu) {
	pci := b.device(g.bus, "GPU", "0x03")
	e := firstChild(pci, topo.ElemGPU)
	switch {
	case e == nil:
		e = b.child(pci, topo.ElemGPU)
	case e.Has("sm") && e.Int("sm", 0) != g.sm:
		b.odd(g.subject(), "sm", e.Text("sm"), b.cfg.File.Name, "the GPU says "+strconv.Itoa(g.sm)+", which counts")
	}
	from := fromCUDA
	if g.cuda == nil {
		from = fromNVML
	}
	e.Set("dev", strconv.Itoa(g.dev))
	e.Set("sm", strconv.Itoa(g.sm))
	b.measured(g.subject(), "sm", strconv.Itoa(g.sm), from)
	e.Set("rank", strconv.Itoa(rank))
	b.gdr(g, e)
	if firstChild(e, topo.ElemNVLink) == nil {
		b.nvlinks(g, e)
	}
	if firstChild(e, topo.ElemC2C) == nil {
		b.c2c(g, e)
	}
	b.targetClasses(e)
	b.fabric(g)
}

// fabric says which NVLink fabric a GPU is a member of, if it is of one.
func (b *builder) fabric(g *gpu) {
	if g.nvml == nil {
		return
	}
	if f, known := g.nvml.fabric.Get(); known && f.State == nvml.FabricCompleted {
		b.measured(g.subject(), "fabric", fmt.Sprintf("clique %d, registration %v", f.CliqueID, f.Status), fromNVML)
	}
}

// gdr says whether network cards may access a GPU's memory.
func (b *builder) gdr(g *gpu, e *topo.Element) {
	if e.Has("gdr") {
		return
	}
	switch {
	case g.cuda == nil:
		// As NCCL takes it where the driver is too old to be asked.
		e.Set("gdr", "1")
		b.assumed(g.subject(), "gdr", "1", b.noCUDA()+", whose attribute GPU_DIRECT_RDMA_SUPPORTED says it")
	case g.cuda.GDR:
		e.Set("gdr", "1")
		b.measured(g.subject(), "gdr", "1", fromCUDA)
	default:
		e.Set("gdr", "0")
		b.measured(g.subject(), "gdr", "0", fromCUDA)
	}
}

// c2c adds the link of a GPU to its CPU.
func (b *builder) c2c(g *gpu, e *topo.Element) {
	if g.nvml == nil {
		return
	}
	c, known := g.nvml.c2c.Get()
	switch {
	case !known || c.Links == 0:
	case c.Links < 0 || c.Links > maxC2CLinks || c.MBps < 0 || c.MBps > maxC2CLinkBW:
		b.odd(g.subject(), "C2C", "none", fromNVML, fmt.Sprintf("%d links of %d MB/s cannot be", c.Links, c.MBps))
	default:
		link := b.child(e, topo.ElemC2C)
		link.Set("bw", strconv.Itoa(c.MBps))
		link.Set("count", strconv.Itoa(c.Links))
		b.measured(g.subject(), "C2C", fmt.Sprintf("%d links of %d MB/s", c.Links, c.MBps), fromNVML)
	}
}
