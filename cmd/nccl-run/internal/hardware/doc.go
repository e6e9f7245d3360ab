// Package hardware says which GPUs this machine has, as the CUDA driver and NVML
// tell, and hands them to topology detection (topo/detect).
//
// It knows nothing of collectives and of no command line, and judges nothing.
//
// Start reading at [Take], which asks once, then [Inventory.Source]. An Inventory
// is read-only once taken.
package hardware
