// The datatypes and their arithmetic: the one place where a value is added, multiplied or compared.
//
// A type is a struct of static functions over Words: registers that hold as many elements as fit. All lanes of a Word
// are computed; an element alone is a Word whose other lanes are zero and unused.
//
//   u8   4 in a uint32_t      add, mul: modulo 2^8
//   u32  1 in a uint32_t      add, mul: modulo 2^32
//   f16  2 in a uint32_t      add, mul: round to nearest even, subnormals kept
//   f32  1 in a uint32_t      the same
//   f64  1 in a uint64_t      the same
//
// Signed integers are computed by the unsigned type of their width.
//
// minMax(x, y, arg): what arg means is the type's business (coll.UserOp.MinMaxArg makes it, splat spreads it over the
// lanes). Integers: a mask m, the result is min(x^m, y^m)^m, which is min or max, signed or unsigned. Floats: 0 is min,
// 1 is max; a NaN loses to a number, two NaNs give the canonical NaN, and -0 < +0.
// Nothing is fused, flushed or approximated:
// ptx:- "fma."
// ptx:- ".ftz"
// ptx:- ".approx"
#ifndef NCCL_DTYPE_CUH_
#define NCCL_DTYPE_CUH_

#include "ptx.cuh"

namespace {

struct u8 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 1;

  // The low 7 bits of each byte cannot carry into the next; the top bit is their carry plus both top bits.
  static __device__ __forceinline__ Word add(Word x, Word y) {
    return ((x & 0x7f7f7f7f) + (y & 0x7f7f7f7f)) ^ ((x ^ y) & 0x80808080);
  }

  // The low byte of a product depends on the low bytes of its factors only.
  static __device__ __forceinline__ Word mul(Word x, Word y) {
    const Word low = prmtB32(x * y, (x >> 8) * (y >> 8), 0x0040);
    const Word high = prmtB32((x >> 16) * (y >> 16), (x >> 24) * (y >> 24), 0x0040);
    return prmtB32(low, high, 0x5410);
  }

  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg & 0xff) * 0x01010101; }

  static __device__ __forceinline__ Word minMax(Word x, Word y, Word mask) {
    x ^= mask;
    y ^= mask;
    // Top bit of each byte: low 7 bits of x >= those of y. The 1 set above them takes the borrow.
    const Word lowNotLess = (x | 0x80808080) - (y & 0x7f7f7f7f);
    // Top bit of each byte: x >= y, by the top bits where they differ, else by the low ones.
    const Word notLess = (x & ~y) | (~(x ^ y) & lowNotLess);
    const Word takeY = prmtB32(notLess, 0, 0xba98);
    return ((x & ~takeY) | (y & takeY)) ^ mask;
  }
};

struct u32 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 4;

  static __device__ __forceinline__ Word add(Word x, Word y) { return x + y; }
  static __device__ __forceinline__ Word mul(Word x, Word y) { return x * y; }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg); }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word mask) {
    x ^= mask;
    y ^= mask;
    return (x < y ? x : y) ^ mask;
  }
};

struct f32 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 4;

  static __device__ __forceinline__ Word add(Word x, Word y) { return addRnF32(x, y); }
  static __device__ __forceinline__ Word mul(Word x, Word y) { return mulRnF32(x, y); }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg); }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    const Word smaller = minF32(x, y), larger = maxF32(x, y);
    return isMax != 0 ? larger : smaller;
  }
};

struct f16 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 2;

  static __device__ __forceinline__ Word add(Word x, Word y) { return addRnF16x2(x, y); }
  static __device__ __forceinline__ Word mul(Word x, Word y) { return mulRnF16x2(x, y); }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg); }

  // Through f32, which holds every f16: min.f16 needs sm_80.
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    const Word low = f32::minMax(cvtF32F16(uint16_t(x)), cvtF32F16(uint16_t(y)), isMax);
    const Word high = f32::minMax(cvtF32F16(uint16_t(x >> 16)), cvtF32F16(uint16_t(y >> 16)), isMax);
    return cvtRnF16F32(low) | Word(cvtRnF16F32(high)) << 16;
  }
};

struct f64 {
  using Word = uint64_t;
  static constexpr uint32_t bytes = 8;

  static __device__ __forceinline__ Word add(Word x, Word y) { return addRnF64(x, y); }
  static __device__ __forceinline__ Word mul(Word x, Word y) { return mulRnF64(x, y); }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return arg; }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    const Word smaller = minF64(x, y), larger = maxF64(x, y);
    return isMax != 0 ? larger : smaller;
  }
};

}  // namespace

#endif  // NCCL_DTYPE_CUH_
