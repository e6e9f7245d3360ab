// 8-bit floating point, for sm_90 and later. The rules are in dtype.cuh.
#ifndef NCCL_DTYPE_FLOAT8_CUH_
#define NCCL_DTYPE_FLOAT8_CUH_

#include "dtype_float.cuh"

namespace {

// Arithmetic of an 8-bit Format through f16, which holds all of its values. Format converts a pair of elements: widen,
// exactly, and narrow, to nearest even and to the largest finite value.
template <class Format>
struct Float8 {
  using Word = uint32_t;
  static constexpr uint32_t bytes = 1;

  static __device__ __forceinline__ Word add(Word x, Word y) {
    return narrow(f16::add(low(x), low(y)), f16::add(high(x), high(y)));
  }
  static __device__ __forceinline__ Word mul(Word x, Word y) {
    return narrow(f16::mul(low(x), low(y)), f16::mul(high(x), high(y)));
  }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return Word(arg & 0xff) * 0x01010101; }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word isMax) {
    return narrow(pick(low(x), low(y), isMax), pick(high(x), high(y), isMax));
  }

 private:
  // Two elements each, as f16.
  static __device__ __forceinline__ uint32_t low(Word x) { return Format::widen(uint16_t(x)); }
  static __device__ __forceinline__ uint32_t high(Word x) { return Format::widen(uint16_t(x >> 16)); }

  static __device__ __forceinline__ uint32_t pick(uint32_t x, uint32_t y, Word isMax) {
    const uint32_t smaller = minF16x2(x, y), larger = maxF16x2(x, y);
    return isMax != 0 ? larger : smaller;
  }

  static __device__ __forceinline__ Word narrow(uint32_t low, uint32_t high) {
    return Word(Format::narrow(low)) | Word(Format::narrow(high)) << 16;
  }
};

// ptx *_f8e4m3_*: "cvt.rn.f16x2.e4m3x2"
// ptx *_f8e4m3_*: "cvt.rn.satfinite.e4m3x2.f16x2"
struct E4M3 {
  static __device__ __forceinline__ uint32_t widen(uint16_t pair) { return cvtRnF16x2E4M3x2(pair); }
  static __device__ __forceinline__ uint16_t narrow(uint32_t pair) { return cvtRnSatfiniteE4M3x2F16x2(pair); }
};

// ptx *_f8e5m2_*: "cvt.rn.f16x2.e5m2x2"
// ptx *_f8e5m2_*: "cvt.rn.satfinite.e5m2x2.f16x2"
struct E5M2 {
  static __device__ __forceinline__ uint32_t widen(uint16_t pair) { return cvtRnF16x2E5M2x2(pair); }
  static __device__ __forceinline__ uint16_t narrow(uint32_t pair) { return cvtRnSatfiniteE5M2x2F16x2(pair); }
};

using f8e4m3 = Float8<E4M3>;
using f8e5m2 = Float8<E5M2>;

}  // namespace

#endif  // NCCL_DTYPE_FLOAT8_CUH_
