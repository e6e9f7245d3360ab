package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/cubin"
)

// assembly is a cubin, there or in the making.
type assembly struct {
	key  cubin.Key
	done chan struct{} // closed when what follows is set

	cubin    []byte
	err      error
	fromDisk bool
}

// assemblies are the cubins of a driver, which its devices of one kind share.
// They are kept: a module that is loaded again needs no disk.
type assemblies struct {
	// slots holds a token for each core that may be at work.
	slots chan struct{}

	mu    sync.Mutex
	byKey map[cubin.Key]*assembly // guarded by mu; without those that failed
}

// claim returns the assembly of a key, and whether it is new and the caller's to
// finish.
func (a *assemblies) claim(k cubin.Key) (_ *assembly, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.byKey[k]; known != nil {
		return known, false
	}
	as := &assembly{key: k, done: make(chan struct{})}
	a.byKey[k] = as
	return as, true
}

// finish makes a claimed assembly known as done, or, if it failed, unknown.
func (a *assemblies) finish(as *assembly) {
	if as.err != nil {
		a.forget(as)
	}
	close(as.done)
}

// forget makes the next claim of the key begin anew.
func (a *assemblies) forget(as *assembly) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[as.key] == as {
		delete(a.byKey, as.key)
	}
}

// cubins returns the cubin of each source, all of them or none and why. They are
// read from disk or else assembled, on all cores.
func (d *Device) cubins(ctx context.Context, sources []device.Source, progress device.Progress) ([]*assembly, error) {
	defer func(began time.Time) {
		d.drv.startup.add(func(s *Startup) { s.Cubins += time.Since(began) })
	}(time.Now())
	if err := d.enter(); err != nil {
		return nil, err // once, and not for each source
	}
	d.leave()
	all, errs := make([]*assembly, len(sources)), make([]error, len(sources))
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		done int // guarded by mu
	)
	// In an order of its own, so that processes that start together, each looking
	// on the disk before it assembles, share the work.
	for _, i := range rand.Perm(len(sources)) {
		wg.Go(func() {
			if all[i], errs[i] = d.assembly(ctx, sources[i]); errs[i] != nil || progress == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(sources))
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cuda: GPU %d: make %d modules ready: %w", d.ordinal, len(sources), err)
	}
	return all, joinSome(errs)
}

// assembly returns the cubin of a source.
func (d *Device) assembly(ctx context.Context, s device.Source) (*assembly, error) {
	if isCubin(s.PTX) {
		return &assembly{cubin: s.PTX}, nil
	}
	recipe := cubin.Recipe{PTX: s.PTX, Driver: d.drv.assembler, GPU: fmt.Sprintf("sm_%d", d.Info().SM), How: linkOptions}
	for key := recipe.Key(); ; {
		a, mine := d.drv.assemblies.claim(key)
		if mine {
			d.finishAssembly(ctx, a, s)
			return a, a.err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if a.err == nil {
			d.drv.startup.add(func(s *Startup) { s.Shared++ })
			return a, nil
		}
		// What went wrong there, on another device perhaps, need not here.
	}
}

// finishAssembly finds the cubin of a claimed assembly, when a core is free.
func (d *Device) finishAssembly(ctx context.Context, a *assembly, s device.Source) {
	all := &d.drv.assemblies
	defer all.finish(a)
	select {
	case all.slots <- struct{}{}:
		defer func() { <-all.slots }()
	case <-ctx.Done():
	}
	if a.err = ctx.Err(); a.err != nil {
		return
	}
	if image, ok := d.drv.store.Get(a.key); ok && isCubin(image) {
		a.cubin, a.fromDisk = image, true
		d.drv.startup.add(func(s *Startup) { s.FromDisk++ })
		return
	}
	if a.cubin, a.err = d.link(s); a.err == nil {
		d.drv.store.Put(a.key, a.cubin)
	}
}

// link assembles a source and counts it.
func (d *Device) link(s device.Source) ([]byte, error) {
	began := time.Now()
	image, err := d.Assemble(s.Name, s.PTX)
	if err == nil {
		took := time.Since(began)
		d.drv.startup.add(func(s *Startup) { s.Linking += took; s.Assembled++ })
	}
	return image, err
}

// mostErrors is how many errors one error reports in full: where every kernel
// fails for the same reason, a thousand texts say no more.
const mostErrors = 10

// joinSome joins the errors that are not nil; of more than mostErrors it counts
// the rest.
func joinSome(errs []error) error {
	var some []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(some) == mostErrors:
			more++
		default:
			some = append(some, err)
		}
	}
	switch {
	case more > 0:
		some = append(some, fmt.Errorf("cuda: and %d more of %d modules", more, len(errs)))
	case len(some) == 1:
		return some[0]
	}
	return errors.Join(some...)
}
