package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

var _ device.ModuleLoader = (*Device)(nil)

// LoadModule makes the kernels of a module ready: PTX text, or a cubin such as
// Assemble returns. The driver waits until the device is idle.
func (d *Device) LoadModule(name string, image []byte) (device.Module, error) {
	modules, err := d.LoadModules(context.Background(), []device.Source{{Name: name, PTX: image}}, nil)
	if err != nil {
		return nil, err
	}
	return modules[0], nil
}

// LoadModules makes the kernels of modules ready, as [device.LoadModules] says.
// What is neither at hand nor on disk is assembled on all cores, which waits for
// no device; then all are loaded, for which the driver waits until this device is
// idle. progress counts the sources of the first part.
func (d *Device) LoadModules(ctx context.Context, sources []device.Source, progress device.Progress) ([]device.Module, error) {
	all, err := d.cubins(ctx, sources, progress)
	if err != nil {
		return nil, err
	}
	defer func(began time.Time) {
		d.drv.startup.add(func(s *Startup) { s.Loading += time.Since(began) })
	}(time.Now())
	modules, errs := make([]device.Module, 0, len(sources)), make([]error, len(sources))
	for i, a := range all {
		if err := ctx.Err(); err != nil {
			errs[i] = fmt.Errorf("cuda: GPU %d: load %d modules: %w", d.ordinal, len(sources), err)
			break
		}
		m, err := d.load(sources[i], a)
		if err != nil {
			errs[i] = err
			continue
		}
		modules = append(modules, m)
	}
	if err := joinSome(errs); err != nil {
		for _, m := range modules {
			err = errors.Join(err, m.Unload())
		}
		return nil, err
	}
	d.drv.startup.add(func(s *Startup) { s.Modules += len(modules) })
	return modules, nil
}

// load loads a cubin. One from the disk that the driver refuses, though it is
// whole, is assembled again: an earlier driver of the same name may have made it.
func (d *Device) load(s device.Source, a *assembly) (*Module, error) {
	m, err := d.loadCubin(s.Name, a.cubin)
	var e *Error
	if !a.fromDisk || !errors.As(err, &e) || e.Code != invalidImage && e.Code != noBinaryForGPU {
		return m, err
	}
	d.drv.assemblies.forget(a)
	image, err := d.link(s)
	if err != nil {
		return nil, err
	}
	d.drv.store.Put(a.key, image)
	return d.loadCubin(s.Name, image)
}

func (d *Device) loadCubin(name string, image []byte) (*Module, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	m := &Module{dev: d, name: name, image: image}
	rc := d.lib.moduleLoadData.Call(uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&image[0])))
	if err := d.check("cuModuleLoadData", rc, "GPU %d, %s, a cubin of %d bytes", d.ordinal, name, len(image)); err != nil {
		return nil, err
	}
	d.keep(m)
	return m, nil
}

// Warm assembles what LoadModules will be asked for on any of the GPUs, and
// keeps it on disk; it loads nothing and waits for no device. GPUs that are too
// old are passed over, unless all are. progress counts the sources of every kind
// of GPU. It is an error if nothing can be kept.
func (d *Driver) Warm(ctx context.Context, sources []device.Source, progress device.Progress) error {
	var kinds []*Device // one GPU of each
	seen := map[int]bool{}
	for i, info := range d.infos {
		if seen[info.SM] {
			continue
		}
		dev, err := d.Open(i)
		var old *OldGPUError
		if errors.As(err, &old) && (len(kinds) > 0 || i < len(d.infos)-1) {
			continue
		}
		if err != nil {
			return err
		}
		seen[info.SM] = true
		kinds = append(kinds, dev.(*Device))
	}
	for n, dev := range kinds {
		var counted device.Progress
		if progress != nil {
			counted = func(done, total int) { progress(n*total+done, len(kinds)*total) }
		}
		if _, err := dev.cubins(ctx, sources, counted); err != nil {
			return err
		}
	}
	return d.store.Problem()
}
