package bench

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/topo"
)

// Machine is where a run happens.
type Machine struct {
	Device string // "cuda" or "sim"
	Why    string // why this device, in a few words
	System *topo.System
	// TimeSource says whose time is measured.
	TimeSource string
	// MaxBuffers bounds the bytes of all buffers together; 0: the devices do.
	MaxBuffers int64
	// gpus are the devices of ranks 0, 1, ...
	gpus []device.Info
	// open makes a driver with the given devices; equal seeds give equal
	// schedules where the driver has a say in them.
	open func(gpus []device.Info, seed uint64) (device.Driver, error)
}

// maxSimulatedBuffers is the bound of the PTX machine, whose memory is the
// host's: a host that runs out of it kills the command without a word.
const maxSimulatedBuffers = 4 << 30

// PTXMachine returns the PTX machine in the shape of system, with one simulated
// GPU for each rank.
func PTXMachine(system *topo.System) (*Machine, error) {
	m := &Machine{
		Device: "sim", System: system, MaxBuffers: maxSimulatedBuffers,
		TimeSource: "times are the host's while it simulates, not a GPU's",
		open: func(gpus []device.Info, seed uint64) (device.Driver, error) {
			return sim.New(sim.Config{Devices: gpus, Seed: seed})
		},
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
	return m, nil
}

// Describe says in a few words what the first ranks GPUs are.
func (m *Machine) Describe(ranks int) string {
	var kinds []string
	for lo := 0; lo < ranks; {
		hi := lo
		for hi < ranks && m.gpus[hi].SM == m.gpus[lo].SM {
			hi++
		}
		kinds = append(kinds, fmt.Sprintf("%d x sm_%d, %d SMs", hi-lo, m.gpus[lo].SM, m.gpus[lo].NumSMs))
		lo = hi
	}
	return fmt.Sprintf("PTX machine, %s; topology %s", strings.Join(kinds, " + "), m.System.Name)
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
