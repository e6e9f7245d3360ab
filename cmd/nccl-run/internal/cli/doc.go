// Package cli is the command line of nccl-run: flags, help, refusals and exit
// statuses.
//
// It knows nothing of collectives beyond their names: package bench runs them.
// Start reading at [Main], then flags.go, where every flag of a collective is
// defined, values.go, which reads their values, machine.go and gpus.go, which
// choose where it runs, and doctor.go and warm.go, the other commands.
package cli
