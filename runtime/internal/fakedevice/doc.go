// Package fakedevice is a device that runs nothing: it keeps memory, accepts
// launches and writes down what it was asked, so that tests see the exact calls
// and can make any of them fail, and benchmarks see the host's cost alone.
//
// It knows no collective and executes no kernel: device/sim does. Only tests
// import it. Start reading at [Driver]. Everything may be used by several
// goroutines at once.
package fakedevice
