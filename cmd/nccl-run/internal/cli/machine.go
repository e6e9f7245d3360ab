package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/nvml"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

func machineNames() string { return strings.Join(topo.Builtins(), ", ") }

// maxInput bounds the bytes of a topology, a graph file or a tuning table: thousands of devices
// take less.
const maxInput = 16 << 20

// readInput is like os.ReadFile for regular files of up to maxInput bytes:
// what opens a pipe waits for who writes to it.
func readInput(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s; a regular file is allowed", name, kindOf(info.Mode()))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	// It was only read: closing it has nothing to report.
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if len(data) > maxInput {
		return nil, fmt.Errorf("%s has more than %d bytes; what is read here is never so large", name, maxInput)
	}
	return data, err
}

// kindOf names what is no regular file.
func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// root holds the files of this machine.
func root() fs.FS { return os.DirFS("/") }

// leastSM is the oldest GPU that the kernels run on, compute capability times 10.
const leastSM = 70

// chooseMachine returns where the run happens, and the defaults that belong to
// it.
func chooseMachine(p *Process, o *options) (*bench.Machine, defaults, error) {
	began := time.Now()
	m, d, err := func() (*bench.Machine, defaults, error) {
		if o.device == "sim" {
			return simulated(p, o, "as asked")
		}
		g, err := openGPUs(p, bench.Connections(min(o.RanksPerGPU, bench.MaxRanksPerGPU)))
		switch {
		case err != nil && o.device == "cuda":
			return nil, defaults{}, refusef("--device cuda: %w; nccl-run doctor says what to do", err)
		case err != nil:
			return simulated(p, o, reason(err))
		}
		return g.machine(p, o)
	}()
	if m != nil {
		m.Began(began)
	}
	return m, d, err
}

// reason is why there is no GPU to run on or no NVML, in a few words.
func reason(err error) string {
	for _, known := range []error{cuda.ErrNoDriver, cuda.ErrNoDevice, nvml.ErrNoNVML} {
		if errors.Is(err, known) {
			words, _, _ := strings.Cut(known.Error(), ";")
			return words
		}
	}
	return err.Error()
}

// simulated returns the PTX machine.
func simulated(p *Process, o *options, why string) (*bench.Machine, defaults, error) {
	settings, err := nccl.ReadTopologySettings(lookup(p.Environ))
	if err != nil {
		return nil, defaults{}, refused{err}
	}
	o.Topology = cmp.Or(o.Topology, settings.File, simDefaults.topology)
	system, err := loadTopology(o.Topology)
	if err != nil {
		return nil, defaults{}, err
	}
	m, err := bench.PTXMachine(system)
	if err != nil {
		return nil, defaults{}, refusef("--topo %s: %w", o.Topology, err)
	}
	m.Why = why
	d := simDefaults
	if o.WeakMemory {
		d.maxBytes = simMaxBytesWeak
	}
	return m, d, nil
}

// loadTopology returns the machine that --topo names: a built-in description, a
// topology file, or a capture.
func loadTopology(name string) (*topo.System, error) {
	machine, err := replay(name, detect.Config{})
	var system *topo.System
	switch {
	case err != nil:
	case machine != nil:
		system, err = machine.System()
	default:
		system, err = topo.Load(name, readInput)
	}
	if err != nil {
		return nil, refusef("--topo: %w", err) // which names it
	}
	if system.NRanks() == 0 {
		return nil, refusef("--topo %s: no GPU in it", name)
	}
	return system, nil
}

// replay detects the machine of a capture; nil if the file is none.
func replay(name string, cfg detect.Config) (*detect.Machine, error) {
	data, err := readInput(name)
	if err != nil || !detect.IsCapture(data) {
		return nil, nil // a name, or a topology file, which says what is wrong with it
	}
	capture, err := detect.ReadCapture(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	machine, err := detect.Detect(capture.Source(), cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	machine.Document.Name = name
	return machine, nil
}
