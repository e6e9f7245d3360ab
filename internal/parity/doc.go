// Package parity reads what NCCL's own host code computed for many machines, and
// counts where ours agrees. It serves tests: the reference data lie outside the
// repository, and without them its callers are skipped by name.
//
// It must not know how anything is computed: it holds NCCL's figures, in the
// types of topo where topo has a type, and compares.
//
// Start reading at [Runs], which gives every [Run], then [Tally], which counts by
// kind of figure.
package parity
