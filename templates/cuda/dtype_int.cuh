// Unsigned integers, which serve the signed ones of their width too. The rules are in dtype.cuh.
//
// Division is by the number of ranks, the same for all elements of a work, so each is a product with the reciprocal r =
// floor((2^w - 1) / d). floor(x * r / 2^w) is floor(x / d) or one less: as 2^w - r*d <= d, x/d - x*r/2^w = x * (2^w -
// r*d) / (d * 2^w) < 1. Signed elements are divided by their magnitude.
#ifndef NCCL_DTYPE_INT_CUH_
#define NCCL_DTYPE_INT_CUH_

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

  // By m = floor(65535 / d) + 1, whose product with a byte x has the quotient in its third byte: m*d is at least 2^16
  // and at most 2^16 + d - 1, so x*m/2^16 exceeds x/d by less than x/2^16, which is less than 1/d for d up to 257. For
  // a larger d, x*m is below 2^16.
  class Divisor {
   public:
    __device__ __forceinline__ Divisor(uint32_t d, bool isSigned)
        : m_(65535 / d + 1), signs_(isSigned ? 0x80808080 : 0) {}

    __device__ __forceinline__ Word divide(Word x) const {
      const Word negative = prmtB32(x & signs_, 0, 0xba98);
      x = add(x ^ negative, negative & 0x01010101);
      const Word low = prmtB32((x & 0xff) * m_, (x >> 8 & 0xff) * m_, 0x0062);
      const Word high = prmtB32((x >> 16 & 0xff) * m_, (x >> 24) * m_, 0x0062);
      return add(prmtB32(low, high, 0x5410) ^ negative, negative & 0x01010101);
    }

   private:
    const uint32_t m_;
    const Word signs_;  // the bits that make an element negative
  };
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

  class Divisor {
   public:
    __device__ __forceinline__ Divisor(uint32_t d, bool isSigned)
        : divisor_(d), reciprocal_(0xffffffff / d), sign_(isSigned ? 0x80000000 : 0) {}

    __device__ __forceinline__ Word divide(Word x) const {
      const bool negative = (x & sign_) != 0;
      x = negative ? 0 - x : x;
      Word quotient = mulHiU32(x, reciprocal_);
      quotient += x - quotient * divisor_ >= divisor_ ? 1 : 0;
      return negative ? 0 - quotient : quotient;
    }

   private:
    const Word divisor_, reciprocal_;
    const Word sign_;  // the bit that makes an element negative
  };
};

struct u64 {
  using Word = uint64_t;
  static constexpr uint32_t bytes = 8;

  static __device__ __forceinline__ Word add(Word x, Word y) { return x + y; }
  static __device__ __forceinline__ Word mul(Word x, Word y) { return x * y; }
  static __device__ __forceinline__ Word splat(uint64_t arg) { return arg; }
  static __device__ __forceinline__ Word minMax(Word x, Word y, Word mask) {
    x ^= mask;
    y ^= mask;
    return (x < y ? x : y) ^ mask;
  }

  class Divisor {
   public:
    __device__ __forceinline__ Divisor(uint32_t d, bool isSigned)
        : reciprocal_(~Word(0) / d), divisor_(d), sign_(isSigned ? 0x80000000 : 0) {}

    __device__ __forceinline__ Word divide(Word x) const {
      const bool negative = (uint32_t(x >> 32) & sign_) != 0;
      x = negative ? 0 - x : x;
      // ptx *_SumPostDiv_u64_*: "mul.hi.u64"
      Word quotient = mulHiU64(x, reciprocal_);
      quotient += x - quotient * divisor_ >= divisor_ ? 1 : 0;
      return negative ? 0 - quotient : quotient;
    }

   private:
    const Word reciprocal_;
    const uint32_t divisor_;
    const uint32_t sign_;  // of the upper half, the bit that makes an element negative
  };
};

}  // namespace

#endif  // NCCL_DTYPE_INT_CUH_
