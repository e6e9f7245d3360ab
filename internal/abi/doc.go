// Package abi holds the structs that cross from the host to the GPU, declared
// once: gen renders generated/abi.h from these types, with static assertions of
// every size and offset, and the tests here assert the same numbers on the Go
// side.
//
// It knows nothing of how the structs are filled (runtime) or read
// (templates/cuda). Only fixed-size integers, arrays and structs of them may be
// used, laid out as C lays them out with every byte of padding declared; a
// device pointer is a Ptr whose comment says to what. In C++ they are namespace
// abi, with the same type and constant names and each field's first letter in
// lower case (Work.SendBuf is abi::Work::sendBuf, a uint64_t).
//
// encoding/binary, little endian, writes exactly the device's bytes. This package
// imports nothing: gen type-checks it from source.
//
// Start reading at [KernelArgs], the argument of every kernel, then [Work] and
// [Comm].
package abi

// Ptr is a device address.
type Ptr uint64

const (
	// WarpSize is the number of lanes of a warp.
	WarpSize = 32
	// MaxThreads is the most threads of a CTA of any kernel (NCCL_MAX_NTHREADS,
	// NCCL v2.30 src/include/device.h).
	MaxThreads = 640
	// Launch bounds of kernels by protocol, in threads (NCCL_LL_MAX_NTHREADS,
	// NCCL_LL128_MAX_NTHREADS and NCCL_SIMPLE_MAX_NTHREADS, NCCL v2.30
	// src/include/device.h).
	MaxThreadsLL     = 512
	MaxThreadsLL128  = 640
	MaxThreadsSimple = 512
	// MaxChannels is the most channels a communicator has (MAXCHANNELS, NCCL
	// v2.30 src/include/device.h).
	MaxChannels = 64
	// NumSteps is the number of slots of a connection's FIFO (NCCL_STEPS, NCCL
	// v2.30 src/include/device.h).
	NumSteps = 8
	// NumProtos is the number of protocols, each with a FIFO in every connection.
	NumProtos = 3
	// KernelArgsBytes is the most that the parameters of a kernel take before
	// CUDA 12.1 (CUDA C++ Programming Guide, "__global__ Function Parameters").
	KernelArgsBytes = 4096

	// SimpleChunkSteps is the most steps that a chunk of Simple takes, and
	// SimpleSliceSteps the steps of one of its slices (NCCL_STEPS/2 and
	// NCCL_STEPS/4, ALLREDUCE_CHUNKSTEPS and ALLREDUCE_SLICESTEPS, NCCL v2.30
	// src/include/collectives.h). A chunk of LL or LL128 takes one step.
	SimpleChunkSteps = NumSteps / 2
	SimpleSliceSteps = NumSteps / 4
	// LLLineBytes is the size of a line of LL, LLDataBytes the data in it.
	LLLineBytes = 16
	LLDataBytes = 8
	// LL128LineBytes is the size of a line of LL128, LL128DataBytes the data in
	// it (NCCL_LL128_LINESIZE and NCCL_LL128_DATAELEMS, NCCL v2.30
	// src/include/device.h).
	LL128LineBytes = 128
	LL128DataBytes = 120
	// LL128TileBytes is the least that a warp sends: what its lanes write with
	// two stores of 16 bytes each, 8 lines. A slot of LL128 is whole tiles.
	LL128TileBytes = 8 * LL128LineBytes
)

// The protocols' places in Conn.Fifo and Comm.SlotBytes, in the order of
// coll.Proto.
const (
	ProtoLL     = 0
	ProtoLL128  = 1
	ProtoSimple = 2
)
