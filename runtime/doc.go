// Package nccl is what a program imports: communicators, groups and collective
// operations on GPUs, or on the PTX machine.
//
//	import nccl "github.com/ncclgo/ncclgo/runtime"
//
// The folder is called runtime because it is the run-time half of the module;
// the package clause is nccl because every program that drives a GPU also needs
// the standard library's runtime.
//
// It is the composition root: it joins topo (what the machine is), planner
// (what to launch), generated (the kernels) and a device (where they run). It
// decides nothing of theirs, and it does not know which device it was given. It
// is the only reader of NCCL_* variables, through [Config.Getenv].
//
// # Reading order
//
// [Config] and [InitAll] make the communicators of all ranks of one process;
// [Comm.AllReduce] enqueues one operation, [Group] several as one. [Comm.Abort]
// releases kernels that wait for a rank that does not come, [Comm.AsyncError]
// tells what went wrong on the device, [Comm.Close] ends. The path of a call is
// allreduce.go (what may be asked), group.go (gather, lock, launch), plan.go
// (from calls to launches) and internal/launch (from launches to the device).
//
// # Order
//
// Any goroutine may call anything. Entering a communicator is a short critical
// section, and the order in which goroutines enter is the communicator's order
// of operations: it must be the same on every rank. A group enters all its
// communicators at once. Kernels of one communicator never overlap, whatever
// streams they are on. An operation starts when the work that was on its stream
// before is done, and later work on that stream waits for it; no call waits for
// the device, except [InitAll], [Comm.Finalize] and [Comm.Close].
//
// # Ownership
//
// Devices, streams and buffers belong to the caller and outlive the
// communicators that use them; a buffer may be reused or freed when the stream
// has passed the operation. A communicator is closed by its user, on every rank:
// what it holds on the devices is freed when the last rank is closed.
//
// # Errors
//
// Every error is an [*Error] with NCCL's result code, but one that the function
// given to [Group] returns, which is passed on; errors.Is with a sentinel
// such as [ErrInvalidArgument] asks for its kind, errors.As with
// [*device.Fault] or [*AbortedError] for the story. Arguments are checked before
// anything is touched. What goes wrong later, in a kernel, is sticky:
// [Comm.AsyncError] and every later call report the first.
package nccl
