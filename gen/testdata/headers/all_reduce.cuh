#ifndef NCCL_ALL_REDUCE_CUH_
#define NCCL_ALL_REDUCE_CUH_

#include "abi.h"
#include "dtype.cuh"

struct Sum {};
struct Prod {};
struct MinMax {};
struct ProtoLL {};
struct ProtoSimple {};

template <class T, class Op, class Proto>
struct AllReduceRing {
  __attribute__((device)) static void run(abi::Ptr at) { *reinterpret_cast<T*>(at) += T(1); }
};

#define NCCL_KERNEL(symbol, Algorithm, Type, Op, Proto, threads)                                                   \
  extern "C" __attribute__((global)) void __attribute__((launch_bounds(threads))) symbol(const abi::KernelArgs a) { \
    Algorithm<Type, Op, Proto>::run(a.comm);                                                                       \
  }

#endif  // NCCL_ALL_REDUCE_CUH_
