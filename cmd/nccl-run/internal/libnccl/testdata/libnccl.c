// A stand-in for libnccl.so: it keeps a log of the calls, fails where it is told
// to, and does what an only rank needs: a copy, of memory that is the host's. The
// file that FAKE_LOG names gets an n for each group.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int ncclResult_t;
typedef struct { int rank, ranks, gpu; } *ncclComm_t;

static char calls[1 << 16];
static int depth;
static const char *failing;
static int failure;

const char *fake_calls(void) { return calls; }
int fake_fail(const char *call, int code) { failing = call ? strdup(call) : 0; failure = code; return 0; }

static size_t used;
#define LOG(...) (used += snprintf(calls + used, sizeof calls - used, __VA_ARGS__), used = used < sizeof calls ? used : sizeof calls - 1)
static ncclResult_t end(const char *call) { return failing && !strcmp(call, failing) ? failure : 0; }

ncclResult_t ncclGetVersion(int *v) { *v = VERSION; return end(__func__); }
const char *ncclGetErrorString(ncclResult_t r) { return r == 4 ? "invalid argument" : "unhandled cuda error"; }
const char *ncclGetLastError(ncclComm_t c) { return "what was wrong"; }
ncclResult_t ncclCommInitAll(ncclComm_t *c, int n, const int *gpus) {
  LOG("init %d:", n);
  for (int i = 0; i < n; i++) {
    LOG(" %d", gpus[i]);
    c[i] = malloc(sizeof *c[i]);
    c[i]->rank = i;
    c[i]->ranks = n;
    c[i]->gpu = gpus[i];
  }
  LOG("\n");
  return end(__func__);
}
ncclResult_t ncclCommDestroy(ncclComm_t c) { LOG("destroy %d\n", c->rank); free(c); return end(__func__); }
ncclResult_t ncclCommAbort(ncclComm_t c) { LOG("abort %d\n", c->rank); free(c); return end(__func__); }
ncclResult_t ncclGroupStart(void) { LOG("start\n"); depth++; return end(__func__); }
ncclResult_t ncclGroupEnd(void) {
  LOG("end\n");
  depth--;
  FILE *f = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : 0;
  if (f) fputc('n', f), fclose(f);
  return end(__func__);
}
ncclResult_t ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, ncclComm_t c) {
  unsigned long long bits = 0;
  memcpy(&bits, scalar, type == 9 ? 2 : 4);
  LOG("premulsum %d: %#llx type %d residence %d\n", c->rank, bits, type, residence);
  *op = 5 + c->rank;
  return end(__func__);
}
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, ncclComm_t c, void *stream) {
  LOG("all-reduce %d: %p %p %zu type %d op %d stream %p depth %d\n", c->rank, send, recv, count, type, op, stream, depth);
  static const int size[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  if (c->ranks == 1 && (size_t)send > 0xffff) memmove(recv, send, count * size[type]);
  return end(__func__);
}
