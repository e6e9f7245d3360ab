// bf16: the upper half of an f32. The rules are in dtype.cuh.
#ifndef NCCL_DTYPE_BFLOAT16_CUH_
#define NCCL_DTYPE_BFLOAT16_CUH_

#include "dtype_float.cuh"

namespace {

// For any GPU: through f32, and rounded by integer instructions, since conversions to bf16 need sm_80.
struct bf16 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 2;

  static __device__ __forceinline__ Word add(Word x, Word y) {
    return round(f32::add(low(x), low(y)), f32::add(high(x), high(y)));
  }
  static __device__ __forceinline__ Word mul(Word x, Word y) {
    return round(f32::mul(low(x), low(y)), f32::mul(high(x), high(y)));
  }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg & 0xffff) * 0x00010001; }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    return join(f32::minMax(low(x), low(y), isMax), f32::minMax(high(x), high(y), isMax));
  }

 private:
  // The elements as f32.
  static __device__ __forceinline__ uint32_t low(Word x) { return x << 16; }
  static __device__ __forceinline__ uint32_t high(Word x) { return x & 0xffff0000; }

  // The upper halves of two f32.
  static __device__ __forceinline__ Word join(uint32_t low, uint32_t high) { return prmtB32(low, high, 0x7632); }

  // Half of the last place is added, less 1 where that leaves a tie below an even value. A carry into the exponent is
  // right, up to infinity. A NaN, all ones, would carry into the sign.
  static __device__ __forceinline__ uint32_t roundUpper(uint32_t f) {
    const uint32_t rounded = f + 0x7fff + (f >> 16 & 1);
    return (f & 0x7fffffff) > 0x7f800000 ? 0x7fff0000 : rounded;
  }
  static __device__ __forceinline__ Word round(uint32_t low, uint32_t high) {
    return join(roundUpper(low), roundUpper(high));
  }
};

// For sm_90, which has the instructions.
struct bf16_sm90 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 2;

  // ptx *_Sum_bf16_*.sm_90: "add.rn.bf16x2"
  static __device__ __forceinline__ Word add(Word x, Word y) { return addRnBF16x2(x, y); }
  // ptx *_Prod_bf16_*.sm_90: "mul.rn.bf16x2"
  static __device__ __forceinline__ Word mul(Word x, Word y) { return mulRnBF16x2(x, y); }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return bf16::splat(arg); }
  // ptx *_MinMax_bf16_*.sm_90: "min.bf16x2"
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    const Word smaller = minBF16x2(x, y), larger = maxBF16x2(x, y);
    return isMax != 0 ? larger : smaller;
  }
};

}  // namespace

#endif  // NCCL_DTYPE_BFLOAT16_CUH_
