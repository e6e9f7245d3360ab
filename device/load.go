package device

import (
	"context"
	"errors"
)

// Source is a PTX module that is to be loaded.
type Source struct {
	Name string // in errors, in place of a file name
	PTX  []byte
}

// Progress is told how many of a number of sources are ready to load. It is
// called by one goroutine at a time and must be quick.
type Progress func(done, total int)

// ModuleLoader is a Device that loads many modules in less time than one after
// another.
type ModuleLoader interface {
	Device
	// LoadModules does what [LoadModules] says.
	LoadModules(ctx context.Context, sources []Source, progress Progress) ([]Module, error)
}

// LoadModules makes the kernels of PTX modules ready and returns the modules in
// the order of their sources: all of them, or none and what was wrong with each
// that could not be loaded. It returns ctx's error soon after ctx ends. progress
// may be nil.
func LoadModules(ctx context.Context, d Device, sources []Source, progress Progress) ([]Module, error) {
	if l, ok := d.(ModuleLoader); ok {
		return l.LoadModules(ctx, sources, progress)
	}
	modules := make([]Module, 0, len(sources))
	var errs []error
	for i, s := range sources {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		m, err := d.LoadModule(s.Name, s.PTX)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		modules = append(modules, m)
		if progress != nil {
			progress(i+1, len(sources))
		}
	}
	if errs == nil {
		return modules, nil
	}
	for _, m := range modules {
		errs = append(errs, m.Unload())
	}
	return nil, errors.Join(errs...)
}
