package cli

import (
	"fmt"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/hardware"
	"github.com/ncclgo/ncclgo/device/cuda"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// gpus are the GPUs of this machine.
type gpus struct {
	driver      *cuda.Driver
	connections int
}

// openGPUs opens the CUDA driver. It is an error if none of its GPUs is of use.
func openGPUs(p *Process, connections int) (*gpus, error) {
	driver, err := p.openCUDA(connections)
	if err != nil {
		return nil, err
	}
	for _, g := range driver.Infos() {
		if g.SM >= leastSM {
			return &gpus{driver, connections}, nil
		}
	}
	first := driver.Infos()[0]
	_ = driver.Close() // nothing was opened on it
	return nil, &cuda.OldGPUError{Name: first.Name, SM: first.SM}
}

// machine returns the GPUs as a machine, connected as --topo says, or else as they
// are found to be. A
// --topo that lacks them is another machine's: where the device may be chosen,
// that is simulated.
func (g *gpus) machine(p *Process, o *options) (*bench.Machine, defaults, error) {
	// Passes open it anew.
	defer func() { _ = g.driver.Close() }()
	began := time.Now()
	system, err := g.system(p, o)
	if err != nil {
		return nil, defaults{}, err
	}
	if lacking := g.lacking(system, max(1, o.Threads*o.GPUs)); lacking != "" {
		if o.device == "auto" {
			return simulated(p, o, fmt.Sprintf("topology %s is not this machine's, it lacks GPU %s", o.Topology, lacking))
		}
		return nil, defaults{}, refusef("--topo %s: it lacks GPU %s of this machine; leave it out, or simulate that machine with --device sim", o.Topology, lacking)
	}
	m := bench.CUDAMachine(g.driver, system, time.Since(began), func() (*cuda.Driver, error) { return p.openCUDA(g.connections) })
	m.Why = "found"
	if o.device == "cuda" {
		m.Why = "as asked"
	}
	return m, cudaDefaults, nil
}

func (g *gpus) system(p *Process, o *options) (*topo.System, error) {
	if o.Topology != "" {
		return loadTopology(o.Topology)
	}
	inv, err := hardware.Take(g.driver, p.openNVML, root())
	if err != nil {
		return nil, refusef("--device cuda: %w", err)
	}
	cfg, err := detection(lookup(p.Environ))
	if err != nil {
		return nil, err
	}
	machine, err := detect.Detect(inv.Source(), cfg)
	if err != nil {
		return nil, refusef("--device cuda: %w", err)
	}
	system, err := machine.System()
	if err != nil {
		return nil, refusef("--device cuda: the topology of this machine: %w; give one with --topo", err)
	}
	o.Topology = system.Name
	return system, nil
}

// lacking returns the address of the first of n GPUs that is not in a system, or
// "".
func (g *gpus) lacking(system *topo.System, n int) string {
	infos := g.driver.Infos()
	for _, info := range infos[:min(n, len(infos))] {
		bus, err := topo.ParseBusID(info.BusID)
		if err != nil {
			return info.BusID
		}
		if _, err := system.Place([]topo.BusID{bus}); err != nil {
			return info.BusID
		}
	}
	return ""
}

// detection returns what the variables, by getenv, say of how machines are seen.
func detection(getenv func(string) (string, bool)) (detect.Config, error) {
	settings, err := nccl.ReadTopologySettings(getenv)
	if err != nil {
		return detect.Config{}, refused{err}
	}
	cfg, err := settings.Detection(root())
	if err != nil {
		return detect.Config{}, refused{err}
	}
	if visible, set := getenv("CUDA_VISIBLE_DEVICES"); set {
		cfg.Visible = &visible
	}
	return cfg, nil
}
