// The least that generated units compile with: integers, and a kernel that adds
// one to an element.
#ifndef NCCL_DEVICE_CUH_
#define NCCL_DEVICE_CUH_

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#endif  // NCCL_DEVICE_CUH_
