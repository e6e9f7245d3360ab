// Package conformance runs every kernel that is built through everything that
// may vary about a call: rank counts, element counts around each boundary that a
// protocol cuts data at, places and offsets of buffers, channels, threads, sizes
// of connections, steps that counters start at, and the memory model. Any two
// values of any two of these meet in some run ([Cases]).
//
// It knows the kernels by the variant table only: a kernel that is added there is
// in the suite. It does not know how a kernel works; what a result must be comes
// from package internal/check, what a connection must look like from
// runtime/internal/cluster.
//
// Start reading at [Case], then [Run]. The tests of this package are the suite:
// TestShare is what every `go test` runs of it, TestProve is all of it (`make
// prove`), TestReplay repeats one run, and TestMutants shows that the suite finds
// planted faults. docs/PROOF.md says what is proven.
package conformance
