// Package launch brings planned work to a device: it keeps the kernels of a
// device loaded, encodes works into kernel arguments, and queues launches so
// that those of one communicator never overlap.
//
// It knows no topology and makes no decision: which kernel, how many channels
// and what each does is given to it.
//
// Start reading at [Queue], one per rank, then [Kernel]; [Load] gives a device's
// [Kernels]. Kernels may be used by several goroutines; a Queue by one at a
// time, except [Queue.Idle] and [Queue.Wait]. Errors are those of the device,
// with the operation added.
package launch
