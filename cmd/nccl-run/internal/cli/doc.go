// Package cli is the command line of nccl-run: flags, help, refusals and exit
// statuses.
//
// It knows nothing of collectives beyond their names: package bench runs them.
// Start reading at [Main], then flags.go, where every flag is defined, and
// values.go, which reads their values.
package cli
