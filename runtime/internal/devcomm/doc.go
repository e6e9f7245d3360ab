// Package devcomm builds the device side of a communicator whose ranks are all
// in this process: FIFOs, counters, abort flags and the structs of package abi
// that say where they are.
//
// It decides nothing: ring orders, buffer sizes and devices are given to it. It
// knows the device interface and package abi, no kernel, no collective, no
// environment.
//
// Start reading at [New]. A [Comms] owns all it allocated; the caller closes it
// when no kernel uses it any more. [Comms.Abort] may be called at any time until
// then, by any goroutine; the rest is not concurrent. Errors are
// [*result.Error]: ErrInvalidArgument for a Config that makes no sense, else
// what the device reported.
package devcomm
