// The CTA that serves a channel: its threads, its barriers, and the functions in which anything waits.
//
//   thread       waits ------------------ abort flag seen: remembers what for, stops moving data
//   CTA          agrees, at its next barrier: did any thread see it? --------- all leave together
//
// A wait that is aborted returns; it never exits. So every thread reaches every barrier that the others reach, and the
// CTA leaves whole. What is then in the FIFOs is undefined: the communicator is dead.
#ifndef NCCL_WAIT_CUH_
#define NCCL_WAIT_CUH_

#include "abi.h"
#include "ptx.cuh"

namespace {

// How often a wait polls before it looks at the abort flag, which lies in host memory: some 0.1 ms on a GPU, and soon
// enough on a machine that spins slowly. A power of two. (NCCL_SPINS_BEFORE_CHECK_ABORT is 10,000, NCCL v2.30
// src/device/common.h.)
constexpr uint32_t SpinsPerAbortCheck = 256;

struct Cta {
  const uint32_t thread = movTidX();
  const Address comm;  // abi::Comm
  // Threads that move data in this work: the first ones, in whole warps. The rest only attend the barriers.
  uint32_t workers = 0;
  // abi::ReportNone, or what this thread was waiting for when it saw the abort flag.
  uint32_t waitedFor = abi::ReportNone;
  // The same in all threads: the CTA has agreed to leave.
  bool left = false;

  __device__ __forceinline__ explicit Cta(const abi::Comm& c) : comm(Address(&c)) {}

  // Those of the CTA. Read where they are needed: they are in the constant bank, and registers are short.
  __device__ __forceinline__ uint32_t threads() const { return movNtidX(); }

  // True in the threads that move data.
  __device__ __forceinline__ bool works() const { return thread < workers; }

  // Polls ready() until it is true. False if the communicator was aborted first.
  template <class Ready>
  __device__ __forceinline__ bool waitUntil(uint32_t what, Ready ready) {
    return poll(what, ready, [](bool seen) { return seen; });
  }

  // The same for a whole warp, in whose lanes ready() is the same: they go on together, whatever each saw of the flag.
  template <class Ready>
  __device__ __forceinline__ bool warpWaitUntil(uint32_t what, Ready ready) {
    return poll(what, ready, voteSyncAny);
  }

  // A barrier, at which the CTA leaves if any of its threads saw the abort flag. False if it does.
  __device__ __forceinline__ bool agree() {
    left = barrierRedOr(waitedFor != abi::ReportNone);
    return !left;
  }

  // A barrier between two agree() in which no thread waits.
  __device__ __forceinline__ void sync() { barrierSync(); }

  // The thread that polls counters for all, and the one that publishes them: in different warps where there are two, so
  // that the next poll need not wait for the fence of the last step.
  __device__ __forceinline__ bool polls() const { return thread == 0; }
  __device__ __forceinline__ bool publishes() const { return thread + 1 == threads(); }

 private:
  // leaves(seen): whether this thread is to leave, after it has or has not seen the abort flag.
  template <class Ready, class Leaves>
  __device__ __forceinline__ bool poll(uint32_t what, Ready ready, Leaves leaves) {
#pragma unroll 1
    for (uint32_t spins = 1; !ready(); spins++) {
      if (spins % SpinsPerAbortCheck == 0 && leaves(aborted())) {
        waitedFor = what;
        return false;
      }
    }
    return true;
  }

  // The flag's address is loaded each time: it is seldom needed, and registers are short.
  __device__ __forceinline__ bool aborted() const {
    return ldRelaxedSysU32(ldGlobalU64(comm + __builtin_offsetof(abi::Comm, abortFlag))) != 0;
  }
};

}  // namespace

#endif  // NCCL_WAIT_CUH_
