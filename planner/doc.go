// Package planner decides what to launch: which algorithm and protocol a call
// uses, on how many channels and threads, how its elements are split among
// them, and in which order the calls of a group are launched.
//
// It is pure: it knows no device, no clock, no environment, and no rank, so
// that all ranks of a communicator, which give it the same facts, decide the
// same. Sends and receives are a rank's own: of those both sides decide the same.
//
// Start reading at [New], which makes a [Model] of a communicator from the [Facts]
// of its topo.Layout and what users say in [Settings]. [Model.Choose] decides one
// call, [Model.ChooseGroup] the calls of a group, [Model.Explain] says why, and
// [Model.Plan] turns the calls into a [Plan]. [NewP2P] begins what plans sends and
// receives. The costs that are compared are in cost.go; docs/choosing.md follows
// one by hand.
//
// Sizes are bytes unless the name says count, bandwidths GB/s (1e9), times µs.
// Numbers are float32 or float64 exactly where NCCL has them, with every
// product in an explicit conversion, so that no compiler fuses it with a sum
// and two ranks never differ. A Model is immutable and safe for concurrent use.
// Errors are [*result.Error]: a bad argument or a combination that does not
// exist is ErrInvalidArgument, a kernel that is not built ErrNotBuilt.
package planner
