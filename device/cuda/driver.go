package cuda

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/cubin"
)

// Config says how to open the driver. The zero value is a good choice.
type Config struct {
	// MaxConnections is the least number of hardware queues that each device is
	// to have, at most 32; 0 leaves the driver's default of 8. Kernels that wait
	// for one another, as those of several ranks on one GPU do, need a queue each.
	// It takes effect when the process opens the driver first, and not at all if
	// another library did before.
	MaxConnections int
	// OneSyncDomain launches kernels in the memory synchronization domain of
	// everybody else's. Otherwise, on GPUs that have several (sm_90 and later),
	// they get their own, so that their fences do not wait for the stores of
	// kernels that run beside them.
	OneSyncDomain bool
	// Cache says where assembled kernels are kept.
	Cache CacheConfig
	// Logger is told, in a line, why kernels are not kept, or that one was damaged;
	// nil means nobody is.
	Logger *slog.Logger
}

// Driver is the CUDA driver with its GPUs. It implements [device.Driver].
type Driver struct {
	lib    *library
	cfg    Config
	infos  []device.Info
	memory ledger

	store      *cubin.Store
	assembler  string
	assemblies assemblies
	startup    startup

	graphs sync.Mutex // held while graphs under capture are changed directly

	mu sync.Mutex
	// What follows is guarded by mu.
	devices map[int]*Device
	closed  bool
}

var _ device.Driver = (*Driver)(nil)

// Open opens the CUDA driver. It makes no context yet. The errors that say what
// a machine lacks are [ErrNoDriver], [ErrNoDevice] and [*OldDriverError].
func Open(cfg Config) (*Driver, error) {
	lib, err := processLibrary()
	if err != nil {
		return nil, err
	}
	return open(lib, cfg)
}

func open(lib *library, cfg Config) (*Driver, error) {
	if err := lib.initialize(cfg); err != nil {
		return nil, err
	}
	n, err := lib.number(lib.deviceGetCount, "cuDeviceGetCount")
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, fmt.Errorf("cuda: %w", ErrNoDevice)
	}
	d := &Driver{lib: lib, cfg: cfg, infos: make([]device.Info, n), devices: map[int]*Device{},
		store: cfg.Cache.open(cfg.warn), assembler: lib.assembler(),
		assemblies: assemblies{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), byKey: map[cubin.Key]*assembly{}}}
	for i := range d.infos {
		if d.infos[i], err = lib.info(i); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// warn logs trouble that is no failure.
func (cfg *Config) warn(err error) {
	if cfg.Logger != nil {
		cfg.Logger.Warn(err.Error(), "subsys", "INIT")
	}
}

// Name returns "cuda".
func (d *Driver) Name() string { return "cuda" }

// Describe returns a line such as "CUDA 13.0, 2 x NVIDIA H200 (sm_90, 132 SMs)".
func (d *Driver) Describe() string {
	version, first := versionText(d.lib.version), d.infos[0]
	if slices.ContainsFunc(d.infos, func(i device.Info) bool { return i.Name != first.Name }) {
		return fmt.Sprintf("CUDA %s, %d GPUs", version, len(d.infos))
	}
	return fmt.Sprintf("CUDA %s, %d x %s (sm_%d, %d SMs)", version, len(d.infos), first.Name, first.SM, first.NumSMs)
}

// Version returns the newest CUDA that the driver supports, as 1000 x major +
// 10 x minor: 13000 is CUDA 13.0.
func (d *Driver) Version() int { return d.lib.version }

// Connections returns the number of hardware queues of each device.
func (d *Driver) Connections() int {
	d.lib.mu.Lock()
	defer d.lib.mu.Unlock()
	return d.lib.connections
}

// NumDevices returns the number of GPUs.
func (d *Driver) NumDevices() int { return len(d.infos) }

// Infos returns what is known of each GPU, those that are too old included. It
// makes no context.
func (d *Driver) Infos() []device.Info { return slices.Clone(d.infos) }

// Open returns GPU i, with its primary context retained.
func (d *Driver) Open(i int) (device.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errClosed
	case i < 0 || i >= len(d.infos):
		return nil, fmt.Errorf("cuda: open device %d: there are %d, numbered from 0", i, len(d.infos))
	case d.infos[i].SM < leastSM:
		return nil, &OldGPUError{Device: i, Name: d.infos[i].Name, SM: d.infos[i].SM}
	}
	if dev := d.devices[i]; dev != nil {
		return dev, nil
	}
	began := time.Now()
	dev, err := openDevice(d, i)
	if err != nil {
		return nil, err
	}
	d.startup.add(func(s *Startup) { s.Contexts += time.Since(began) })
	d.devices[i] = dev
	return dev, nil
}

// Close frees what was made on the devices and releases their contexts. It does
// not wait for kernels and cannot stop them: if a device has work left, what the
// work may use stays until the process ends, and the error says so. Goroutines
// that wait for a stream or an event return an error.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var busy []error
	for _, dev := range d.devices {
		// All before any is freed: a kernel may use the memory of a peer.
		if err := dev.shut(); err != nil {
			busy = append(busy, err)
		}
	}
	if len(busy) > 0 {
		return errors.Join(busy...)
	}
	var errs []error
	for _, dev := range d.devices {
		errs = append(errs, dev.release())
	}
	return errors.Join(errs...)
}
