// Variables in every state space, initial contents, local arrays, parameters
// by value, and inline PTX with its own block.
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))

struct Args {
  char bytes[3104];
};

SHARED int staging[64];
extern SHARED int dynamic[];
CONSTANT int table[4] = {1, 2, 3, 4};
DEVICE float weights[3] = {1.5f, 2.0f, -0.0f};
DEVICE unsigned long long counter;
DEVICE unsigned long long* pointer = &counter;

extern "C" GLOBAL __attribute__((launch_bounds(512, 2))) void memory(float* out, const float* in, Args args, int n) {
  int i;
  asm("mov.u32 %0, %%tid.x;" : "=r"(i));
  staging[i & 63] = n + table[i & 3];
  dynamic[i] = n;
  asm volatile("bar.sync 0;" ::: "memory");
  float sum = 0;
  for (int j = 0; j < n; j++) sum += out[j] * in[i] + float(args.bytes[j + i]);
  asm volatile("{ .reg .pred p; setp.eq.s32 p, %1, 0; @p st.volatile.global.f32 [%0], %2; }" ::"l"(out), "r"(i), "f"(sum));
  int scratch[100];
  for (int j = 0; j < 100; j++) scratch[j] = args.bytes[j];
  out[1] = scratch[n] + weights[i % 3];
  *pointer += dynamic[n];
  switch (staging[(i + 1) & 63]) {
    case 0: out[0] = 1; break;
    case 1: out[1] = 2; break;
    case 3: out[5] = 8; break;
    case 9: out[i] = sum; break;
  }
}
