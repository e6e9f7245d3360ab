// What the compilers spell differently, and nothing else: the only file with #if on the compiler. nvcc, and clang with
// the CUDA headers, get keywords and integers from the SDK; clang without any SDK (-nocudainc) gets them from here.
#ifndef NCCL_DEVICE_CUH_
#define NCCL_DEVICE_CUH_

#if defined(__CUDACC__)

#include <stdint.h>

#define NCCL_GRID_CONSTANT __grid_constant__

#else

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
// clang passes kernel parameters by reference to param space already; it does not know the keyword.
#define NCCL_GRID_CONSTANT

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#endif

#endif  // NCCL_DEVICE_CUH_
