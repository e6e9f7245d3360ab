// Package hardware says which GPUs this machine has, as the CUDA driver and NVML
// tell, and makes a topology of them.
//
// It knows nothing of collectives and of no command line. What neither tells it
// assumes, and says so: in the notes of the topology.
//
// Start reading at [Take], which asks once, then [Inventory.Topology]. An
// Inventory is read-only once taken.
package hardware
