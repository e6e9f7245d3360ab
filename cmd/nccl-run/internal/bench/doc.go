// Package bench runs a collective as nccl-tests does: every size, type and
// operator, out of place and in place, timed, and checked element by element.
//
// It knows no flag and no output format: package cli reads [Config], package
// report writes what comes out, package check says what is right. It knows
// nothing of how a collective works; that is package nccl's.
//
// Start reading at [Run], then pass.go (devices, communicators, buffers of one
// pass) and measure.go (one cell of the table).
package bench
