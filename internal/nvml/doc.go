// Package nvml asks NVIDIA's management library, NVML, which GPUs a node has
// and how they are connected: identity, NVLinks, peer access, fabric.
//
// It knows neither CUDA nor the topology model: it says what NVML says, in Go
// types. It changes nothing on a GPU and measures nothing over time.
//
// Read in this order: [API], the interface; device.go, what it tells; [Fact],
// how it says that something is not known; [Open] and [Snapshot], the two
// sources of an API. Inside, library.go lists the functions that are called,
// reader.go makes the answers out of them, and an adapter calls them: go-nvml
// where cgo is on (adapter_cgo.go), internal/dl where it is off
// (adapter_dl.go).
//
// An API may be used by several goroutines. NVML itself is called by one at a
// time, in the whole process: its thread safety has had bugs (NCCL v2.30
// src/misc/nvmlwrap.cc keeps a lock for that reason).
//
// Errors are [ErrNoNVML], where there is no NVML to ask, and [*Error], a call
// that NVML refused. Only what nothing can be done without is an error: a GPU
// that cannot be reached, its bus id, its compute capability. All else that
// NVML may not tell is a Fact that says why.
//
// A program built with cgo leaves NVML's symbols to be bound when they are
// called, so it may not be linked with immediate binding; where the C
// compiler's default is that (a position-independent build on some
// distributions), build with -ldflags=-extldflags=-Wl,-z,lazy or without cgo.
package nvml

//go:generate go tool -modfile=../../tools.mod stringer -type=Code -linecomment -output zcode_string.go
//go:generate go tool -modfile=../../tools.mod stringer -type=P2PStatus,RemoteType,FabricState -linecomment -output zenums_string.go
//go:generate go tool -modfile=../../tools.mod stringer -type=symbol -linecomment -output zsymbol_string.go
