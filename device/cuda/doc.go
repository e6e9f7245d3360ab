// Package cuda is a device.Driver on real GPUs: the CUDA driver library,
// libcuda, called without cgo and without the CUDA toolkit.
//
// It knows no collective: ranks and channels are text labels that callers
// attach to allocations and launches.
//
// Read in this order: [Open] and [Config]; library.go (what is bound);
// device.go; stream.go and launch.go, the hot path; load.go, assembly.go, link.go
// and module.go (PTX to kernel); cache.go; memory.go, lane.go and ledger.go; wait.go;
// error.go.
//
// # Threads
//
// The driver keeps a current context for each OS thread, and a goroutine may
// run on any. So every call that needs a context holds its goroutine to the
// thread, makes the device's context current there, calls the driver and lets
// the thread go (enter and leave in device.go). The context stays current on
// that thread: code that keeps a context of its own current on a thread it
// locked must make it current again after calling this package.
//
// # Contexts and ownership
//
// A device's primary context is retained when the device is opened and
// released when the driver is closed, never reset: the CUDA runtime and other
// libraries of the process share it. Everything made here that is still open
// when the driver is closed is freed then. If work is still running the memory
// it may use stays allocated until the process ends, for freeing would wait.
//
// All methods may be called by several goroutines at once, with one exception:
// closing or unloading a thing while another goroutine calls it. A call after
// that is refused.
//
// # Loading
//
// Loading a module waits until the device is idle; assembling PTX does not. So
// [Device.LoadModules] first gets all cubins, assembling on all cores those that
// are neither at hand, for another device of the kind, nor on disk
// ([CacheConfig]), and then loads them. [Driver.Warm] does the first part alone.
// Modules are loaded whole, not kernel by kernel at first use: [Open] sets
// CUDA_MODULE_LOADING to EAGER unless it has a value. [Driver.Startup] says what
// all this took.
//
// # Errors
//
// A driver call that fails is an [*Error]: the call, its arguments, the
// driver's name and text for the code. One that a kernel causes is sticky, as
// in the driver: every later call on that device returns the first one, which
// names the last launch of each stream that had work. The driver does not say
// where a kernel failed, so none is a device.Fault. No driver, no GPU, too old
// a driver and too old a GPU are [ErrNoDriver], [ErrNoDevice],
// [*OldDriverError] and [*OldGPUError].
package cuda
