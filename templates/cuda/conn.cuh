// A connection's two ends, as one protocol sees them, in registers for the time of a kernel.
//
//      sender's GPU                             receiver's GPU
//      ------------                             --------------
//      head  <------- credit: consumed up to -- receiver
//      sender -- data --------> FIFO, NumSteps slots for each protocol
//      sender -- published up to -> tail (Simple only)
//
// Both ends count the same steps, in 64 bits that never wrap, one count for all protocols. Between kernels both are
// equal; the kernel loads them when it starts and stores them when it ends, so no argument of a launch depends on them.
//
// A sender may take step s once head says that step s - NumSteps is consumed. The cached values below are the last
// that were seen; as counters only grow, a cached value that suffices needs no poll. The first look at head is part of
// loading the connection, so that a short message does not wait for it. (A rank alone has no connections: addresses of
// 0.)
#ifndef NCCL_CONN_CUH_
#define NCCL_CONN_CUH_

#include "abi.h"
#include "ptx.cuh"

namespace {

struct Sender {
  Address conn;        // abi::Conn, in which cleanLL finds the LL slots
  Address fifo;        // in the receiver's memory
  Address head;        // polled
  Address tail;        // in the receiver's memory
  uint64_t step;       // the next
  uint32_t slotBytes;  // of this protocol
  uint64_t credit;     // head as last seen

  __device__ __forceinline__ Sender(const abi::Comm& comm, const abi::Conn& c, uint32_t proto)
      : conn(Address(&c)),
        fifo(c.fifo[proto]),
        head(c.head),
        tail(c.tail),
        step(c.step),
        slotBytes(comm.slotBytes[proto]),
        credit(c.head != 0 ? ldRelaxedSysU64(c.head) : 0) {}

  // Whether the next `steps` steps are known to be free.
  __device__ __forceinline__ bool hasCredit(uint32_t steps) const { return step + steps <= credit + abi::NumSteps; }
  __device__ __forceinline__ bool pollCredit(uint32_t steps) {
    credit = ldRelaxedSysU64(head);
    return hasCredit(steps);
  }
};

struct Receiver {
  Address fifo;
  Address head;  // in the sender's memory
  Address tail;  // polled
  uint64_t step;
  uint32_t slotBytes;
  uint64_t published;  // tail as last seen; nothing yet

  __device__ __forceinline__ Receiver(const abi::Comm& comm, const abi::Conn& c, uint32_t proto)
      : fifo(c.fifo[proto]), head(c.head), tail(c.tail), step(c.step), slotBytes(comm.slotBytes[proto]), published(0) {}

  // Whether the next `steps` steps are known to be published (Simple).
  __device__ __forceinline__ bool hasData(uint32_t steps) const { return step + steps <= published; }
  __device__ __forceinline__ bool pollData(uint32_t steps) {
    published = ldRelaxedSysU64(tail);
    return hasData(steps);
  }
};

}  // namespace

#endif  // NCCL_CONN_CUH_
