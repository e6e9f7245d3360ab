// Package ptx reads PTX, the assembly language of NVIDIA GPUs: text in,
// decoded [Module] out. It holds the opcode table, with the least PTX version
// and compute capability of each instruction form.
//
// It runs nothing and knows no device: device/sim executes what it decodes and
// gen verifies what it compiled with it.
//
// Start reading at [Parse] and [Instr]; the opcode table is [Forms], one [Form]
// a row. A Module is immutable once parsed and safe for concurrent use. Parse
// reports every error with file, line and the offending text, as an
// [ErrorList]; an instruction or modifier that is not in the table, or that the
// text's own .version or .target does not have, is such an error, never a
// guess. Device functions and calls are not supported.
//
// Source: PTX ISA, NVIDIA (https://docs.nvidia.com/cuda/parallel-thread-execution/).
package ptx
