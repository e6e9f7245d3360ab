package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/topo"
)

func machineNames() string { return strings.Join(topo.Builtins(), ", ") }

// maxTopology bounds the bytes of a topology file: thousands of GPUs take less,
// and a device file has no end.
const maxTopology = 16 << 20

// readTopology is like os.ReadFile for files of up to maxTopology bytes.
func readTopology(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	// It was only read: closing it has nothing to report.
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxTopology+1))
	if len(data) > maxTopology {
		return nil, fmt.Errorf("%s is no topology file: it has more than %d bytes", name, maxTopology)
	}
	return data, err
}

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
	system, err := topo.Load(o.Topology, readTopology)
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
