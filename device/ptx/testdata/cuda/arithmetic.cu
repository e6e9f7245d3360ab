// Arithmetic and conversions on every type the compiler emits code for.
#define GLOBAL __attribute__((global))

template <class T>
__attribute__((device)) inline void integers(T* p, T a, T b) {
  p[0] = a + b;
  p[1] = a * b - a;
  p[2] = a / b;
  p[3] = a % b;
  p[4] = a << (b & 7);
  p[5] = a >> (b & 7);
  p[6] = a < b ? a : b;
  p[7] = ~a ^ (a & b) | b;
  p[8] = a == b;
  p[9] = T(__builtin_popcountll(a));
  p[10] = a ? T(__builtin_clzll(a)) : 0;
}

template <class T>
__attribute__((device)) inline void floats(T* p, T a, T b) {
  p[0] = a + b;
  p[1] = a * b - a;
  p[2] = a / b;
  p[3] = a < b ? a : -b;
  p[4] = __builtin_elementwise_abs(a);
}

extern "C" GLOBAL void arithmetic(void* memory, long long a, long long b, double x, float y, _Float16 h) {
  integers((signed char*)memory, (signed char)a, (signed char)b);
  integers((unsigned short*)memory + 64, (unsigned short)a, (unsigned short)b);
  integers((int*)memory + 64, (int)a, (int)b);
  integers((unsigned*)memory + 128, (unsigned)a, (unsigned)b);
  integers((long long*)memory + 128, a, b);
  integers((unsigned long long*)memory + 256, (unsigned long long)a, (unsigned long long)b);
  floats((double*)memory + 512, x, x + 1);
  floats((float*)memory + 2048, y, y + 1);
  floats((_Float16*)memory + 8192, h, (_Float16)(h + 1));
  double* d = (double*)memory + 4096;
  d[0] = y;
  d[1] = h;
  d[2] = a;
  d[3] = (unsigned)b;
  long long* l = (long long*)memory + 5000;
  l[0] = x;
  l[1] = (int)y;
  l[2] = (unsigned char)y;
  float* f = (float*)memory + 20000;
  f[0] = x;
  f[1] = a;
  f[2] = h;
  f[3] = (short)b;
  *(_Float16*)(f + 4) = y;
  *(_Float16*)(f + 5) = a;
}
