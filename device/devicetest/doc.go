// Package devicetest is the one test suite that every implementation of
// [device.Driver] passes: the PTX machine, and real GPUs.
//
// [Run] holds a driver to the contract of package device: memory, modules,
// streams, events, errors; [Faults] to what it says of kernels that fail.
// [Spec] holds it to the PTX ISA: for each instruction form and type it runs a
// small kernel over corner cases and seeded random operands and compares every
// result with a reference computed by other means: integers through math/big,
// floating point through exact big numbers and one rounding function, bit
// instructions bit by bit, whole warps and CTAs by plain loops. [Conversions] goes
// over all operands of the conversions that reductions are made of. The package
// asks nothing of how a driver works and knows none of them.
//
// Start reading at row (kernel.go), which describes one line of the table, then
// at one of the families (spec_int.go), or at bench (suite.go) for the rest. The
// four functions use only what they are given and may run in parallel with
// other tests.
//
// Source of the semantics: PTX ISA, NVIDIA
// (https://docs.nvidia.com/cuda/parallel-thread-execution/). Where the ISA
// leaves a result open (payloads of NaN, division by zero) nothing is
// compared.
package devicetest
