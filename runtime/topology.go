package nccl

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// TopologySettings are what NCCL_* variables say of how the machine that a program
// runs on is seen.
type TopologySettings struct {
	// File is the topology file that wins over what is found, "" for none.
	// (NCCL_TOPO_FILE)
	File string
	// DumpFile is where InitAll writes the topology file of a communicator, "" for
	// nowhere. (NCCL_TOPO_DUMP_FILE)
	DumpFile string
	// Nets says which network ports are used. (NCCL_SOCKET_IFNAME, NCCL_IB_HCA,
	// NCCL_IB_DISABLE)
	Nets detect.NetFilter
}

// ReadTopologySettings reads the variables by getenv, which is like os.LookupEnv. A
// value that is none is refused with the variable's name.
func ReadTopologySettings(getenv func(string) (string, bool)) (*TopologySettings, error) {
	e := &environment{getenv: getenv}
	s := &TopologySettings{}
	e.topology(s)
	if e.err != nil {
		return nil, e.err
	}
	return s, nil
}

func (e *environment) topology(s *TopologySettings) {
	_, s.File, _ = e.lookup("NCCL_TOPO_FILE")
	_, s.DumpFile, _ = e.lookup("NCCL_TOPO_DUMP_FILE")
	_, s.Nets.Sockets, _ = e.lookup("NCCL_SOCKET_IFNAME")
	_, s.Nets.Verbs, _ = e.lookup("NCCL_IB_HCA")
	e.flag(&s.Nets.NoVerbs, true, "NCCL_IB_DISABLE")
}

// Detection returns the settings of package detect. It reads the topology file from
// root, which holds the files of the machine as os.DirFS("/") does.
func (s *TopologySettings) Detection(root fs.FS) (detect.Config, error) {
	cfg := detect.Config{Nets: s.Nets}
	if s.File == "" {
		return cfg, nil
	}
	path, err := filepath.Abs(s.File)
	if err == nil {
		path = cmp.Or(strings.TrimPrefix(filepath.ToSlash(path), "/"), ".")
		cfg.File, err = detect.ReadFile(root, path, s.File)
	}
	return cfg, result.Wrap(result.InvalidArgument, "NCCL_TOPO_FILE", err)
}

// detect finds the machine that the devices are in.
func (cfg *Config) detect() (*topo.System, error) {
	root := cfg.Files
	if root == nil {
		root = os.DirFS("/")
	}
	settings, err := cfg.topology.Detection(root)
	if err != nil {
		return nil, err
	}
	src := detect.Source{Files: root, Arch: runtime.GOARCH}
	seen := map[device.Device]bool{}
	for _, dev := range cfg.Devices {
		if !seen[dev] {
			seen[dev] = true
			info := dev.Info()
			src.GPUs = append(src.GPUs, detect.GPU{BusID: info.BusID, SM: info.SM, GDR: info.GPUDirectRDMA, DMABuf: info.DMABuf})
		}
	}
	open := cfg.openNVML
	if open == nil {
		open = nvml.Open
	}
	if src.NVML, src.NoNVML = open(); src.NoNVML == nil {
		// It was only read: closing it has nothing to report.
		defer func() { _ = src.NVML.Close() }()
	}
	machine, err := detect.Detect(src, settings)
	if err != nil {
		return nil, err
	}
	return machine.System()
}

// dump writes the topology of a communicator to the file of NCCL_TOPO_DUMP_FILE.
func (cfg *Config) dump(system *topo.System) error {
	if cfg.topology.DumpFile == "" {
		return nil
	}
	var text bytes.Buffer
	// A bytes.Buffer takes everything.
	_, _ = system.Document().WriteTo(&text)
	if err := os.WriteFile(cfg.topology.DumpFile, text.Bytes(), 0o666); err != nil {
		return result.New(result.SystemError, "NCCL_TOPO_DUMP_FILE", "%w", err)
	}
	return nil
}

var errNoAddress = errors.New("nil, and a device that has no PCI address cannot be found in this machine; load a topology file or a built-in description with topo.Load")
