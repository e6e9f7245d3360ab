// The device operators (coll.RedOp), over Words and over packs. An operator is built from the work's argument and
// combines what arrived from a peer with what this rank adds. It is applied in exactly the order the algorithm states;
// nothing reassociates.
#ifndef NCCL_REDUCE_CUH_
#define NCCL_REDUCE_CUH_

#include "pack.cuh"

namespace {

template <class T>
struct Sum {
  using Word = typename T::Word;
  __device__ __forceinline__ explicit Sum(uint64_t) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::add(received, own); }
};

template <class T>
struct Prod {
  using Word = typename T::Word;
  __device__ __forceinline__ explicit Prod(uint64_t) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::mul(received, own); }
};

template <class T>
struct MinMax {
  using Word = typename T::Word;
  Word arg;
  __device__ __forceinline__ explicit MinMax(uint64_t redOpArg) : arg(T::splat(redOpArg)) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::minMax(received, own, arg); }
};

// Combines two packs word by word.
template <class Op, class T, uint32_t Width>
__device__ __forceinline__ Pack<T, Width> reduce(const Op& op, const Pack<T, Width>& received,
                                                 const Pack<T, Width>& own) {
  Pack<T, Width> result;
#pragma unroll
  for (uint32_t i = 0; i < Pack<T, Width>::numWords; i++) {
    result.word[i] = op(received.word[i], own.word[i]);
  }
  return result;
}

}  // namespace

#endif  // NCCL_REDUCE_CUH_
