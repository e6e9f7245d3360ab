// The entry of every kernel: a CTA for each channel, which does this launch's works of its channel in order.
//
//   KernelArgs   | comm | overflow | works: 0 1 2 ... 49 |        (constant bank)
//                           |
//                           +--> works 50 51 ...                  (device memory)
//
// State is on the device: the steps of the connections, loaded by the Algorithm's constructor, stored by its end(). So
// a launch can be repeated with the same arguments, and captured.
//
// Everything is in registers and inlined; waits are loops of the kernel itself:
// ptx:- ".local"
// ptx:- "call"
// ptx:- ".shared"
#ifndef NCCL_KERNEL_CUH_
#define NCCL_KERNEL_CUH_

#include "abi.h"
#include "ptx.cuh"

namespace {

// A channel's share of a work, in elements.
struct Part {
  uint64_t first;
  uint64_t count;

  __device__ __forceinline__ Part(const abi::Work& w, uint32_t channel) {
    if (channel == w.channelLo) {
      first = 0;
      count = w.countLo;
    } else {
      first = w.countLo + (channel - w.channelLo - 1) * w.countMid;
      count = channel == w.channelHi ? w.countHi : w.countMid;
    }
  }
};

// Loads a work from device memory. By inline PTX: from a plain copy, clang makes one copy from either space, and for
// that, one of all arguments in local memory.
__device__ __forceinline__ void loadOverflow(Address from, abi::Work& to) {
  static_assert(sizeof(abi::Work) % 16 == 0, "read in pairs of 8 bytes");
  uint64_t words[sizeof(abi::Work) / 8];
#pragma unroll
  for (uint32_t i = 0; i < sizeof(abi::Work) / 8; i += 2) ldGlobalV2U64(from + 8 * i, words[i], words[i + 1]);
  __builtin_memcpy(&to, words, sizeof(to));
}

// The call that work i is of, for a report: loaded when there is one, as no register is left to keep it in.
__device__ __forceinline__ uint64_t opOfWork(const abi::KernelArgs& args, uint32_t i) {
  if (i < abi::InlineWorks) return args.works[i].op;
  return ldGlobalU64(args.overflow + (i - abi::InlineWorks) * sizeof(abi::Work) + __builtin_offsetof(abi::Work, op));
}

// The CTA's channel. Found each time it is needed: kept, it would need registers that are short.
__device__ __forceinline__ const abi::Channel& ownChannel(const abi::Comm& comm) {
  return reinterpret_cast<const abi::Channel*>(&comm + 1)[movCtaidX()];
}

// Algorithm: a class with a constructor from (comm, own), own being the CTA's channel, and
//   run(work, part)      does this CTA's part of a work
//   left()               whether the CTA has left after an abort
//   report(own, to, op)  says where it was
//   end(own)             stores the state for the next kernel
template <class Algorithm>
__device__ __forceinline__ void runChannel(const abi::KernelArgs& args) {
  const abi::Comm& comm = *reinterpret_cast<const abi::Comm*>(args.comm);
  Algorithm algorithm(comm, ownChannel(comm));
#pragma unroll 1
  for (uint32_t i = 0; i < args.numWorks; i++) {
    abi::Work work;
    if (i < abi::InlineWorks) {
      work = args.works[i];
    } else {
      loadOverflow(args.overflow + (i - abi::InlineWorks) * sizeof(abi::Work), work);
    }
    const uint32_t channel = movCtaidX();
    if (channel < work.channelLo || channel > work.channelHi) continue;
    algorithm.run(work, Part(work, channel));
    if (algorithm.left()) {
      algorithm.report(ownChannel(comm), comm.reports + movCtaidX() * sizeof(abi::Report), opOfWork(args, i));
      return;
    }
  }
  algorithm.end(ownChannel(comm));
}

}  // namespace

// Defines the kernel `symbol`: an Algorithm for elements of a Type, reduced by an Op, carried by a Proto, with the most
// threads a CTA of it may have.
#define NCCL_KERNEL(symbol, Algorithm, Type, Op, Proto, maxThreads)                                                   \
  extern "C" __global__ void __launch_bounds__(maxThreads, 1) symbol(const NCCL_GRID_CONSTANT abi::KernelArgs args) { \
    runChannel<Algorithm<Type, Op, Proto>>(args);                                                                     \
  }

#endif  // NCCL_KERNEL_CUH_
