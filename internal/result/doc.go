// Package result holds NCCL's result codes, the one error type of this module
// that carries them, and a sentinel for each code. Package runtime re-exports
// them.
//
// It knows nothing of what failed: operation, ranks and cause are given to it.
// Start reading at [Error]. Values are immutable.
package result
