// LL: low latency. Every 8 bytes carry their own arrival; no counter, no fence, at half the bandwidth.
//
//   line (16 bytes)  | data 0 | flag | data 1 | flag |      two words of 8 bytes, each one access
//
//   sender, every thread                       receiver, every thread
//   --------------------                       ----------------------
//   polls head: credit for step s
//   st.relaxed.sys.v2.u64 line ------------->  ld.relaxed.sys.v2.u64 line, until both flags are flag(s)
//                                              uses the data
//                                              barrier of the CTA: all have used theirs
//   polls head <-----------------------------  st.relaxed.sys head = s + 1
//
// Who writes: a slot's lines, only the sender's CTA; head, only the receiver's. Who may read when: a word's data, once
// a load of that word shows flag(s): one 8-byte access, so data and flag are of one store. The two words of a line may
// arrive apart, hence two flags. What orders the reuse of a slot: the receiver uses the data it loaded before the
// barrier, head is stored after the barrier, the sender writes after it has seen head: a load that is done cannot see a
// store that has not begun. No release is needed, as no data travels with a credit.
//
// Flags. Step s uses slot s % NumSteps, and flag(s) is the low 32 bits of s with bit 0 set: never 0, which is what new
// memory holds. Steps of one slot agree modulo 8, so bit 0 tells none of them apart, and flag(s) == flag(p) for two
// steps of one slot only if s == p modulo 2^32. A line that a short step leaves alone keeps its old flag; it would be
// taken for new 2^32 steps later. So it is rewritten before: at each step c with c % 2^30 < NumSteps, whatever its
// protocol, the sender writes the whole LL slot c % NumSteps with flag(c), having credit for c:
//   - each slot has such a step every 2^30 steps, and no step is ever skipped: every step of a connection, of any
//     protocol, is one that the sender takes;
//   - flag(c) differs from that of every other step of the slot between c - 2^32 and c + 2^32;
//   - at step c itself the receiver polls, if anything, the lines with data, which the cleaning leaves to the data;
//   - a line read at step p was last written at a step later than p - 2^30 - 8, or holds data of p.
// The rewrite has more than 2^31 steps to arrive.
//
// ptx *_LL:- "fence"
#ifndef NCCL_PROTO_LL_CUH_
#define NCCL_PROTO_LL_CUH_

#include "primitives.cuh"

namespace {

constexpr uint32_t LLCleanPeriod = 1u << 30;  // steps

__device__ __forceinline__ uint32_t llFlag(uint64_t step) { return uint32_t(step) | 1; }

__device__ __forceinline__ void storeLine(Address line, uint32_t data0, uint32_t data1, uint32_t flag) {
  // ptx: "st.relaxed.sys.global.v2.u64 ["
  stRelaxedSysV2U64(line, movB64Pack(data0, flag), movB64Pack(data1, flag));
}

// True if the line holds data of the step with this flag.
__device__ __forceinline__ bool loadLine(Address line, uint32_t& data0, uint32_t& data1, uint32_t flag) {
  uint64_t word0, word1;
  uint32_t flag0, flag1;
  // ptx *_LL: "ld.relaxed.sys.global.v2.u64 {"
  ldRelaxedSysV2U64(line, word0, word1);
  movB64Unpack(word0, data0, flag0);
  movB64Unpack(word1, data1, flag1);
  return flag0 == flag && flag1 == flag;
}

// Rewrites the LL slot of a step from line `from` on, if the step is one at which slots are cleaned. The caller has
// credit for the step.
__device__ __forceinline__ void cleanLL(const Cta& cta, const Sender& s, uint64_t step, uint32_t from) {
  if (uint32_t(step) % LLCleanPeriod >= abi::NumSteps) return;
  const uint32_t bytes = ldGlobalU32(cta.comm + __builtin_offsetof(abi::Comm, slotBytes[abi::ProtoLL]));
  const Address slot = ldGlobalU64(s.conn + __builtin_offsetof(abi::Conn, fifo[abi::ProtoLL])) +
                       uint32_t(step) % abi::NumSteps * uint64_t(bytes);
#pragma unroll 1
  for (uint32_t i = from + cta.thread; i < bytes / abi::LLLineBytes; i += cta.threads()) {
    storeLine(slot + i * abi::LLLineBytes, 0, 0, llFlag(step));
  }
}

// The end of a step whose lines said themselves that they arrived (LL, LL128): the CTA has used the data, the slot is
// the sender's again.
__device__ __forceinline__ void endStep(Cta& cta, const Transfer& t, Receiver& r, Sender& s) {
  // ptx: "barrier.red.or.pred q, 0, p"
  if (!cta.agree()) return;
  if (t.recv) {
    r.step++;
    // ptx: "st.relaxed.sys.global.u64"
    if (cta.publishes()) stRelaxedSysU64(r.head, r.step);
  }
  if (t.send) s.step++;
}

struct ProtoLL {
  static constexpr uint32_t index = abi::ProtoLL;

  // A chunk is what a slot holds, at most.
  static constexpr bool chunkIsStep = true;

  template <class T, class Op>
  static __device__ __forceinline__ void step(Cta& cta, const Op& op, const Transfer& t, Receiver& r, Sender& s) {
    const uint32_t lines = (t.bytes + abi::LLDataBytes - 1) / abi::LLDataBytes;
    const bool credit = !t.send || s.hasCredit(1) || cta.waitUntil(abi::ReportCredit, [&] { return s.pollCredit(1); });
    if (credit) {
      if (cta.works()) move<T>(cta, op, t, r, s, lines);
      if (t.send) cleanLL(cta, s, s.step, lines);
    }
    endStep(cta, t, r, s);
  }

 private:
  // Moves the lines of this thread; stops at an aborted wait.
  template <class T, class Op>
  static __device__ __forceinline__ void move(Cta& cta, const Op& op, const Transfer& t, const Receiver& r,
                                              const Sender& s, uint32_t lines) {
    const Address in = r.fifo + uint32_t(r.step) % abi::NumSteps * uint64_t(r.slotBytes);
    const Address out = s.fifo + uint32_t(s.step) % abi::NumSteps * uint64_t(s.slotBytes);
    const bool aligned = T::bytes == 8 || ((t.src | t.dst) & 7) == 0;
#pragma unroll 1
    for (uint32_t i = cta.thread; i < lines; i += cta.workers) {
      const uint32_t at = i * abi::LLDataBytes;
      const bool wide = T::bytes == 8 || (aligned && t.bytes - at >= 8);
      Pack<T, 8> own, result;
      if (t.src != 0) {
        own = wide ? load<T, 8>(t.src + at) : loadElements<T>(t.src + at, t.bytes - at);
        own = prepare(op, own);
        result = own;
      }
      if (t.recv) {
        uint32_t data0, data1;
        const auto arrived = [&] { return loadLine(in + i * abi::LLLineBytes, data0, data1, llFlag(r.step)); };
        if (!cta.waitUntil(abi::ReportData, arrived)) return;
        const Pack<T, 8> received = join<T>(data0, data1);
        result = t.src != 0 ? reduce(op, received, own) : received;
      }
      if (t.finishes) result = finish(op, result);
      if (t.send) {
        uint32_t data0, data1;
        split(result, data0, data1);
        storeLine(out + i * abi::LLLineBytes, data0, data1, llFlag(s.step));
      }
      if (t.dst != 0) {
        if (wide) {
          store(t.dst + at, result);
        } else {
          storeElements(t.dst + at, result, t.bytes - at);
        }
      }
    }
  }
};

}  // namespace

#endif  // NCCL_PROTO_LL_CUH_
