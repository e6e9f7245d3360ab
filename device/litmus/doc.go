// Package litmus holds the PTX machine's weak memory mode to the memory model
// (docs/MEMORY-MODEL.md) with litmus tests: small kernels that run side by side,
// and for each of them what the registers may hold at the end and what they must
// never hold.
//
// The kernels are PTX, in tests/; what each test runs, and which outcomes are
// allowed or forbidden by which rule, is in the tables: table_order.go (fences
// and scopes), table_cause.go (one location, three threads, atomics),
// table_block.go (barriers, warps, credits), table_width.go (what one access is:
// LL and LL128 lines) and table_stream.go (kernels, streams, the host). A table
// says what the model says. It knows nothing of how the machine arrives at it, and
// no collective.
//
// A case is a test with a setting of the hardware facts. Exploring one runs it
// with one seed after the other until every allowed outcome was seen, and long
// enough to look for the others. A case is wrong if an outcome was seen that is
// not allowed, or if an allowed one was not seen: a machine that is too strong
// hides faults of kernels, and one that is too weak invents them.
//
// Start reading at [Test], then at one of the tables. Values are not changed
// after the package is initialised; everything may be used by several goroutines
// at once.
package litmus
