// Package cluster runs single kernels as the ranks of one communicator would: a
// PTX machine with a GPU and a stream for each rank, connections of any size
// between them, operands between guards, and the result that every rank must
// have, to the bit.
//
// It is for tests and proofs. It plans nothing: counts, channels, chunks and
// threads are given to it, also such as no planner would choose. It knows no
// protocol beyond what its connections look like from outside.
//
// Start reading at [Cluster], then [Call]. A Cluster is for one goroutine; its
// owner closes it. Errors are the device's, [*device.Fault] where a kernel went
// wrong, or a [*Mismatch]: it ended, and left something that it must not.
package cluster
