// AllReduce.
//
// Ring, over n ranks. A loop of the channel's part is n chunks; the rank with ring index i is written as i. Chunk c
// starts at rank c+1, is reduced around the ring until it is complete at rank c, then is copied around once more:
//
//     reduce-scatter:   c+1 --> c+2 --> ... --> c-1 --> c        n-1 hops: x(c+1) + x(c+2) + ... + x(c)
//     all-gather:         c --> c+1 --> ... --> c-2 --> c-1      n-1 hops
//
// At step k, from 1-n to n-1, rank i handles chunk i-k: what it handles, it passes on, and the next rank handles it one
// step later. Step 0 completes a chunk.
//
// Order of reduction: an element of chunk c is ((x(c+1) op x(c+2)) op ...) op x(c), each partial result rounded to the
// type. It depends on the ring and on the chunk, so on count and channels, but not on timing: every rank gets the same
// bits, and so does every repetition.
#ifndef NCCL_ALL_REDUCE_CUH_
#define NCCL_ALL_REDUCE_CUH_

#include "kernel.cuh"
#include "primitives.cuh"
#include "proto_ll.cuh"
#include "proto_ll128.cuh"
#include "proto_simple.cuh"

namespace {

template <class T, template <class> class Op, class Proto>
class AllReduceRing {
 public:
  __device__ __forceinline__ AllReduceRing(const abi::Comm& comm, const abi::Channel& channel)
      : primitives_(comm, reinterpret_cast<const abi::Peer*>(channel.peers), channel.ring.prev, channel.ring.next),
        numRanks_(comm.numRanks),
        index_(channel.ring.index) {}

  __device__ __forceinline__ void run(const abi::Work& work, const Part& part) {
    Address src = work.sendBuf + part.first * T::bytes;
    Address dst = work.recvBuf + part.first * T::bytes;
    if (numRanks_ == 1 && src == dst && Op<T>::keepsLoneInput) return;
    primitives_.begin(work.threads);
    const Op<T> op(work);

    uint32_t chunk = work.chunkBytes;
    uint64_t rest = part.count * T::bytes;
#pragma unroll 1
    while (rest != 0 && !left()) {
      // The last loop shares what remains evenly, in units of 16 bytes. There are at most 2^31 of them (abi::Work), so
      // that no 64-bit division is needed.
      if (rest < uint64_t(chunk) * numRanks_) {
        chunk = (uint32_t((rest + 15) / 16) + numRanks_ - 1) / numRanks_ * 16;
      }

      uint32_t c = index_;
      // Counted from the step that completes a chunk, so that comparisons need n alone, and not 2n-1 too.
      const int32_t n = int32_t(numRanks_);
#pragma unroll 1
      for (int32_t k = 1 - n; k < n; k++) {
        c = (c == 0 ? numRanks_ : c) - 1;
        const uint64_t at = uint64_t(c) * chunk;
        const uint32_t size = at >= rest ? 0 : rest - at < chunk ? uint32_t(rest - at) : chunk;
        primitives_.run(op, step(k, src + at, dst + at, size));
      }
      const uint64_t done = uint64_t(chunk) * numRanks_;
      if (rest <= done) return;
      src += done;
      dst += done;
      rest -= done;
    }
  }

  __device__ __forceinline__ bool left() const { return primitives_.left(); }
  __device__ __forceinline__ void report(const abi::Channel& channel, Address to, uint64_t op) {
    primitives_.report(to, op, channel.ring.prev, channel.ring.next);
  }
  __device__ __forceinline__ void end(const abi::Channel& channel) {
    primitives_.end(channel.peers, channel.ring.prev, channel.ring.next);
  }

 private:
  // What step k does with its chunk. The last step of the reduce-scatter is the first of the all-gather, so 2(n-1) hops
  // are 2n-1 steps, 1-n to n-1: the first only sends, the last only receives.
  __device__ __forceinline__ Transfer step(int32_t k, Address src, Address dst, uint32_t bytes) const {
    const int32_t n = int32_t(numRanks_);
    if (n == 1) return copy(src, dst, bytes);
    // step 1-n: start the reduction of a chunk
    if (k + n == 1) return send(src, bytes);
    // n-2 steps: add mine and pass on
    if (k < 0) return recvReduceSend(src, bytes);
    // step 0: the result is complete; keep it and pass it on
    if (k == 0) return recvReduceCopySend(src, dst, bytes);
    // n-2 steps: keep a result and pass it on
    if (k + 1 < n) return recvCopySend(dst, bytes);
    // last step: keep a result
    return recv(dst, bytes);
  }

  Primitives<T, Op, Proto> primitives_;
  const uint32_t numRanks_;
  const uint32_t index_;
};

}  // namespace

#endif  // NCCL_ALL_REDUCE_CUH_
