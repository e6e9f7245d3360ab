package bench

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/topo"
)

// maxSimulatedBuffers bounds all buffers on the PTX machine, whose memory is the
// host's: a host that runs out of it kills the command without a word.
const maxSimulatedBuffers = 4 << 30

// PTXMachine returns the PTX machine in the shape of system, with one simulated
// GPU for each rank of it.
func PTXMachine(system *topo.System) (*Machine, error) {
	m := &Machine{
		Device: "sim", System: system,
		TimeSource: "times are the host's while it simulates, not a GPU's",
		// A sending and a receiving buffer of each rank, and up to two to work in:
		// the data of one rank and the parts under way.
		maxBuffer: func(c *Config) int64 { return maxSimulatedBuffers / int64(2*c.Ranks()+2) },
	}
	m.open = func(c *Config, seed uint64) (device.Driver, error) {
		return sim.New(sim.Config{Devices: m.gpus[:c.Threads*c.GPUs], Seed: seed, Weak: weak(c, system)})
	}
	for rank := range system.NRanks() {
		gpu := system.RankGPU(rank).GPU
		info, err := simulatedGPU(gpu.SM)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		info.BusID = gpu.BusID.String()
		m.gpus = append(m.gpus, info)
	}
	m.Describe = func(gpus int) string {
		return fmt.Sprintf("PTX machine, %s; topology %s", kinds(m.gpus[:gpus]), system.Name)
	}
	return m, nil
}

// weakNote says of a run that its memory is weak.
const weakNote = "weak memory (docs/MEMORY-MODEL.md): reads may be stale where nothing orders them, and races are faults"

// weak returns the memory model that c asks for, of GPUs that are connected as
// system says.
func weak(c *Config, system *topo.System) *sim.Weak {
	if !c.WeakMemory {
		return nil
	}
	return &sim.Weak{
		Facts: sim.AllFacts,
		// Paths are in the order of distance, and PIX is the first that leaves NVLink.
		PCIe: func(a, b int) bool { return system.Path(a, b).Type >= topo.PathPIX },
	}
}

// kinds says what GPUs are, equal neighbours together.
func kinds(gpus []device.Info) string {
	var all []string
	for lo := 0; lo < len(gpus); {
		hi := lo
		for hi < len(gpus) && gpus[hi].SM == gpus[lo].SM {
			hi++
		}
		all = append(all, fmt.Sprintf("%d x sm_%d, %d SMs", hi-lo, gpus[lo].SM, gpus[lo].NumSMs))
		lo = hi
	}
	return strings.Join(all, " + ")
}

// products are the GPUs whose limits are simulated, by compute capability.
var products = []device.Info{sim.V100(), sim.A100(), sim.L4(), sim.H100()}

// simulatedGPU returns the device that stands for a compute capability: with the
// limits of the newest product that is not newer.
func simulatedGPU(sm int) (device.Info, error) {
	if oldest := products[0].SM; sm < oldest {
		return device.Info{}, fmt.Errorf("sm_%d is older than sm_%d, the oldest GPU that the PTX machine simulates", sm, oldest)
	}
	var info device.Info
	for _, p := range products {
		if p.SM <= sm {
			info = p
		}
	}
	info.SM = sm
	info.Name = fmt.Sprintf("PTX machine, sm_%d with the limits of %s", sm, info.Name)
	return info, nil
}
