// The PTX that the compilers have no common word for, or must not choose themselves: one instruction a function, named
// after it. Nothing else in these headers contains asm, so this file lists what a PTX machine must honour. In four
// groups: who am I, barriers and fences, memory, arithmetic.
//
// Asm that touches memory or synchronises is volatile with a memory clobber: the compiler keeps its order, and
// the order of the C++ accesses around it. Asm that only computes is neither, so equal calls fold into one.
//
// All addresses are of global memory. Floats are passed as their bits.
#ifndef NCCL_PTX_CUH_
#define NCCL_PTX_CUH_

#include "device.cuh"

// A device address in global memory: this GPU's, a peer's or pinned host memory's.
using Address = uint64_t;

namespace {

// --- Who am I ---

// mov.u32 d, %tid.x
__device__ __forceinline__ uint32_t movTidX() {
  uint32_t d;
  asm("mov.u32 %0, %%tid.x;" : "=r"(d));
  return d;
}

// mov.u32 d, %ntid.x
__device__ __forceinline__ uint32_t movNtidX() {
  uint32_t d;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(d));
  return d;
}

// mov.u32 d, %ctaid.x
__device__ __forceinline__ uint32_t movCtaidX() {
  uint32_t d;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(d));
  return d;
}

// --- Barriers and fences ---

// barrier.sync 0: all threads of the CTA arrive, and what each wrote or learned before is ordered before what any does
// after. The unaligned form: the lanes of a warp may arrive apart, after a wait of one of them.
__device__ __forceinline__ void barrierSync() { asm volatile("barrier.sync 0;" ::: "memory"); }

// barrier.red.or.pred q, 0, p: the same, and every thread learns whether any came with a true value. (A predicate
// cannot be an asm operand, hence the two conversions.)
__device__ __forceinline__ bool barrierRedOr(bool value) {
  uint32_t any;
  asm volatile(
      "{\n\t"
      ".reg .pred p, q;\n\t"
      "setp.ne.u32 p, %1, 0;\n\t"
      "barrier.red.or.pred q, 0, p;\n\t"
      "selp.u32 %0, 1, 0, q;\n\t"
      "}"
      : "=r"(any)
      : "r"(uint32_t(value))
      : "memory");
  return any != 0;
}

// fence.acq_rel.sys: before a strong store, it makes that store publish all this thread wrote or learned (through a
// barrier: what its CTA wrote); after a strong load, it makes what the loaded store published readable. Scope sys: the
// other side is another GPU or the host.
__device__ __forceinline__ void fenceAcqRelSys() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// bar.warp.sync 0xffffffff: the lanes of the warp meet, and go on together.
__device__ __forceinline__ void barWarpSync() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// vote.sync.any.pred q, p, 0xffffffff: the lanes of the warp meet, and each learns whether any came with a true value.
// It orders no memory by itself. (The clobber: no access may be moved across it by the compiler.)
__device__ __forceinline__ bool voteSyncAny(bool value) {
  uint32_t any;
  asm volatile(
      "{\n\t"
      ".reg .pred p, q;\n\t"
      "setp.ne.u32 p, %1, 0;\n\t"
      "vote.sync.any.pred q, p, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, q;\n\t"
      "}"
      : "=r"(any)
      : "r"(uint32_t(value))
      : "memory");
  return any != 0;
}

// --- Strong accesses: flags and counters that the other side writes or reads meanwhile. They order nothing else. ---

// ld.relaxed.sys.global.u32: polls the abort flag in host memory.
__device__ __forceinline__ uint32_t ldRelaxedSysU32(Address a) {
  uint32_t d;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(d) : "l"(a) : "memory");
  return d;
}

// ld.relaxed.sys.global.u64: polls a head, a tail or the flag of an LL128 line. Relaxed, because an acquire would
// invalidate L1 at every turn.
__device__ __forceinline__ uint64_t ldRelaxedSysU64(Address a) {
  uint64_t d;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(d) : "l"(a) : "memory");
  return d;
}

// ld.relaxed.sys.global.v2.u64: polls both words of an LL line. Each word is one access of 8 bytes, so its data and
// its flag are of one store; the two words may be of different ones. Loads a lane's 16 bytes of an LL128 line.
__device__ __forceinline__ void ldRelaxedSysV2U64(Address a, uint64_t& d0, uint64_t& d1) {
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(d0), "=l"(d1) : "l"(a) : "memory");
}

// st.relaxed.sys.global.u32: a word of a report to the host.
__device__ __forceinline__ void stRelaxedSysU32(Address a, uint32_t v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(a), "r"(v) : "memory");
}

// st.relaxed.sys.global.u64: publishes a head or tail. What it publishes was ordered before it by a barrier (head) or a
// barrier and a fence (tail).
__device__ __forceinline__ void stRelaxedSysU64(Address a, uint64_t v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(a), "l"(v) : "memory");
}

// st.relaxed.sys.global.v2.u64: writes both words of an LL line. Data and flag of a word become visible together; no
// fence, because the flag travels with what it guards. Writes a lane's 16 bytes of an LL128 line.
__device__ __forceinline__ void stRelaxedSysV2U64(Address a, uint64_t v0, uint64_t v1) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(a), "l"(v0), "l"(v1) : "memory");
}

// --- Weak accesses: data that a counter, a barrier or the kernel's boundary orders. The wide ones are here because
// clang splits the copy of a 16-byte struct into four. ---

// ld.global.u8 d, [a], into 32 bits, zero-extended
__device__ __forceinline__ uint32_t ldGlobalU8(Address a) {
  uint32_t d;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(d) : "l"(a) : "memory");
  return d;
}

// ld.global.u16 d, [a], into 32 bits, zero-extended
__device__ __forceinline__ uint32_t ldGlobalU16(Address a) {
  uint32_t d;
  asm volatile("ld.global.u16 %0, [%1];" : "=r"(d) : "l"(a) : "memory");
  return d;
}

// ld.global.u32 d, [a]
__device__ __forceinline__ uint32_t ldGlobalU32(Address a) {
  uint32_t d;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(d) : "l"(a) : "memory");
  return d;
}

// ld.global.u64 d, [a]
__device__ __forceinline__ uint64_t ldGlobalU64(Address a) {
  uint64_t d;
  asm volatile("ld.global.u64 %0, [%1];" : "=l"(d) : "l"(a) : "memory");
  return d;
}

// ld.global.v2.u32 {d0, d1}, [a]
__device__ __forceinline__ void ldGlobalV2U32(Address a, uint32_t& d0, uint32_t& d1) {
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(d0), "=r"(d1) : "l"(a) : "memory");
}

// ld.global.v4.u32 {d0, d1, d2, d3}, [a]
__device__ __forceinline__ void ldGlobalV4U32(Address a, uint32_t& d0, uint32_t& d1, uint32_t& d2, uint32_t& d3) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3) : "l"(a) : "memory");
}

// ld.global.v2.u64 {d0, d1}, [a]
__device__ __forceinline__ void ldGlobalV2U64(Address a, uint64_t& d0, uint64_t& d1) {
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(d0), "=l"(d1) : "l"(a) : "memory");
}

// st.global.u8 [a], v: the low byte
__device__ __forceinline__ void stGlobalU8(Address a, uint32_t v) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(a), "r"(v) : "memory");
}

// st.global.u16 [a], v: the low half
__device__ __forceinline__ void stGlobalU16(Address a, uint32_t v) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(a), "r"(v) : "memory");
}

// st.global.u32 [a], v
__device__ __forceinline__ void stGlobalU32(Address a, uint32_t v) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(a), "r"(v) : "memory");
}

// st.global.u64 [a], v
__device__ __forceinline__ void stGlobalU64(Address a, uint64_t v) {
  asm volatile("st.global.u64 [%0], %1;" ::"l"(a), "l"(v) : "memory");
}

// st.global.v2.u32 [a], {v0, v1}
__device__ __forceinline__ void stGlobalV2U32(Address a, uint32_t v0, uint32_t v1) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(a), "r"(v0), "r"(v1) : "memory");
}

// st.global.v4.u32 [a], {v0, v1, v2, v3}
__device__ __forceinline__ void stGlobalV4U32(Address a, uint32_t v0, uint32_t v1, uint32_t v2, uint32_t v3) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(a), "r"(v0), "r"(v1), "r"(v2), "r"(v3) : "memory");
}

// st.global.v2.u64 [a], {v0, v1}
__device__ __forceinline__ void stGlobalV2U64(Address a, uint64_t v0, uint64_t v1) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(a), "l"(v0), "l"(v1) : "memory");
}

// --- Registers ---

// mov.b64 d, {lo, hi}
__device__ __forceinline__ uint64_t movB64Pack(uint32_t lo, uint32_t hi) {
  uint64_t d;
  asm("mov.b64 %0, {%1, %2};" : "=l"(d) : "r"(lo), "r"(hi));
  return d;
}

// mov.b64 {lo, hi}, v
__device__ __forceinline__ void movB64Unpack(uint64_t v, uint32_t& lo, uint32_t& hi) {
  asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(v));
}

// prmt.b32 d, a, b, selector: nibble i of the selector says which of the 8 bytes of b:a becomes byte i of d; a nibble
// of 8 or more, that byte's sign bit repeated.
__device__ __forceinline__ uint32_t prmtB32(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
  return d;
}

// --- Arithmetic. Every rounding is written, so no compiler contracts or reassociates. min and max: if one operand is
// NaN the result is the other, if both are it is the canonical NaN, and -0 < +0 (PTX ISA, min and max). ---

// mul.hi.u32: the upper half of the product
__device__ __forceinline__ uint32_t mulHiU32(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// mul.hi.u64
__device__ __forceinline__ uint64_t mulHiU64(uint64_t a, uint64_t b) {
  uint64_t d;
  asm("mul.hi.u64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}

// add.rn.f32
__device__ __forceinline__ uint32_t addRnF32(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("add.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// mul.rn.f32
__device__ __forceinline__ uint32_t mulRnF32(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("mul.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// min.f32
__device__ __forceinline__ uint32_t minF32(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// max.f32
__device__ __forceinline__ uint32_t maxF32(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("max.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// add.rn.f64
__device__ __forceinline__ uint64_t addRnF64(uint64_t a, uint64_t b) {
  uint64_t d;
  asm("add.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}

// mul.rn.f64
__device__ __forceinline__ uint64_t mulRnF64(uint64_t a, uint64_t b) {
  uint64_t d;
  asm("mul.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}

// min.f64
__device__ __forceinline__ uint64_t minF64(uint64_t a, uint64_t b) {
  uint64_t d;
  asm("min.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}

// max.f64
__device__ __forceinline__ uint64_t maxF64(uint64_t a, uint64_t b) {
  uint64_t d;
  asm("max.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}

// add.rn.f16x2
__device__ __forceinline__ uint32_t addRnF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// mul.rn.f16x2
__device__ __forceinline__ uint32_t mulRnF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// cvt.f32.f16: exact
__device__ __forceinline__ uint32_t cvtF32F16(uint16_t a) {
  uint32_t d;
  asm("cvt.f32.f16 %0, %1;" : "=r"(d) : "h"(a));
  return d;
}

// cvt.rn.f16.f32
__device__ __forceinline__ uint16_t cvtRnF16F32(uint32_t a) {
  uint16_t d;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(d) : "r"(a));
  return d;
}

// min.f16x2, from sm_80 on
__device__ __forceinline__ uint32_t minF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// max.f16x2
__device__ __forceinline__ uint32_t maxF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// add.rn.bf16x2, from sm_90 on
__device__ __forceinline__ uint32_t addRnBF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// mul.rn.bf16x2
__device__ __forceinline__ uint32_t mulRnBF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// min.bf16x2
__device__ __forceinline__ uint32_t minBF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// max.bf16x2
__device__ __forceinline__ uint32_t maxBF16x2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// cvt.rn.f16x2.e4m3x2: exact. Conversions of 8-bit floats are from sm_89 on.
__device__ __forceinline__ uint32_t cvtRnF16x2E4M3x2(uint16_t a) {
  uint32_t d;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(a));
  return d;
}

// cvt.rn.f16x2.e5m2x2: exact
__device__ __forceinline__ uint32_t cvtRnF16x2E5M2x2(uint16_t a) {
  uint32_t d;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(d) : "h"(a));
  return d;
}

// cvt.rn.satfinite.e4m3x2.f16x2: infinity too becomes the largest finite value
__device__ __forceinline__ uint16_t cvtRnSatfiniteE4M3x2F16x2(uint32_t a) {
  uint16_t d;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(d) : "r"(a));
  return d;
}

// cvt.rn.satfinite.e5m2x2.f16x2
__device__ __forceinline__ uint16_t cvtRnSatfiniteE5M2x2F16x2(uint32_t a) {
  uint16_t d;
  asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(d) : "r"(a));
  return d;
}

}  // namespace

#endif  // NCCL_PTX_CUH_
