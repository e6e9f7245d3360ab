package bench

import (
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/planner"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// Machine is where a run happens.
type Machine struct {
	Device string // "cuda" or "sim"
	Why    string // why this device, in a few words
	System *topo.System
	// TimeSource says whose time is measured.
	TimeSource string
	// Describe says in a few words what the first GPUs are.
	Describe func(gpus int) string

	// gpus are the devices, by number.
	gpus []device.Info
	// maxBuffer returns the most bytes of a buffer that c's ranks have room for.
	maxBuffer func(c *Config) int64
	// open makes a driver with the GPUs of a run; equal seeds give equal schedules
	// where the driver has a say in them.
	open func(c *Config, seed uint64) (device.Driver, error)
	// eager: waiting for the device costs less if it is asked without a pause.
	eager bool

	began time.Time // when the command did
	// startup says what a driver spent on making kernels ready; nil if it does not
	// tell.
	startup func(d device.Driver) []report.Phase
}

// NumGPUs returns how many GPUs the machine has.
func (m *Machine) NumGPUs() int { return len(m.gpus) }

// oldest returns the number of the GPU of the lowest compute capability, among the
// first.
func (m *Machine) oldest(gpus int) int {
	oldest := 0
	for i, g := range m.gpus[:gpus] {
		if g.SM < m.gpus[oldest].SM {
			oldest = i
		}
	}
	return oldest
}

// where names the machine in refusals.
func (m *Machine) where() string {
	if m.Device == "sim" {
		return "topology " + m.System.Name
	}
	return "this machine"
}

// instead is what else than fewer GPUs may be asked for.
func (m *Machine) instead() string {
	if m.Device == "sim" {
		return ", or another topology (--topo)"
	}
	return ", or --device sim"
}

// suits refuses what c asks of a machine of the other kind.
func (m *Machine) suits(c *Config) error {
	simulated := m.Device == "sim"
	switch {
	case simulated && c.Rival != "":
		return refuse("--vs %s: NCCL needs GPUs; use --device cuda, or leave --vs out", c.Rival)
	case !simulated && c.HangRank >= 0:
		return refuse("--plant-hang %d: only the PTX machine sees that nobody can go on, a GPU would wait for ever; use --device sim", c.HangRank)
	case !simulated && c.WeakMemory:
		return refuse("--weak-memory: only the PTX machine has memory models to choose from, a GPU has its own; use --device sim, or leave --weak-memory out")
	case !simulated && c.RanksPerGPU > MaxRanksPerGPU:
		return refuse("--ranks-per-gpu %d: kernels that wait for one another need a hardware queue each, and a GPU has %d", c.RanksPerGPU, MaxRanksPerGPU)
	}
	return nil
}

// unsafe returns why a protocol must not be used between c's ranks, "" if it may, over
// the rings that communicators have with the variables of getenv.
func (m *Machine) unsafe(c *Config, p coll.Proto, getenv func(string) (string, bool)) (string, error) {
	buses := make([]topo.BusID, c.Ranks())
	for rank := range buses {
		bus, err := topo.ParseBusID(m.gpus[c.gpu(rank)].BusID)
		if err != nil {
			return "", err
		}
		buses[rank] = bus
	}
	system, err := m.System.Place(buses)
	if err != nil {
		return "", err
	}
	better, err := nccl.BetterChannels(getenv)
	if err != nil {
		return "", err
	}
	layout, err := topo.ConnectHost(system, better)
	if err != nil {
		return "", err
	}
	facts := planner.FactsOf(layout)
	return planner.Unsafe(p, &facts), nil
}
