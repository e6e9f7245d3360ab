// Package bench runs a collective as nccl-tests does: every size, type and
// operator, out of place and in place, timed, and checked element by element.
//
// It knows no flag and no output format: package cli reads [Config], package
// report writes what comes out, package check says what is right. It knows
// nothing of how a collective works; that is package nccl's.
//
// Start reading at [Run], then [Machine] with sim.go and cuda.go (where a run
// happens), pass.go (devices, communicators, buffers of one pass), measure.go (one
// cell of the table), batch.go and graph.go (what is timed), and versus.go (NCCL
// beside ncclgo).
package bench
