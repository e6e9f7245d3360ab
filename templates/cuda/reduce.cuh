// The device operators (coll.RedOp), over Words and over packs. An operator is built from the work and does up to three
// things, in exactly the order the algorithm states; nothing reassociates:
//
//   own -----> pre ----+
//                      +---> operator() ---> ... ---> post ----> result
//   received ----------+
//
// pre: what this rank's input becomes before it is reduced or sent. operator(): what arrived from a peer with what this
// rank adds. post: what the complete reduction becomes, once, before it is stored or passed on.
#ifndef NCCL_REDUCE_CUH_
#define NCCL_REDUCE_CUH_

#include "abi.h"
#include "pack.cuh"

namespace {

// An operator that only combines.
template <class T>
struct Combine {
  using Word = typename T::Word;
  // A reduction of one input is that input.
  static constexpr bool keepsLoneInput = true;
  __device__ __forceinline__ Word pre(Word own) const { return own; }
  __device__ __forceinline__ Word post(Word result) const { return result; }
};

template <class T>
struct Sum : Combine<T> {
  using Word = typename T::Word;
  __device__ __forceinline__ explicit Sum(const abi::Work&) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::add(received, own); }
};

template <class T>
struct Prod : Combine<T> {
  using Word = typename T::Word;
  __device__ __forceinline__ explicit Prod(const abi::Work&) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::mul(received, own); }
};

template <class T>
struct MinMax : Combine<T> {
  using Word = typename T::Word;
  const Word arg;
  __device__ __forceinline__ explicit MinMax(const abi::Work& work) : arg(T::splat(work.redOpArg)) {}
  __device__ __forceinline__ Word operator()(Word received, Word own) const { return T::minMax(received, own, arg); }
};

// The sum of the inputs times a scalar, each product rounded to the type. The scalar is one element, in the work or, if
// the device computes it, where the work points.
template <class T>
struct PreMulSum : Sum<T> {
  using Word = typename T::Word;
  static constexpr bool keepsLoneInput = false;
  const Word scalar;
  __device__ __forceinline__ explicit PreMulSum(const abi::Work& work)
      : Sum<T>(work),
        scalar(T::splat(work.redOpArgIsPtr != 0 ? load<T, T::bytes>(work.redOpArg).word[0] : Word(work.redOpArg))) {}
  // ptx *_PreMulSum_f64_*: "mul.rn.f64"
  __device__ __forceinline__ Word pre(Word own) const { return T::mul(own, scalar); }
};

// The sum, divided by the number of ranks where it is complete.
template <class T>
struct SumPostDiv : Sum<T> {
  using Word = typename T::Word;
  const typename T::Divisor divisor;
  __device__ __forceinline__ explicit SumPostDiv(const abi::Work& work)
      : Sum<T>(work), divisor(uint32_t(work.redOpArg >> 1), (work.redOpArg & 1) != 0) {}
  __device__ __forceinline__ Word post(Word result) const { return divisor.divide(result); }
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

// What a pack of this rank's input becomes before it is reduced or sent: every pack that is loaded from Transfer::src.
template <class Op, class T, uint32_t Width>
__device__ __forceinline__ Pack<T, Width> prepare(const Op& op, const Pack<T, Width>& own) {
  Pack<T, Width> result;
#pragma unroll
  for (uint32_t i = 0; i < Pack<T, Width>::numWords; i++) result.word[i] = op.pre(own.word[i]);
  return result;
}

// What a pack of the complete reduction becomes before it is stored or passed on: where Transfer::finishes is set.
template <class Op, class T, uint32_t Width>
__device__ __forceinline__ Pack<T, Width> finish(const Op& op, const Pack<T, Width>& result) {
  Pack<T, Width> finished;
#pragma unroll
  for (uint32_t i = 0; i < Pack<T, Width>::numWords; i++) finished.word[i] = op.post(result.word[i]);
  return finished;
}

}  // namespace

#endif  // NCCL_REDUCE_CUH_
