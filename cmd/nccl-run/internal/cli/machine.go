package cli

import (
	"os"
	"strings"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/topo"
)

func machineNames() string { return strings.Join(topo.Builtins(), ", ") }

// chooseMachine returns where the run happens, before anything is opened, and
// the defaults that belong to it.
func chooseMachine(o *options) (*bench.Machine, defaults, error) {
	why := "no CUDA in this build"
	switch o.device {
	case "cuda":
		return nil, defaults{}, refusef("--device cuda: not in this build; use --device sim, the PTX machine")
	case "sim":
		why = "as asked"
	}
	if o.Topology == "" {
		o.Topology = simDefaults.topology
	}
	system, err := topo.Load(o.Topology, os.ReadFile)
	if err != nil {
		return nil, defaults{}, refusef("--topo %s: %w", o.Topology, err)
	}
	if system.NRanks() == 0 {
		return nil, defaults{}, refusef("--topo %s: no GPU in it", o.Topology)
	}
	m, err := bench.PTXMachine(system)
	if err != nil {
		return nil, defaults{}, refusef("--topo %s: %w", o.Topology, err)
	}
	m.Why = why
	return m, simDefaults, nil
}
