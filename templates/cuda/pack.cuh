// Packs: what one thread moves at once, 16 bytes, 8 or one element, in registers.
#ifndef NCCL_PACK_CUH_
#define NCCL_PACK_CUH_

#include "dtype.cuh"

namespace {

// Width bytes of elements of type T.
template <class T, uint32_t Width>
struct Pack {
  using Word = typename T::Word;
  static constexpr uint32_t numWords = Width < sizeof(Word) ? 1 : Width / sizeof(Word);
  Word word[numWords];
};

// Loads a pack from a, aligned to Width.
// ptx *_f32_*_SIMPLE: "ld.global.v4.u32"
// ptx *_f64_*_SIMPLE: "ld.global.v2.u64"
// ptx *_f16_*_LL: "ld.global.v2.u32"
template <class T, uint32_t Width>
__device__ __forceinline__ Pack<T, Width> load(Address a) {
  Pack<T, Width> p;
  if constexpr (Width == 16 && sizeof(typename T::Word) == 8) {
    ldGlobalV2U64(a, p.word[0], p.word[1]);
  } else if constexpr (Width == 16) {
    ldGlobalV4U32(a, p.word[0], p.word[1], p.word[2], p.word[3]);
  } else if constexpr (Width == 8 && sizeof(typename T::Word) == 8) {
    p.word[0] = ldGlobalU64(a);
  } else if constexpr (Width == 8) {
    ldGlobalV2U32(a, p.word[0], p.word[1]);
  } else if constexpr (Width == 4) {
    p.word[0] = ldGlobalU32(a);
  } else if constexpr (Width == 2) {
    p.word[0] = ldGlobalU16(a);
  } else {
    p.word[0] = ldGlobalU8(a);
  }
  return p;
}

// Stores a pack to a, aligned to Width.
// ptx *_u8_*_SIMPLE: "st.global.v4.u32"
// ptx *_f64_*_SIMPLE: "st.global.v2.u64"
template <class T, uint32_t Width>
__device__ __forceinline__ void store(Address a, const Pack<T, Width>& p) {
  if constexpr (Width == 16 && sizeof(typename T::Word) == 8) {
    stGlobalV2U64(a, p.word[0], p.word[1]);
  } else if constexpr (Width == 16) {
    stGlobalV4U32(a, p.word[0], p.word[1], p.word[2], p.word[3]);
  } else if constexpr (Width == 8 && sizeof(typename T::Word) == 8) {
    stGlobalU64(a, p.word[0]);
  } else if constexpr (Width == 8) {
    stGlobalV2U32(a, p.word[0], p.word[1]);
  } else if constexpr (Width == 4) {
    stGlobalU32(a, p.word[0]);
  } else if constexpr (Width == 2) {
    stGlobalU16(a, p.word[0]);
  } else {
    stGlobalU8(a, p.word[0]);
  }
}

// A pack of 8 bytes as two 32-bit halves, and back: what an LL line carries.
template <class T>
__device__ __forceinline__ void split(const Pack<T, 8>& p, uint32_t& low, uint32_t& high) {
  if constexpr (sizeof(typename T::Word) == 8) {
    movB64Unpack(p.word[0], low, high);
  } else {
    low = p.word[0];
    high = p.word[1];
  }
}

template <class T>
__device__ __forceinline__ Pack<T, 8> join(uint32_t low, uint32_t high) {
  Pack<T, 8> p;
  if constexpr (sizeof(typename T::Word) == 8) {
    p.word[0] = movB64Pack(low, high);
  } else {
    p.word[0] = low;
    p.word[1] = high;
  }
  return p;
}

// A pack of 16 bytes as two 64-bit halves, and back: what a lane has of an LL128 line.
template <class T>
__device__ __forceinline__ void split(const Pack<T, 16>& p, uint64_t& low, uint64_t& high) {
  if constexpr (sizeof(typename T::Word) == 8) {
    low = p.word[0];
    high = p.word[1];
  } else {
    low = movB64Pack(p.word[0], p.word[1]);
    high = movB64Pack(p.word[2], p.word[3]);
  }
}

template <class T>
__device__ __forceinline__ Pack<T, 16> join(uint64_t low, uint64_t high) {
  Pack<T, 16> p;
  if constexpr (sizeof(typename T::Word) == 8) {
    p.word[0] = low;
    p.word[1] = high;
  } else {
    movB64Unpack(low, p.word[0], p.word[1]);
    movB64Unpack(high, p.word[2], p.word[3]);
  }
  return p;
}

// Loads the first `bytes` bytes of 8 (all of them, if more are given) element by element, for addresses aligned to an
// element only and for the last pack of a buffer: no byte outside is touched, which a neighbour may be writing.
template <class T>
__device__ __forceinline__ uint64_t loadBits(Address a, uint32_t bytes) {
  uint64_t bits = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < 8 && i < bytes; i += T::bytes) {
    bits |= uint64_t(load<T, T::bytes>(a + i).word[0]) << (8 * i);
  }
  return bits;
}

// Stores the first `bytes` bytes of 8 element by element.
template <class T>
__device__ __forceinline__ void storeBits(Address a, uint64_t bits, uint32_t bytes) {
#pragma unroll 1
  for (uint32_t i = 0; i < 8 && i < bytes; i += T::bytes) {
    Pack<T, T::bytes> element;
    element.word[0] = typename T::Word(bits >> (8 * i));
    store(a + i, element);
  }
}

// The first `bytes` bytes of a pack of 8, element by element.
template <class T>
__device__ __forceinline__ Pack<T, 8> loadElements(Address a, uint32_t bytes) {
  uint32_t low, high;
  movB64Unpack(loadBits<T>(a, bytes), low, high);
  return join<T>(low, high);
}

template <class T>
__device__ __forceinline__ void storeElements(Address a, const Pack<T, 8>& p, uint32_t bytes) {
  uint32_t low, high;
  split(p, low, high);
  storeBits<T>(a, movB64Pack(low, high), bytes);
}

// The first `bytes` bytes of a pack of 16.
template <class T>
__device__ __forceinline__ Pack<T, 16> loadElements16(Address a, uint32_t bytes) {
  return join<T>(loadBits<T>(a, bytes), loadBits<T>(a + 8, bytes < 8 ? 0 : bytes - 8));
}

template <class T>
__device__ __forceinline__ void storeElements(Address a, const Pack<T, 16>& p, uint32_t bytes) {
  uint64_t low, high;
  split(p, low, high);
  storeBits<T>(a, low, bytes);
  storeBits<T>(a + 8, high, bytes < 8 ? 0 : bytes - 8);
}

}  // namespace

#endif  // NCCL_PACK_CUH_
