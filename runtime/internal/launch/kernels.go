package launch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Kernels are the kernels that are loaded on a device. All communicators of the
// process on that device share them.
type Kernels struct {
	dev       device.Device
	modules   []device.Module
	functions map[*generated.Kernel]device.Function
	users     int // guarded by loaded.mu
}

// loaded has the kernels of every device with a communicator.
var loaded = struct {
	mu       sync.Mutex
	byDevice map[device.Device]*Kernels // guarded by mu
}{byDevice: map[device.Device]*Kernels{}}

// Load returns the kernels of dev with at least those wanted, which the user
// gives back with [Kernels.Release].
//
// The first user decides what is loaded: loading waits for the device, and once
// there are communicators the device may be waiting for a peer. A later one that
// wants more is refused with ErrInvalidUsage. progress, which may be nil, is told
// how many of those that have to be loaded are ready.
func Load(ctx context.Context, dev device.Device, wanted []*generated.Kernel, progress device.Progress) (*Kernels, error) {
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if k := loaded.byDevice[dev]; k != nil {
		for _, kernel := range wanted {
			if k.functions[kernel] == nil {
				return nil, result.New(result.InvalidUsage, "load kernels",
					"%s is not loaded on GPU %d, and can no longer be: the first communicator of the process there loaded %d kernels; name all that will be needed in its Config.Kernels, or close its communicators first",
					kernel.Symbol, dev.Ordinal(), len(k.functions))
			}
		}
		k.users++
		return k, nil
	}
	k := &Kernels{dev: dev, functions: map[*generated.Kernel]device.Function{}, users: 1}
	if err := k.load(ctx, wanted, progress); err != nil {
		return nil, errors.Join(err, k.unload())
	}
	loaded.byDevice[dev] = k
	return k, nil
}

func (k *Kernels) load(ctx context.Context, wanted []*generated.Kernel, progress device.Progress) error {
	sources := make([]device.Source, len(wanted))
	for i, kernel := range wanted {
		text, err := kernel.PTX()
		if err != nil {
			return err
		}
		sources[i] = device.Source{Name: kernel.Symbol + ".ptx", PTX: text}
	}
	var err error
	if k.modules, err = device.LoadModules(ctx, k.dev, sources, progress); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return result.New(result.Timeout, "load kernels", "%w", err)
		}
		return fmt.Errorf("load kernels on GPU %d: %w", k.dev.Ordinal(), err)
	}
	for i, kernel := range wanted {
		f, err := k.modules[i].Function(kernel.Symbol)
		if err != nil {
			return fmt.Errorf("load %s on GPU %d: %w", kernel.Symbol, k.dev.Ordinal(), err)
		}
		k.functions[kernel] = f
	}
	return nil
}

// Function returns the loaded function of a kernel, nil if it is not loaded.
func (k *Kernels) Function(kernel *generated.Kernel) device.Function { return k.functions[kernel] }

// Len returns how many kernels are loaded.
func (k *Kernels) Len() int { return len(k.functions) }

// Occupancy returns how many CTAs of threads threads of any loaded kernel, the
// largest included, one SM holds at once.
func (k *Kernels) Occupancy(threads int) (int, error) {
	least := 0
	for kernel, f := range k.functions {
		n, err := f.Occupancy(min(threads, f.MaxThreads()))
		if err != nil {
			return 0, fmt.Errorf("occupancy of %s on GPU %d: %w", kernel.Symbol, k.dev.Ordinal(), err)
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least, nil
}

// Release gives the kernels back. The last user unloads them; nothing it
// launched may be running.
func (k *Kernels) Release() error {
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if k.users--; k.users > 0 {
		return nil
	}
	delete(loaded.byDevice, k.dev)
	return k.unload()
}

func (k *Kernels) unload() error {
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, m.Unload())
	}
	return errors.Join(errs...)
}
