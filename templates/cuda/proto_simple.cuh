// Simple: bulk data, then a counter. Full bandwidth, at the price of two fences a hop.
//
//   sender's CTA                                    receiver's CTA
//   ------------                                    --------------
//   t0: polls head: credit for slice [s, s+2)
//   barrier
//   all: st.v4 data into the FIFO ---------+
//   barrier                                |
//   tn: fence.acq_rel.sys                  |
//   tn: st.relaxed.sys tail = s+2 ---------|--->    t0: polls tail (ld.relaxed.sys)
//                                          |        t0: fence.acq_rel.sys
//                                          |        barrier
//                                          +--->    all: ld.v4 data from the FIFO
//                                                   barrier: all have used theirs
//   t0: polls head <------------------------------  tn: st.relaxed.sys head = s+2
//
// Who writes: the FIFO's data and tail, only the sender's CTA; head, only the receiver's. Who may read when: data of
// steps below tail, after the barrier that follows t0's fence. Why that is enough: the first barrier of the receiver
// hands to all what t0 has acquired, the second barrier of the sender hands to tn what all have written, and each fence
// turns the relaxed access next to it into an acquire or a release, of system scope. One fence after a poll that
// succeeded, none in the loop: a fence invalidates L1. Data is then read and written by weak accesses.
//
// What orders the reuse of a slot: the receiver uses what it loaded before the barrier that precedes head; the sender
// writes after it has seen head. A credit carries no data and needs no release.
//
// Slices. A chunk is sent in two slices where it pays, so that the next rank can begin while the second is under way. A
// slice takes SimpleSliceSteps = 2 steps and as many slots, from slot s % 8 rounded down to even. Steps of LL lie
// between, so s may be odd; a slice is then at the slots of s-1 and s. Two slices s < p that share slots never meet:
//   - their even parts differ by a multiple of 8, so p >= s + 7;
//   - p has credit once head >= p + 2 - 8 >= s + 1;
//   - head steps over s + 1, since the receiver of slice s moves it from s to s + 2.
#ifndef NCCL_PROTO_SIMPLE_CUH_
#define NCCL_PROTO_SIMPLE_CUH_

#include "proto_ll.cuh"

namespace {

struct ProtoSimple {
  static constexpr uint32_t index = abi::ProtoSimple;
  static constexpr uint32_t sliceSteps = abi::SimpleSliceSteps;
  static constexpr uint32_t slicesPerChunk = abi::SimpleChunkSteps / abi::SimpleSliceSteps;
  // Below this part of its room a slice costs more than it overlaps (NCCL v2.30 src/device/prims_simple.h).
  static constexpr uint32_t leastPart = 32;
  // Packs of 16 bytes that a thread has in flight from each source (NCCL's ncclCollUnroll is 4 up to sm_90).
  static constexpr uint32_t unroll = 4;

  // A chunk is cut into pieces, a piece is a slice.
  static constexpr bool chunkIsStep = false;
  static __device__ __forceinline__ uint32_t pieceBytes(uint32_t bytes, uint32_t slotBytes) {
    const uint32_t room = sliceSteps * slotBytes;
    const uint32_t share = most((bytes + slicesPerChunk - 1) / slicesPerChunk, room / leastPart);
    return least((share + 15) & ~15u, room);
  }

  template <class T, class Op>
  static __device__ __forceinline__ void step(Cta& cta, const Op& op, const Transfer& t, Receiver& r, Sender& s) {
    if (cta.polls()) wait(cta, t, r, s);
    // ptx: "barrier.red.or.pred q, 0, p"
    if (!cta.agree()) return;
    if (cta.works()) move<T>(cta, op, t, r, s);
#pragma unroll 1
    for (uint32_t i = 0; t.send && i < sliceSteps; i++) cleanLL(cta, s, s.step + i, 0);
    // ptx *_SIMPLE: "barrier.sync 0"
    cta.sync();
    if (t.send) {
      s.step += sliceSteps;
      if (cta.publishes()) {
        // ptx *_SIMPLE: "fence.acq_rel.sys"
        fenceAcqRelSys();
        // ptx: "st.relaxed.sys.global.u64"
        stRelaxedSysU64(s.tail, s.step);
      }
    }
    if (t.recv) {
      r.step += sliceSteps;
      if (cta.publishes()) stRelaxedSysU64(r.head, r.step);
    }
  }

 private:
  // One thread waits for all: for the data to arrive and for the room to put it.
  static __device__ __forceinline__ void wait(Cta& cta, const Transfer& t, Receiver& r, Sender& s) {
    const bool data = !t.recv || r.hasData(sliceSteps);
    const bool credit = !t.send || s.hasCredit(sliceSteps);
    if (data && credit) return;
    // ptx: "ld.relaxed.sys.global.u64"
    if (!data && !cta.waitUntil(abi::ReportData, [&] { return r.pollData(sliceSteps); })) return;
    if (!credit && !cta.waitUntil(abi::ReportCredit, [&] { return s.pollCredit(sliceSteps); })) return;
    fenceAcqRelSys();
  }

  static __device__ __forceinline__ Address slot(Address fifo, uint64_t step, uint32_t slotBytes) {
    return fifo + (uint32_t(step) % abi::NumSteps / sliceSteps * sliceSteps) * uint64_t(slotBytes);
  }

  // Moves the packs of this thread: 16 bytes each if all addresses allow it, then element by element.
  template <class T, class Op>
  static __device__ __forceinline__ void move(const Cta& cta, const Op& op, const Transfer& t, const Receiver& r,
                                              const Sender& s) {
    const Address in = slot(r.fifo, r.step, r.slotBytes);
    const Address out = slot(s.fifo, s.step, s.slotBytes);
    const Pipes p = {
        t.src != 0 ? t.src : in,        t.reduces() ? in : 0, t.dst != 0 ? t.dst : out,
        t.dst != 0 && t.send ? out : 0, t.src != 0,           t.finishes,
    };
    uint32_t at = 0;
    if (((p.src | p.received | p.dst | p.next) & 15) == 0) {
      at = movePacks<T, 16, unroll>(cta, op, p, at, t.bytes);
      at = movePacks<T, 16, 1>(cta, op, p, at, t.bytes);
    }
    at = movePacks<T, T::bytes, unroll>(cta, op, p, at, t.bytes);
    movePacks<T, T::bytes, 1>(cta, op, p, at, t.bytes);
  }

  // One or two sources, one or two sinks; 0: no second one.
  struct Pipes {
    Address src, received;
    Address dst, next;
    bool own;       // src is this rank's input, not what arrived
    bool finishes;  // Transfer::finishes
  };

  // Moves packs of Width bytes from offset `begin` on, as many as fit before `end`, and returns where they end. A warp
  // takes Unroll x 32 packs in a row at a time, and only whole ones if Unroll > 1: all loads of a turn are issued
  // before the first of them is used.
  template <class T, uint32_t Width, uint32_t Unroll, class Op>
  static __device__ __forceinline__ uint32_t movePacks(const Cta& cta, const Op& op, const Pipes& p, uint32_t begin,
                                                       uint32_t end) {
    constexpr uint32_t lineBytes = abi::WarpSize * Width;
    constexpr uint32_t turnBytes = Unroll * lineBytes;
    constexpr uint32_t grain = Unroll > 1 ? turnBytes : Width;
    const uint32_t stop = begin + (end - begin) / grain * grain;
    const uint32_t first = begin + cta.thread / abi::WarpSize * turnBytes + cta.thread % abi::WarpSize * Width;
    const uint32_t stride = cta.workers / abi::WarpSize * turnBytes;
#pragma unroll 1
    for (uint32_t at = first; at < stop; at += stride) {
      Pack<T, Width> pack[Unroll];
#pragma unroll
      for (uint32_t i = 0; i < Unroll; i++) pack[i] = load<T, Width>(p.src + at + i * lineBytes);
      if (p.own) {
#pragma unroll
        for (uint32_t i = 0; i < Unroll; i++) pack[i] = prepare(op, pack[i]);
      }
      if (p.received != 0) {
        Pack<T, Width> received[Unroll];
#pragma unroll
        for (uint32_t i = 0; i < Unroll; i++) received[i] = load<T, Width>(p.received + at + i * lineBytes);
#pragma unroll
        for (uint32_t i = 0; i < Unroll; i++) pack[i] = reduce(op, received[i], pack[i]);
      }
      if (p.finishes) {
#pragma unroll
        for (uint32_t i = 0; i < Unroll; i++) pack[i] = finish(op, pack[i]);
      }
#pragma unroll
      for (uint32_t i = 0; i < Unroll; i++) store(p.dst + at + i * lineBytes, pack[i]);
      if (p.next != 0) {
#pragma unroll
        for (uint32_t i = 0; i < Unroll; i++) store(p.next + at + i * lineBytes, pack[i]);
      }
    }
    return stop;
  }
};

}  // namespace

#endif  // NCCL_PROTO_SIMPLE_CUH_
