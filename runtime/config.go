package nccl

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/topo"
)

// Config says what [InitAll] makes. Devices are needed; the zero value of every
// other field is a good choice. Where an NCCL_* variable and a
// field speak of the same thing the variable wins, as in NCCL.
type Config struct {
	// Devices holds the device of each rank. A device that appears several times
	// carries several ranks. All come from one driver.
	Devices []device.Device
	// System is the machine. The GPU of rank i is the one with the PCI address of
	// Devices[i], or, where the device has none, the one with its ordinal. It must
	// have the device's compute capability, if the description says one. Nil means
	// the machine that the program runs on, as sysfs and NVML say it is; what they do
	// not say is in the log. (NCCL_TOPO_FILE, which does not count if System is given)
	System *topo.System
	// Files are those of the machine, where System is nil: the root of its file
	// system; nil means os.DirFS("/").
	Files fs.FS

	// MinChannels and MaxChannels bound the channels of an operation, which is
	// also the number of its CTAs on each GPU; equal, they fix it. 0 leaves the
	// choice to the planner. (NCCL_MIN_CTAS, NCCL_MAX_CTAS and their older names
	// NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS)
	MinChannels, MaxChannels int
	// Threads is the most threads of a CTA, a multiple of 32; 0 leaves the choice
	// to the planner. (NCCL_NTHREADS and NCCL_LL128_NTHREADS, each for some protocols)
	Threads int
	// Algos and Protos are what the planner may choose from; empty means all.
	// (NCCL_ALGO, NCCL_PROTO, which may say it for each function)
	Algos  []coll.Algo
	Protos []coll.Proto
	// BufferBytes is the size of each connection's FIFO, by protocol; 0 means the
	// default. (NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, NCCL_BUFFSIZE)
	BufferBytes [coll.NumProtos]int

	// NCCLChannels keeps the channels that NCCL's search finds also where better ones
	// are known. (NCCLGO_BETTER_CHANNELS=0)
	NCCLChannels bool

	// Tuning, if not nil, has choices that go before those of the planner's model;
	// [planner.ParseTuning] reads it.
	Tuning *planner.Tuning

	// Kernels names the variants that may be asked for, which every device must
	// have a kernel of; nil means all that are built. They are loaded before InitAll returns. The first communicator of
	// the process on a device decides for later ones, because a module cannot be
	// loaded while a collective may be in flight.
	Kernels []coll.Variant

	// NoGraphMixing saves what keeps operations in graphs in order with those of
	// other graphs and those outside of any. The user then orders them, by streams
	// and events, and synchronizes the streams that graphs were launched on before
	// Close. (NCCL_GRAPH_MIXING_SUPPORT=0)
	NoGraphMixing bool

	// Logger receives what happens, with NCCL's subsystem in attribute "subsys"
	// (INIT, GRAPH, TUNING, COLL); nil means none, or, if NCCL_DEBUG is set, text on
	// standard error at its level.
	Logger *slog.Logger
	// OnLoad, if not nil, is called by InitAll as kernels become ready, of those
	// that have to be loaded: done of total, over all devices. It must be quick.
	OnLoad func(done, total int)
	// OnLaunch, if not nil, is called for every kernel launch, in the
	// communicator's order; launches that a capture records count when they are
	// recorded. It must be quick and must not call the communicator.
	OnLaunch func(LaunchInfo)
	// Getenv looks up a variable, like os.LookupEnv, which is the usual value. Nil
	// means that there is no environment. It is called only by InitAll.
	Getenv func(name string) (value string, ok bool)

	// FirstStep is the step at which every connection starts, at most 1<<62, so
	// that steps never wrap around. Tests set it near the values at which a
	// protocol's flags do.
	FirstStep uint64

	topology TopologySettings
	openNVML func() (nvml.API, error) // nil: nvml.Open
	settings planner.Settings         // what variables say of decisions
}

// MaxChannels is the most channels a communicator may have (MAXCHANNELS, NCCL
// v2.30 src/include/device.h).
const MaxChannels = abi.MaxChannels

const (
	// minThreads is the fewest threads of a CTA: two warps.
	minThreads = 2 * abi.WarpSize
	// A FIFO's slots are a multiple of 128 bytes, those of LL128 of what a warp
	// sends at least.
	bufferUnit      = abi.NumSteps * 128
	ll128BufferUnit = abi.NumSteps * abi.LL128TileBytes
	maxBufferBytes  = 1 << 30
	// maxFirstStep leaves steps for longer than any GPU lasts: each is a transfer.
	maxFirstStep = 1 << 62
)

// complete applies the environment, fills in what has a default and refuses what
// cannot be.
func (cfg *Config) complete() error {
	bad := func(field, format string, args ...any) error {
		return result.New(result.InvalidArgument, opInit, "Config.%s: %w", field, fmt.Errorf(format, args...))
	}
	env := environment{getenv: cfg.Getenv}
	if env.apply(cfg); env.err != nil {
		return env.err
	}
	if len(cfg.Devices) == 0 {
		return bad("Devices", "no devices; give the device of each rank")
	}
	for rank, dev := range cfg.Devices {
		if dev == nil {
			return bad("Devices", "the device of rank %d is nil; open it with device.Driver.Open", rank)
		}
	}
	if err := oneDriver(cfg.Devices); err != nil {
		return bad("Devices", "%w", err)
	}
	if cfg.System == nil {
		for _, dev := range cfg.Devices {
			if dev.Info().BusID == "" {
				return bad("System", "%w", errNoAddress)
			}
		}
	}
	if cfg.Kernels != nil && len(cfg.Kernels) == 0 {
		return bad("Kernels", "names no kernel; nil means all")
	}
	for _, f := range []struct {
		name  string
		value *int
		least int
		most  int
		unit  int
	}{
		{"MinChannels", &cfg.MinChannels, 1, MaxChannels, 1},
		{"MaxChannels", &cfg.MaxChannels, 1, MaxChannels, 1},
		{"Threads", &cfg.Threads, minThreads, abi.MaxThreads, abi.WarpSize},
		{"BufferBytes[LL]", &cfg.BufferBytes[coll.LL], bufferUnit, maxBufferBytes, bufferUnit},
		{"BufferBytes[LL128]", &cfg.BufferBytes[coll.LL128], ll128BufferUnit, maxBufferBytes, ll128BufferUnit},
		{"BufferBytes[Simple]", &cfg.BufferBytes[coll.Simple], bufferUnit, maxBufferBytes, bufferUnit},
	} {
		if v := *f.value; v != 0 && (v < f.least || v > f.most || v%f.unit != 0) {
			allowed := "a number"
			if f.unit > 1 {
				allowed = fmt.Sprintf("a multiple of %d", f.unit)
			}
			return bad(f.name, "%d; 0 (the default) or %s from %d to %d is allowed", v, allowed, f.least, f.most)
		}
	}
	if cfg.MinChannels > 0 && cfg.MaxChannels > 0 && cfg.MinChannels > cfg.MaxChannels {
		return bad("MinChannels", "%d is more than MaxChannels, which is %d", cfg.MinChannels, cfg.MaxChannels)
	}
	if cfg.FirstStep > maxFirstStep {
		return bad("FirstStep", "%d; 0 (the default) to %d is allowed", cfg.FirstStep, uint64(maxFirstStep))
	}
	for _, a := range cfg.Algos {
		if int(a) >= coll.NumAlgos {
			return bad("Algos", "algorithm %d is unknown; known are 0 (%v) to %d (%v)", a, coll.Algo(0), coll.NumAlgos-1, coll.Algo(coll.NumAlgos-1))
		}
	}
	for _, p := range cfg.Protos {
		if int(p) >= coll.NumProtos {
			return bad("Protos", "protocol %d is unknown; known are 0 (%v) to %d (%v)", p, coll.Proto(0), coll.NumProtos-1, coll.Proto(coll.NumProtos-1))
		}
	}
	return nil
}

// oneDriver refuses devices that cannot be of one driver: of different kinds, or
// two with the same ordinal. Two drivers of one kind whose ordinals differ are
// refused when a rank's device is to access the next one's memory.
func oneDriver(devices []device.Device) error {
	ranks := map[int]int{} // the first on each ordinal
	for rank, dev := range devices {
		before, seen := ranks[dev.Ordinal()]
		switch {
		case reflect.TypeOf(dev) != reflect.TypeOf(devices[0]):
			return fmt.Errorf("rank 0 is on a %T and rank %d on a %T; open the devices of all ranks with one driver", devices[0], rank, dev)
		case !seen:
			ranks[dev.Ordinal()] = rank
		case dev != devices[before]:
			return fmt.Errorf("ranks %d and %d are each on a GPU %d, of two drivers; open the devices of all ranks with one driver", before, rank, dev.Ordinal())
		}
	}
	return nil
}

// options returns what the fields of Config fix of every choice. Where a variable
// speaks of a function, the field does not; of the others it says what a variable
// would.
func (cfg *Config) options() planner.Options {
	o := planner.Options{Algos: planner.Algos(cfg.Algos...), Protos: planner.Protos(cfg.Protos...)}
	s := &cfg.settings
	if s.Algos != (planner.AlgoRule{}) {
		for f := range s.Algos {
			s.Algos[f] = cmp.Or(s.Algos[f], o.Algos)
		}
		o.Algos = 0
	}
	if s.Protos != (planner.ProtoRule{}) {
		for f := range s.Protos {
			s.Protos[f] = cmp.Or(s.Protos[f], o.Protos)
		}
		o.Protos = 0
	}
	return o
}

// limits returns the planner's limits.
func (cfg *Config) limits() planner.Limits {
	l := planner.DefaultLimits()
	l.MinChannels = cmp.Or(cfg.MinChannels, l.MinChannels)
	l.MaxChannels = cmp.Or(cfg.MaxChannels, MaxChannels)
	l.MaxThreads = cmp.Or(cfg.Threads, abi.MaxThreads)
	for p := range cfg.BufferBytes {
		l.BufferBytes[p] = cmp.Or(cfg.BufferBytes[p], l.BufferBytes[p])
	}
	l.NumSteps = abi.NumSteps
	l.ChunkSteps = [coll.NumProtos]int{coll.LL: 1, coll.LL128: 1, coll.Simple: abi.SimpleChunkSteps}
	return l
}
