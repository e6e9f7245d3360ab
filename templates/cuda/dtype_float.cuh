// IEEE floating point. The rules are in dtype.cuh.
#ifndef NCCL_DTYPE_FLOAT_CUH_
#define NCCL_DTYPE_FLOAT_CUH_

#include "ptx.cuh"

namespace {

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
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg & 0xffff) * 0x00010001; }

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
    // Only one of them: each is several instructions and needs registers.
    return isMax != 0 ? maxF64(x, y) : minF64(x, y);
  }
};

}  // namespace

#endif  // NCCL_DTYPE_FLOAT_CUH_
