// Package sim is the PTX machine: a device.Driver whose GPUs are simulated. It
// executes decoded PTX (package device/ptx) over real divergence, barriers and
// memory, says exactly where a kernel goes wrong, and runs every interleaving
// from a seed.
//
// It knows no collective: ranks and channels are text labels that callers
// attach to allocations and launches. It is no performance model: its time
// advances by one nanosecond for each warp instruction, whatever the
// instruction.
//
// Read in this order: [New] and [Config]; machine.go (what there is) and
// drive.go (when it runs); sched.go, warp.go and split.go (who runs next);
// library.go and lower.go (PTX instruction to executable op); alloc.go, memory.go and
// exec_mem.go (addresses); barrier.go and warpsync.go; stuck.go and report.go;
// graph.go (captures); weak.go (the other memory model).
//
// # Execution
//
// Each instruction of a kernel becomes one op when its module is loaded, the first
// time in the process: a function with its registers resolved, run for a mask of
// lanes. A register is
// a row of 32 lanes; registers that are never live together share one
// (regalloc.go). A warp is a set of splits, each with a program counter and
// a mask; a warp that has not diverged has one. The scheduler picks a warp with
// the machine's seeded generator, lets it run 1 to Config.Quantum instructions,
// and picks again, over all kernels of all GPUs.
//
// Results are those of the PTX ISA, bit for bit; where it leaves one open they
// are an H200's (testdata/h200.txt), approximations excepted, which are
// correctly rounded.
//
// # Memory
//
// Memory is sequentially consistent, or weak, as Config.Weak says. Sequentially
// consistent, an instruction's accesses happen at once, in lane order. Weak, it is
// what docs/MEMORY-MODEL.md describes: read weak.go, view.go, shadow.go and race.go,
// then version.go, reading.go and late.go, and weakmem.go, weaksync.go and weakhost.go for what
// instructions, barriers and the host do. Ops get their loads, stores, atomics and
// fences from a memoryModel (memory.go), chosen when a module is lowered, so that
// each stands behind the same decoded instructions at no cost to the other.
//
// All memory is the host's. Config.MemoryBytes limits it, whatever the simulated
// GPUs have; large allocations take from the host only what is touched.
//
// # Time and progress
//
// The machine runs only while a host call waits or asks: Stream.Synchronize,
// Event.Synchronize and the Query methods. A program with one goroutine is
// therefore wholly deterministic from the seed. When every warp sleeps, time
// jumps. When no warp can progress the machine says who waits for what
// (stuck.go states the rule). A loop that reads no memory and never ends is no
// such wait: the end of the context given to Synchronize is what ends the call,
// and Close the loop.
//
// # Concurrency
//
// All methods may be called by several goroutines at once. One mutex guards
// the machine; whoever waits runs it, in slices of some thousand instructions,
// and gives the mutex up between slices. Host calls see and change memory
// between slices only.
//
// # After a fault
//
// Errors that kernels cause are *device.Fault and sticky for the whole machine,
// as a fault is for a CUDA context: the first wins, and every later call returns
// it, also those that free or open something. What is left to do is to read
// pinned host memory ([device.HostMem] Load32), to Close the Machine, which
// returns nil, and to make a new one: nothing of the old one can be used in it.
package sim
