// Package cuda is no Go package: it is the folder of the CUDA C++ headers that
// all kernels are made of, and their tests. Package gen reads the files.
//
// Read the headers from the algorithm down; each begins with a picture:
//
//	all_reduce.cuh    which chunk takes which verb at which step: the ring
//	primitives.cuh    the verbs, and the one loop that carries them out
//	proto_ll.cuh      how 8 bytes arrive with their own flag
//	proto_ll128.cuh   how 120 bytes arrive with one flag
//	proto_simple.cuh  how a slice arrives with a counter and two fences
//	conn.cuh          the two ends of a connection: steps, credit
//	wait.cuh          the CTA: its barriers, and the one place that waits
//	reduce.cuh        the device operators
//	pack.cuh          16 bytes, 8, or an element in registers
//	dtype.cuh         the rules of all arithmetic; the types are in
//	                  dtype_int.cuh, dtype_float.cuh, dtype_bfloat16.cuh and
//	                  dtype_float8.cuh
//	ptx.cuh           inline PTX, one instruction a function
//	kernel.cuh        the entry: a CTA a channel, a loop over works
//	device.cuh        the one #if on the compiler
//
// A comment such as
//
//	// ptx: "barrier.sync"
//	// ptx *_f32_*_SIMPLE: "ld.global.v4.u32"
//	// ptx *_Sum_bf16_*.sm_90: "add.rn.bf16x2"
//	// ptx:- ".local"
//
// is an assertion about the compiled kernels (all, or those whose symbol, or
// symbol and target, the pattern matches): the text is in their PTX, or, with the
// minus, it is not.
package cuda
