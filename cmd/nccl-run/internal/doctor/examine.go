package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/hardware"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/nvml"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// Host is how the machine is asked.
type Host struct {
	OpenCUDA func() (*cuda.Driver, error)
	OpenNVML func() (nvml.API, error)
	Cache    cuda.CacheConfig
	Getenv   func(name string) (value string, ok bool)
	LookPath func(program string) (string, error)
	Files    fs.FS // of the machine, as os.DirFS("/") has them
}

// variables are what the CUDA driver reads and what changes how ncclgo runs.
var variables = []string{"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"}

// Examine looks at the machine. It opens a context on every GPU, since that is
// where a GPU that is busy, prohibited or ill shows, and closes it again.
func Examine(h *Host) *Report {
	r := &Report{Format: formatName, Version: Version, Device: "sim", Build: build(), GPUs: []GPU{}, Limits: limits()}
	// Before the driver is opened, which sets some.
	r.Limits.Variables = []Pair{}
	for _, name := range variables {
		if value, ok := h.Getenv(name); ok {
			r.Limits.Variables = append(r.Limits.Variables, Pair{name, value})
		}
	}
	if path, err := h.LookPath("clang-19"); err == nil {
		r.Clang = path
	}
	r.cache(cuda.InspectCache(h.Cache))
	driver, err := h.OpenCUDA()
	if err == nil {
		err = r.examine(driver, h)
	}
	if err != nil {
		r.Driver.Problem = err.Error()
	}
	r.Advice = advise(r, err)
	return r
}

// build says what this program is.
func build() Build {
	b := Build{Module: "(devel)", Go: runtime.Version(), Target: runtime.GOOS + "/" + runtime.GOARCH, Kernels: len(generated.Kernels())}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Module = cmp.Or(info.Main.Version, b.Module)
	}
	for i := range generated.Kernels() {
		if sm := generated.Kernels()[i].SM; !slices.Contains(b.SMs, sm) {
			b.SMs = append(b.SMs, sm)
		}
	}
	slices.Sort(b.SMs)
	return b
}

func (r *Report) cache(c cuda.Cache) {
	r.Cache = Cache{Dir: c.Dir, Entries: c.Entries, Bytes: c.Bytes, MaxBytes: c.MaxBytes}
	if c.Problem != nil {
		r.Cache.Problem = c.Problem.Error()
	}
}

// examine looks at what a driver has, and closes it.
func (r *Report) examine(driver *cuda.Driver, h *Host) error {
	r.Driver.CUDA, r.Driver.Connections = driver.Version(), driver.Connections()
	inv, err := hardware.Take(driver, h.OpenNVML, h.Files)
	if err != nil {
		_ = driver.Close() // the first error says more
		return err
	}
	r.inventory(inv)
	r.topology(inv, h)
	for i := range r.GPUs {
		if _, err := driver.Open(i); err != nil {
			r.GPUs[i].Problem = err.Error()
			continue
		}
		r.Device = "cuda"
	}
	return driver.Close()
}

// inventory writes what is known of the GPUs.
func (r *Report) inventory(inv *hardware.Inventory) {
	r.Driver.Release, _ = inv.NVML.Driver.Get()
	r.NVML.Version, _ = inv.NVML.NVML.Get()
	if inv.NoNVML != nil {
		r.NVML.Problem = inv.NoNVML.Error()
	}
	for _, g := range inv.GPUs {
		gpu := GPU{
			Name: g.Name, SM: g.SM, SMs: g.NumSMs, MemoryBytes: g.MemoryBytes, BusID: g.BusID, NUMANode: -1,
			NVLinks: g.Links, Peer: g.Peer, NVLink: g.NVLinkPeer,
		}
		gpu.UUID, _ = g.Device.UUID.Get()
		gpu.MIG, _ = g.Device.MIG.Get()
		if fabric, known := g.Fabric.Get(); known {
			gpu.Fabric = fmt.Sprintf("%v, clique %d", fabric.State, fabric.CliqueID)
		}
		r.GPUs = append(r.GPUs, gpu)
	}
}

// topology writes how the GPUs are connected: what was found, and what was assumed.
func (r *Report) topology(inv *hardware.Inventory, h *Host) {
	machine, err := look(inv, h)
	if err != nil {
		r.Topology.Problem = err.Error()
		return
	}
	for rank := range r.GPUs {
		r.GPUs[rank].NUMANode = machine.NUMANode(rank)
	}
	system, err := machine.System()
	if err != nil {
		r.Topology.Problem = err.Error()
		return
	}
	for _, n := range system.Notes {
		r.Topology.Notes = append(r.Topology.Notes, n.Text)
	}
	r.Topology.Text = system.String()
}

// look detects the machine as communicators would.
func look(inv *hardware.Inventory, h *Host) (*detect.Machine, error) {
	settings, err := nccl.ReadTopologySettings(h.Getenv)
	if err != nil {
		return nil, err
	}
	cfg, err := settings.Detection(h.Files)
	if err != nil {
		return nil, err
	}
	return detect.Detect(inv.Source(), cfg)
}
