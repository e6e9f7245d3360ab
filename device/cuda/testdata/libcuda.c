// A stand-in for the CUDA driver, for tests of its caller. Each function counts
// its calls, fails when told to, and refuses what the driver would: calls before
// cuInit, calls without the right current context, unknown handles. Device
// memory is host memory; kernels do nothing.
//
// -DVERSION=n sets the driver's version; -DNO_GRAPHS, -DNO_PARAM_INFO leave
// functions out; -DDEVICES=n and -DSM=n say what GPUs there are; -DROOM=n makes
// the file larger.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 12040
#endif
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef SM
#define SM 90
#endif
#ifdef ROOM
char fake_room[ROOM] = {1};
#endif

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_IMAGE = 200,
       INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
       PEER_ALREADY = 704 };

typedef int CUresult;
typedef uint64_t CUdeviceptr;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static int initialized, busy, offset, no_peer;
static struct { int retained, ever; } contexts[DEVICES + 1];
static __thread void *current;

// Calls by name, with the failure asked for.
static struct { char name[64]; int count, fail; } calls[128];

static CUresult enter(const char *name) {
  CUresult rc = OK;
  pthread_mutex_lock(&mu);
  int i = 0;
  while (calls[i].name[0] && strcmp(calls[i].name, name)) i++;
  strcpy(calls[i].name, name);
  calls[i].count++;
  rc = calls[i].fail;
  // What a kernel causes stays; other failures are for one call.
  if (rc < 700) calls[i].fail = 0;
  pthread_mutex_unlock(&mu);
  return rc;
}

#define CALL() do { CUresult rc_ = enter(__func__); if (rc_) return rc_; if (!initialized) return NOT_INITIALIZED; } while (0)
#define CALL_IN_CONTEXT() do { CALL(); if (!alive(current)) return INVALID_CONTEXT; } while (0)

static int alive(void *ctx) {
  for (int i = 0; i < DEVICES; i++)
    if (ctx == &contexts[i] && contexts[i].retained > 0) return 1;
  return 0;
}

// What the test asks and says.
int fake_count(const char *name) {
  pthread_mutex_lock(&mu);
  int n = 0;
  for (int i = 0; calls[i].name[0]; i++)
    if (!strcmp(calls[i].name, name)) n = calls[i].count;
  pthread_mutex_unlock(&mu);
  return n;
}
int fake_fail(const char *name, int code) {
  pthread_mutex_lock(&mu);
  int i = 0;
  while (calls[i].name[0] && strcmp(calls[i].name, name)) i++;
  strcpy(calls[i].name, name);
  calls[i].fail = code;
  pthread_mutex_unlock(&mu);
  return 0;
}
int fake_retained(int device) { return contexts[device].retained; }
int fake_busy(int value) { busy = value; return 0; }
int fake_offset(int value) { offset = value; return 0; }
int fake_no_peer(int value) { no_peer = value; return 0; }
int fake_lose_context(void) { current = 0; return 0; }
const char *fake_env(const char *name) { return getenv(name); }

CUresult cuDriverGetVersion(int *v) { *v = VERSION; return enter(__func__); }
CUresult cuGetErrorName(CUresult e, const char **s) {
  switch (e) {
    case OUT_OF_MEMORY: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return OK;
    case NO_DEVICE: *s = "CUDA_ERROR_NO_DEVICE"; return OK;
    case 46: *s = "CUDA_ERROR_DEVICE_UNAVAILABLE"; return OK;
    case INVALID_PTX: *s = "CUDA_ERROR_INVALID_PTX"; return OK;
    case 700: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return OK;
    default: *s = 0; return INVALID_VALUE;
  }
}
CUresult cuGetErrorString(CUresult e, const char **s) { *s = "as the driver puts it"; return OK; }

static char max_connections[16];
CUresult cuInit(unsigned flags) {
  CUresult rc = enter(__func__);
  const char *v = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  snprintf(max_connections, sizeof max_connections, "%s", v ? v : "");
  if (rc) return rc;
  if (DEVICES == 0) return NO_DEVICE;
  initialized = 1;
  return OK;
}
const char *fake_connections_at_init(void) { return max_connections; }

CUresult cuDeviceGetCount(int *n) { CALL(); *n = DEVICES; return OK; }
CUresult cuDeviceGet(int *dev, int i) { CALL(); *dev = i; return OK; }
CUresult cuDeviceGetName(char *s, int len, int dev) { CALL(); snprintf(s, len, "Fake GPU"); return OK; }
CUresult cuDeviceTotalMem_v2(size_t *n, int dev) { CALL(); *n = 8ull << 30; return OK; }
CUresult cuDeviceGetPCIBusId(char *s, int len, int dev) { CALL(); snprintf(s, len, "0000:%02X:00.0", 0x1b + dev); return OK; }
CUresult cuDeviceGetAttribute(int *v, int a, int dev) {
  CALL();
  switch (a) {
    case 1: *v = 1024; break;
    case 8: *v = 49152; break;
    case 16: *v = 132; break;
    case 39: *v = 2048; break;
    case 75: *v = SM / 10; break;
    case 76: *v = SM % 10; break;
    case 81: *v = 233472; break;
    case 82: *v = 65536; break;
    case 106: *v = 32; break;
    case 126: if (VERSION < 12000) return INVALID_VALUE; *v = 4; break;
    default: return INVALID_VALUE;
  }
  return OK;
}
CUresult cuDeviceCanAccessPeer(int *can, int dev, int peer) { CALL(); *can = !no_peer; return OK; }
CUresult cuDevicePrimaryCtxRetain(void **ctx, int dev) {
  CALL();
  contexts[dev].retained++;
  *ctx = &contexts[dev];
  return OK;
}
CUresult cuDevicePrimaryCtxRelease_v2(int dev) {
  CALL();
  if (contexts[dev].retained-- <= 0) return INVALID_CONTEXT;
  return OK;
}
CUresult cuDevicePrimaryCtxReset_v2(int dev) { return enter(__func__); }
CUresult cuCtxSetCurrent(void *ctx) {
  CALL();
  if (ctx && !alive(ctx)) return INVALID_CONTEXT;
  current = ctx;
  return OK;
}
static int peers;
CUresult cuCtxEnablePeerAccess(void *ctx, unsigned flags) {
  CALL_IN_CONTEXT();
  if (ctx == current || flags) return INVALID_VALUE;
  return peers++ ? PEER_ALREADY : OK;
}

// Memory: what is allocated, and freed.
static struct { char *base, *raw; size_t size; int host; } blocks[1024];

static CUresult allocate(CUdeviceptr *p, size_t n, int host) {
  if (n == 0) return INVALID_VALUE;
  if (n > (size_t)1 << 40) return OUT_OF_MEMORY;
  // A gap behind each allocation belongs to nobody.
  size_t room = (n + offset + 4096 + 511) / 512 * 512;
  char *raw = aligned_alloc(512, room);
  memset(raw, 0xaa, room);
  pthread_mutex_lock(&mu);
  int i = 0;
  while (blocks[i].base) i++;
  blocks[i].raw = raw;
  blocks[i].base = raw + offset;
  blocks[i].size = n;
  blocks[i].host = host;
  pthread_mutex_unlock(&mu);
  *p = (CUdeviceptr)blocks[i].base;
  return OK;
}
static CUresult release(CUdeviceptr p, int host) {
  CUresult rc = INVALID_VALUE;
  pthread_mutex_lock(&mu);
  for (int i = 0; i < 1024 && rc; i++)
    if (p && blocks[i].base == (char *)p && blocks[i].host == host) {
      free(blocks[i].raw);
      blocks[i].base = 0;
      rc = OK;
    }
  pthread_mutex_unlock(&mu);
  return rc;
}
int fake_blocks(void) {
  int n = 0;
  for (int i = 0; i < 1024; i++) n += blocks[i].base != 0;
  return n;
}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { CALL_IN_CONTEXT(); return allocate(p, n, 0); }
CUresult cuMemFree_v2(CUdeviceptr p) { CALL_IN_CONTEXT(); return release(p, 0); }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) {
  CALL_IN_CONTEXT();
  if (flags != 3) return INVALID_VALUE;
  return allocate((CUdeviceptr *)p, n, 1);
}
CUresult cuMemFreeHost(void *p) { CALL_IN_CONTEXT(); return release((CUdeviceptr)p, 1); }
CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr p) {
  CALL_IN_CONTEXT();
  for (int i = 0; i < 1024; i++)
    if (blocks[i].base && p >= (CUdeviceptr)blocks[i].base && p < (CUdeviceptr)blocks[i].base + blocks[i].size) {
      if (attribute == 11) *(CUdeviceptr *)data = (CUdeviceptr)blocks[i].base;
      else if (attribute == 12) *(size_t *)data = blocks[i].size;
      else return INVALID_VALUE;
      return OK;
    }
  return INVALID_VALUE;
}

// Streams and events are their context.
typedef struct node node;
typedef struct { void *ctx; int magic, capturing; unsigned long long capture; node *tail; } object;
enum { STREAM = 0x5354, EVENT = 0x4556, LINK = 0x4c4b, MODULE = 0x4d4f, FUNCTION = 0x4655, GRAPH = 0x4752, EXEC = 0x4558 };
static int objects;
int fake_objects(void) { return objects; }
static object *make(int magic) {
  object *o = calloc(1, sizeof *o);
  o->ctx = current;
  o->magic = magic;
  __atomic_add_fetch(&objects, 1, __ATOMIC_SEQ_CST);
  return o;
}
static CUresult unmake(object *o, int magic) {
  if (!o || o->magic != magic) return INVALID_HANDLE;
  o->magic = 0; // not freed, so that a second time is seen
  __atomic_sub_fetch(&objects, 1, __ATOMIC_SEQ_CST);
  return OK;
}
#define NEEDS(o, m) do { if (!(o) || (o)->magic != (m)) return INVALID_HANDLE; } while (0)
#define NEEDS_HERE(o, m) do { NEEDS(o, m); if ((o)->ctx != current) return INVALID_CONTEXT; } while (0)

// The nodes of all graphs. A stream that is being captured has one as its tail.
struct node { int records; node *follows[8]; size_t n; };
static node nodes[256];
static int used;
static node *add_node(int records, node **follows, size_t n) {
  node *k = &nodes[used++];
  k->records = records;
  k->n = n;
  for (size_t i = 0; i < n; i++) k->follows[i] = follows[i];
  return k;
}
static CUresult capture_node(object *s, int records) { s->tail = add_node(records, &s->tail, s->tail != 0); return OK; }
int fake_records(void) { int n = 0; for (int i = 0; i < used; i++) n += nodes[i].records; return n; }
// How many nodes the last record follows, times 1000, and the number of the first.
int fake_last_record_follows(void) {
  int i = used;
  while (i && !nodes[i - 1].records) i--;
  return i && nodes[i - 1].n ? (int)(1000 * nodes[i - 1].n + (nodes[i - 1].follows[0] - nodes)) : -1;
}

CUresult cuStreamCreate(object **s, unsigned flags) {
  CALL_IN_CONTEXT();
  if (flags != 1) return INVALID_VALUE;
  *s = make(STREAM);
  return OK;
}
CUresult cuStreamDestroy_v2(object *s) { CALL(); return unmake(s, STREAM); }
CUresult cuStreamQuery(object *s) { CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM); return busy ? NOT_READY : OK; }
CUresult cuStreamSynchronize(object *s) { CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM); return OK; }
CUresult cuStreamGetCtx(object *s, void **ctx) { CALL_IN_CONTEXT(); NEEDS(s, STREAM); *ctx = s->ctx; return OK; }
CUresult cuStreamWaitEvent(object *s, object *e, unsigned flags) { CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM); NEEDS(e, EVENT); return flags == 1 && s->capturing ? capture_node(s, 0) : flags; }
CUresult cuEventCreate(object **e, unsigned flags) { CALL_IN_CONTEXT(); *e = make(EVENT); return flags & ~2; }
CUresult cuEventDestroy_v2(object *e) { CALL(); return unmake(e, EVENT); }
CUresult cuEventRecord(object *e, object *s) { CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM); NEEDS_HERE(e, EVENT); return OK; }
CUresult cuEventRecordWithFlags(object *e, object *s, unsigned flags) { CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM); NEEDS_HERE(e, EVENT); return flags == 1 && s->capturing ? capture_node(s, 1) : INVALID_VALUE; }
CUresult cuEventQuery(object *e) { CALL_IN_CONTEXT(); NEEDS_HERE(e, EVENT); return busy ? NOT_READY : OK; }
CUresult cuEventElapsedTime(float *ms, object *a, object *b) { CALL_IN_CONTEXT(); NEEDS(a, EVENT); NEEDS(b, EVENT); *ms = 1.5f; return OK; }

CUresult cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, object *st) { CALL_IN_CONTEXT(); NEEDS_HERE(st, STREAM); memmove((void *)d, (void *)s, n); return OK; }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, object *st) { CALL_IN_CONTEXT(); NEEDS_HERE(st, STREAM); memcpy((void *)d, s, n); return OK; }
CUresult cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, object *st) { CALL_IN_CONTEXT(); NEEDS_HERE(st, STREAM); memcpy(d, (void *)s, n); return OK; }
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, object *st) { CALL_IN_CONTEXT(); NEEDS_HERE(st, STREAM); memset((void *)d, v, n); return OK; }

#ifndef NO_GRAPHS
CUresult cuStreamBeginCapture_v2(object *s, int mode) {
  CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM);
  if (mode != 2 || s->capturing) return INVALID_VALUE;
  static unsigned long long captures = 77;
  s->capturing = 1;
  s->capture = captures++;
  s->tail = 0;
  return OK;
}
// A call that is not allowed during a capture breaks it.
int fake_break_capture(object *s) { s->capturing = 2; return 0; }
CUresult cuStreamGetCaptureInfo_v2(object *s, int *status, unsigned long long *id, void **graph, node ***follows, size_t *n) {
  CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM);
  *status = s->capturing;
  if (s->capturing != 1) return OK;
  *id = s->capture;
  if (graph) *graph = s;
  if (follows) *follows = &s->tail;
  if (n) *n = s->tail != 0;
  return OK;
}
CUresult cuGraphAddEventRecordNode(node **k, object *g, node **follows, size_t n, object *e) {
  CALL_IN_CONTEXT(); NEEDS_HERE(e, EVENT);
  *k = add_node(1, follows, n);
  return OK;
}
static size_t edge(node *from, node *to) { size_t i = 0; while (i < to->n && to->follows[i] != from) i++; return i; }
CUresult cuGraphAddDependencies(object *g, node **from, node **to, size_t n) {
  CALL_IN_CONTEXT();
  if (n != 1 || edge(*from, *to) < to[0]->n) return INVALID_VALUE;
  to[0]->follows[to[0]->n++] = *from;
  return OK;
}
CUresult cuGraphRemoveDependencies(object *g, node **from, node **to, size_t n) {
  CALL_IN_CONTEXT();
  size_t i = edge(*from, *to);
  if (n != 1 || i == to[0]->n) return INVALID_VALUE;
  to[0]->follows[i] = to[0]->follows[--to[0]->n];
  return OK;
}
CUresult cuStreamEndCapture(object *s, object **g) {
  CALL_IN_CONTEXT(); NEEDS_HERE(s, STREAM);
  if (!s->capturing) return 401;
  s->capturing = 0;
  *g = make(GRAPH);
  return OK;
}
CUresult cuGraphInstantiateWithFlags(object **x, object *g, unsigned long long flags) { CALL_IN_CONTEXT(); NEEDS(g, GRAPH); if (flags) return INVALID_VALUE; *x = make(EXEC); return OK; }
CUresult cuGraphDestroy(object *g) { CALL(); return unmake(g, GRAPH); }
CUresult cuGraphExecDestroy(object *x) { CALL(); return unmake(x, EXEC); }
CUresult cuGraphLaunch(object *x, object *s) { CALL_IN_CONTEXT(); NEEDS(x, EXEC); NEEDS_HERE(s, STREAM); return OK; }
#endif

// Assembly: text with "frobnicate" is wrong in line 7; the image is an ELF magic
// and the text. It takes as long as the test says; how many ran at once is kept.
typedef struct { object o; char *log, *image; size_t log_size, size; } linking;
static int link_delay, links, most_links;
int fake_link_delay(int microseconds) { link_delay = microseconds; return 0; }
int fake_most_links(void) { return most_links; }
CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, linking **l) {
  CALL_IN_CONTEXT();
  linking *k = calloc(1, sizeof *k);
  k->o.magic = LINK;
  __atomic_add_fetch(&objects, 1, __ATOMIC_SEQ_CST);
  for (unsigned i = 0; i < n; i++) {
    if (options[i] == 5) k->log = values[i];
    if (options[i] == 6) k->log_size = (size_t)values[i];
  }
  *l = k;
  return OK;
}
CUresult cuLinkAddData_v2(linking *l, int type, void *data, size_t size, const char *name, unsigned n, int *options, void **values) {
  CALL_IN_CONTEXT(); NEEDS(&l->o, LINK);
  if (type != 1 || n || ((char *)data)[size - 1]) return INVALID_VALUE;
  pthread_mutex_lock(&mu);
  if (++links > most_links) most_links = links;
  pthread_mutex_unlock(&mu);
  if (link_delay) usleep(link_delay);
  pthread_mutex_lock(&mu);
  links--;
  pthread_mutex_unlock(&mu);
  if (strstr(data, "frobnicate")) {
    snprintf(l->log, l->log_size, "ptxas %s, line 7; error   : Not a name of any known instruction: 'frobnicate'\nptxas fatal   : Ptx assembly aborted\n", name);
    return INVALID_PTX;
  }
  l->image = malloc(size + 4);
  memcpy(l->image, "\177ELF", 4);
  memcpy(l->image + 4, data, size);
  l->size = size + 4;
  return OK;
}
CUresult cuLinkComplete(linking *l, void **image, size_t *size) { CALL_IN_CONTEXT(); NEEDS(&l->o, LINK); *image = l->image; *size = l->size; return OK; }
CUresult cuLinkDestroy(linking *l) {
  CALL();
  CUresult rc = unmake(&l->o, LINK);
  if (!rc && l->image) memset(l->image, 0, l->size);
  return rc;
}
CUresult cuModuleLoadData(object **m, const char *image) { CALL_IN_CONTEXT(); if (memcmp(image, "\177ELF", 4)) return INVALID_IMAGE; *m = make(MODULE); return OK; }
CUresult cuModuleUnload(object *m) { CALL_IN_CONTEXT(); return unmake(m, MODULE); }

// Kernels: "fill" with two 8-byte parameters, "none" without.
static object fill = {0, FUNCTION, 0}, none = {0, FUNCTION, 0};
CUresult cuModuleGetFunction(object **f, object *m, const char *name) {
  CALL_IN_CONTEXT(); NEEDS_HERE(m, MODULE);
  *f = !strcmp(name, "fill") ? &fill : &none;
  return strcmp(name, "fill") && strcmp(name, "none") ? NOT_FOUND : OK;
}
CUresult cuFuncGetAttribute(int *v, int a, object *f) {
  CALL_IN_CONTEXT(); NEEDS(f, FUNCTION);
  switch (a) {
    case 0: *v = 640; return OK;
    case 1: *v = 1024; return OK;
    case 3: *v = 16; return OK;
    case 4: *v = 48; return OK;
  }
  return INVALID_VALUE;
}
#ifndef NO_PARAM_INFO
CUresult cuFuncGetParamInfo(object *f, size_t i, size_t *at, size_t *size) {
  CALL_IN_CONTEXT(); NEEDS(f, FUNCTION);
  if (f != &fill || i > 1) return INVALID_VALUE;
  *at = 8 * i;
  *size = 8;
  return OK;
}
#endif
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, object *f, int threads, size_t shared) { CALL_IN_CONTEXT(); NEEDS(f, FUNCTION); *n = 2048 / threads; return OK; }

typedef struct { unsigned id; char pad[4]; union { char pad[64]; int domain; } value; } attribute;
typedef struct { unsigned grid[3], block[3], shared; object *stream; attribute *attrs; unsigned n; } config;

// The last launch: grid, block, attribute and parameters.
static struct { unsigned grid[3], block[3], attributes, id, domain; uint64_t size; unsigned char params[8192]; } launched;
void *fake_launched(void) { return &launched; }
CUresult cuLaunchKernelEx(const config *c, object *f, void **params, void **extra) {
  CALL_IN_CONTEXT(); NEEDS(f, FUNCTION); NEEDS_HERE(c->stream, STREAM);
  if (c->stream->capturing) capture_node(c->stream, 0);
  if (params || c->shared) return INVALID_VALUE;
  memcpy(launched.grid, c->grid, sizeof c->grid);
  memcpy(launched.block, c->block, sizeof c->block);
  launched.attributes = c->n;
  launched.id = c->n ? c->attrs[0].id : 0;
  launched.domain = c->n ? c->attrs[0].value.domain : 0;
  launched.size = 0;
  if (extra) {
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return INVALID_VALUE;
    launched.size = *(size_t *)extra[3];
    memcpy(launched.params, extra[1], launched.size);
  }
  return OK;
}
