// The datatypes and the rules of their arithmetic. The structs are the one place where a value is added, multiplied,
// divided or compared; docs/ARITHMETIC.md has the same rules for users.
//
// A type is a struct of static functions over Words: registers that hold as many elements as fit. All lanes of a Word
// are computed; an element alone is a Word whose other lanes are zero and unused.
//
//   u8      4 in a uint32_t   dtype_int.cuh
//   u32     1 in a uint32_t
//   u64     1 in a uint64_t
//   f16     2 in a uint32_t   dtype_float.cuh
//   f32     1 in a uint32_t
//   f64     1 in a uint64_t
//   bf16    2 in a uint32_t   dtype_bfloat16.cuh
//   f8e4m3  4 in a uint32_t   dtype_float8.cuh
//   f8e5m2  4 in a uint32_t
//
// Every partial result is rounded to the element type; the algorithm states the order. Nothing is fused, flushed or
// approximated:
// ptx:- "fma."
// ptx:- ".ftz"
// ptx:- ".approx"
//
// Integers: add, mul modulo 2^width; signed ones are computed by the unsigned type of their width. A Divisor divides a
// complete sum, unsigned or signed toward zero.
//
// f16 f32 f64 bf16: add, mul round to nearest even, subnormals are kept, overflow is infinity. A NaN result is the one
// that the add or mul instruction gives: 0x7fff in f16 and bf16, 0x7fffffff in f32. Between f32 and bf16 lie 16 bits of
// fraction, so an f32 result rounded again is the exact one rounded once (24 >= 2*8 + 2): the kernels of every target
// give the same bits.
//
// f8e4m3 f8e5m2: the operands, as f16, are added or multiplied to an f16, which is rounded to nearest even. As
// 11 >= 2*4 + 2, that too is the exact result rounded once. What is too large, and infinity, becomes the largest finite
// value: no reduction gives infinity. NaN is 0x7f.
//
// minMax(x, y, arg): what arg means is the type's business (coll.UserOp.MinMaxArg makes it, splat spreads it over the
// lanes). Integers: a mask m, the result is min(x^m, y^m)^m, which is min or max, signed or unsigned. Floats: 0 is min,
// 1 is max; a NaN loses to a number, two NaNs give the canonical NaN, and -0 < +0.
#ifndef NCCL_DTYPE_CUH_
#define NCCL_DTYPE_CUH_

#include "dtype_bfloat16.cuh"
#include "dtype_float.cuh"
#include "dtype_float8.cuh"
#include "dtype_int.cuh"

#endif  // NCCL_DTYPE_CUH_
