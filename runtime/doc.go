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
// allreduce.go (what may be asked), redop.go (with which operator), group.go (gather, lock, launch), match.go (do
// ranks agree), plan.go (from calls to launches) and internal/launch (from launches
// to the device).
//
// # Order
//
// Any goroutine may call anything. Entering a communicator is a short critical
// section, and the order in which goroutines enter is the communicator's order
// of operations: it must be the same on every rank. A group enters all its
// communicators at once. Kernels of one communicator never overlap, whatever
// streams they are on. An operation starts when the work that was on its stream
// before is done, and later work on that stream waits for it; no call waits for
// the device, except [InitAll], [Comm.Finalize] and [Comm.Close]. InitAll loads
// all kernels: that waits for the devices, and is done once, before there is
// anything to wait for.
//
// # Operators
//
// Sum, product, maximum, minimum and average are values of [coll.UserOp]. A sum of
// inputs that each rank multiplies by a scalar of its own is a [PreMulSum], which
// [Comm.NewPreMulSum] makes for one rank and one type; it needs no more than to be
// passed to the call, holds nothing on the device, and may be closed as soon as the
// last call that was given it has returned. What operators compute, to the bit, is
// docs/ARITHMETIC.md.
//
// # Graphs
//
// Operations may be captured: enqueue them while their stream is being captured
// ([device.Capturer], or anyone's capture of a stream made by others), on every
// rank. A graph may be launched any number of times, also mixed with other graphs
// and with operations outside of any; launching it counts as a call of each
// communicator in it: it has a place in the communicator's order, which must be
// the same on every rank, and must not happen at the same time as another call of
// that communicator. Whatever the streams, its operations start when those before
// are done ([Config.NoGraphMixing] gives that up). A graph with operations of a
// communicator must not be launched after that is closed, and streams of a group
// are part of one capture, or all of none.
//
// # Several ranks on a GPU
//
// Ranks that share a GPU need a stream each: a kernel that waits for one behind
// it on its stream never ends. They also need a hardware queue each, which a GPU
// has few of; InitAll refuses too many.
//
// # Ownership
//
// Devices, streams and buffers belong to the caller and outlive the
// communicators that use them; a buffer may be reused or freed when the stream
// has passed the operation. A communicator is closed by its user, on every rank:
// what it holds on the devices is freed when the last rank is closed. An operation
// that a closed rank will not take part in is refused.
//
// # Errors
//
// Every error is an [*Error] with NCCL's result code, but one that the function
// given to [Group] returns, which is passed on; errors.Is with a sentinel
// such as [ErrInvalidArgument] asks for its kind, errors.As with
// [*device.Fault] or [*AbortedError] for the story. Arguments are checked before
// anything is touched. What goes wrong later, in a kernel, is sticky:
// [Comm.AsyncError] and every later call report the first. A device that failed is
// of no more use: on a GPU the process has to end, on the PTX machine its driver
// has to be closed and a new machine made.
package nccl
