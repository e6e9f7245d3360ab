// Package libnccl calls NVIDIA's own NCCL, libnccl.so, without cgo: what it takes
// to run a collective of it beside ncclgo's.
//
// It knows nothing of ncclgo's communicators and of no device package: GPUs are
// CUDA ordinals, streams and buffers are the driver's handles and addresses, all
// of the GPUs' primary contexts.
//
// Start reading at [Open], then [Library.InitAll] and [Comm.AllReduce]. A Library
// stays loaded for the life of the process. NCCL keeps the state of a group in
// its OS thread, so [Library.Group] holds the goroutine to one; otherwise any
// goroutine may call, one at a time for a communicator. Who makes communicators
// closes them. Errors are [*Error], a call that NCCL refused, and dl's for a
// library that is absent or is none.
package libnccl
