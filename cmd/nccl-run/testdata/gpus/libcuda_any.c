// The stand-in of device/cuda's tests, in which every module has a kernel of
// every name. The file that FAKE_LOG names gets a letter for each launch: k for a
// kernel, g for a graph.
#define cuModuleGetFunction only_known_kernels
#define cuLaunchKernelEx launch_silently
#define cuGraphLaunch launch_graph_silently
#include "libcuda.c"
#undef cuModuleGetFunction
#undef cuLaunchKernelEx
#undef cuGraphLaunch

CUresult cuModuleGetFunction(object **f, object *m, const char *name) {
  CALL_IN_CONTEXT(); NEEDS_HERE(m, MODULE);
  *f = &none;
  return OK;
}

static CUresult note(char letter, CUresult rc) {
  FILE *f = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : 0;
  if (f) fputc(letter, f), fclose(f);
  return rc;
}
CUresult cuLaunchKernelEx(const config *c, object *f, void **params, void **extra) { return note('k', launch_silently(c, f, params, extra)); }
CUresult cuGraphLaunch(object *x, object *s) { return note('g', launch_graph_silently(x, s)); }
