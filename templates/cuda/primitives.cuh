// The verbs that algorithms are written in, and the one loop that carries them out.
//
//                     from previous (FIFO)
//                             |
//       src (user) ----> [ reduce ] ----> dst (user)
//                             |
//                             v
//                      to next (FIFO)
//
// Every verb is this picture with some arrows missing: one or two sources, one or two sinks, decided at run time. So a
// kernel has one body for all of them, a third of the code of one body each.
//
// Layers: an algorithm (all_reduce.cuh) says which bytes take which verb; this file cuts them into slices for Simple,
// whose chunks take several steps; a protocol (proto_*.cuh) moves one piece and says when it has arrived. An algorithm
// never mentions a flag or a fence, a protocol never mentions a rank.
#ifndef NCCL_PRIMITIVES_CUH_
#define NCCL_PRIMITIVES_CUH_

#include "conn.cuh"
#include "reduce.cuh"
#include "wait.cuh"

namespace {

__device__ __forceinline__ uint32_t least(uint32_t x, uint32_t y) { return x < y ? x : y; }
__device__ __forceinline__ uint32_t most(uint32_t x, uint32_t y) { return x > y ? x : y; }

// One verb on one chunk. An address of 0: no such source or sink.
struct Transfer {
  Address src;  // this rank's elements
  Address dst;
  uint32_t bytes;
  bool recv;
  bool send;
  bool finishes;  // the reduction is complete here: what leaves is the operator's finished result

  // With both sources: dst and the next rank get the reduction of what arrived with src.
  __device__ __forceinline__ bool reduces() const { return recv && src != 0; }
};

__device__ __forceinline__ Transfer copy(Address src, Address dst, uint32_t bytes) {
  return {src, dst, bytes, false, false, true};
}
__device__ __forceinline__ Transfer send(Address src, uint32_t bytes) { return {src, 0, bytes, false, true, false}; }
__device__ __forceinline__ Transfer recv(Address dst, uint32_t bytes) { return {0, dst, bytes, true, false, false}; }
__device__ __forceinline__ Transfer recvCopySend(Address dst, uint32_t bytes) {
  return {0, dst, bytes, true, true, false};
}
__device__ __forceinline__ Transfer recvReduceSend(Address src, uint32_t bytes) {
  return {src, 0, bytes, true, true, false};
}
__device__ __forceinline__ Transfer recvReduceCopySend(Address src, Address dst, uint32_t bytes) {
  return {src, dst, bytes, true, true, true};
}

// A CTA with one connection to receive from and one to send to.
template <class T, template <class> class Op, class Proto>
class Primitives {
 public:
  __device__ __forceinline__ Primitives(const abi::Comm& comm, const abi::Peer* peers, uint32_t from, uint32_t to)
      : cta_(comm), receiver_(comm, peers[from].recv, Proto::index), sender_(comm, peers[to].send, Proto::index) {}

  // Prepares for a work. Threads beyond its number attend the barriers only.
  __device__ __forceinline__ void begin(uint32_t threads) { cta_.workers = threads; }

  // Carries out a transfer: of LL and LL128 in one step, of Simple in as many slices as its size and the slots ask for.
  // Sender and receiver of a slice compute the same sizes; an empty transfer takes no step. After an abort nothing
  // moves any more.
  __device__ __forceinline__ void run(const Op<T>& op, Transfer t) {
    if constexpr (Proto::chunkIsStep) {
      if (t.bytes != 0 && !cta_.left) Proto::template step<T>(cta_, op, t, receiver_, sender_);
    } else {
      const uint32_t piece = Proto::pieceBytes(t.bytes, t.send ? sender_.slotBytes : receiver_.slotBytes);
      uint32_t left = t.bytes;
#pragma unroll 1
      while (left != 0 && !cta_.left) {
        t.bytes = least(piece, left);
        Proto::template step<T>(cta_, op, t, receiver_, sender_);
        left -= t.bytes;
        if (t.src != 0) t.src += t.bytes;
        if (t.dst != 0) t.dst += t.bytes;
      }
    }
  }

  __device__ __forceinline__ bool left() const { return cta_.left; }

  // Tells the host, after the CTA has left, what it was waiting for. If some threads waited for data and some for
  // credit (LL), data it is; all threads that write, write the same.
  __device__ __forceinline__ void report(Address to, uint64_t op, uint32_t prev, uint32_t next) {
    const bool data = barrierRedOr(cta_.waitedFor == abi::ReportData);
    const uint32_t state = data ? abi::ReportData : abi::ReportCredit;
    if (cta_.waitedFor != state) return;
    stRelaxedSysU32(to + __builtin_offsetof(abi::Report, state), state);
    stRelaxedSysU32(to + __builtin_offsetof(abi::Report, peer), data ? prev : next);
    stRelaxedSysU64(to + __builtin_offsetof(abi::Report, step), data ? receiver_.step : sender_.step);
    stRelaxedSysU64(to + __builtin_offsetof(abi::Report, op), op);
  }

  // Leaves the connections as the next kernel must find them. The barrier: no thread may still be loading them.
  __device__ __forceinline__ void end(Address peers, uint32_t from, uint32_t to) {
    cta_.sync();
    if (!cta_.publishes()) return;
    const abi::Peer* p = reinterpret_cast<const abi::Peer*>(peers);
    stGlobalU64(Address(&p[from].recv.step), receiver_.step);
    stGlobalU64(Address(&p[to].send.step), sender_.step);
  }

 private:
  Cta cta_;
  Receiver receiver_;
  Sender sender_;
};

}  // namespace

#endif  // NCCL_PRIMITIVES_CUH_
