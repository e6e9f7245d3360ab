package cuda

import (
	"sync"
	"time"
)

// Startup is what it took to make kernels ready so far, summed over the devices
// of a driver.
type Startup struct {
	Library  time.Duration // loading libcuda and binding its functions, by the first Open of the process
	Init     time.Duration // cuInit, likewise
	Contexts time.Duration // primary contexts
	Cubins   time.Duration // until the cubins were at hand: reading them, or assembling them on all cores
	Linking  time.Duration // the part of it in cuLink, summed over threads
	Loading  time.Duration // cuModuleLoadData

	Modules   int // loaded
	FromDisk  int // cubins that were on disk
	Assembled int // cubins that were assembled
	Shared    int // cubins that this process had at hand, for another device or an earlier module
}

// startup adds up a Startup.
type startup struct {
	mu    sync.Mutex
	total Startup // guarded by mu
}

func (s *startup) add(f func(total *Startup)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.total)
}

// Startup returns what it took so far to make kernels ready.
func (d *Driver) Startup() Startup {
	d.startup.mu.Lock()
	defer d.startup.mu.Unlock()
	total := d.startup.total
	d.lib.mu.Lock()
	defer d.lib.mu.Unlock()
	total.Library, total.Init = d.lib.loadTime, d.lib.initTime
	return total
}
