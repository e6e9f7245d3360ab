// A stand-in for libnvidia-ml.so.1: it answers what a test compiled into it.
// nodes.inc has the answers, an array of nodes; the file named by CURRENT has
// the number of the node to be, read by nvmlInit. It is compiled against the
// real nvml.h, so the structures are NVIDIA's.

#include <nvml.h>
#include <stdio.h>
#include <string.h>

typedef struct { int code; unsigned value; } number;
typedef struct { int code; const char *value; } text;

typedef struct {
	int present; // else NVML has no link of this number
	number state, version, capabilities[4], remoteType;
	text remoteBusId;
} link;

typedef struct {
	int code; // of nvmlDeviceGetHandleByIndex
	text busId, name, uuid;
	unsigned identity, subsystem;
	number major, minor, mig, numaNode, pcieGeneration, pcieWidth, maxPcieGeneration, maxPcieWidth;
	int memoryCode;
	unsigned long long memoryBytes;
	int linksCode; // of each link, if it is no success
	link links[36];
	number c2cLinks, c2cMBps;
	int fabricCode, fabricStatus;
	unsigned char fabricState, fabricUuid[16];
	unsigned fabricClique, fabricHealth;
	int fabricOnlyOld; // nvmlDeviceGetGpuFabricInfoV knows no version 2
	number p2p[8][3];
} device;

typedef struct {
	text driver, nvml;
	number cuda;
	unsigned count;
	device devices[8];
} node;

#include "nodes.inc"

static const node *now;
static int users, busy;

// fakeSize is not NVML's: it tells a test the size of a structure.
unsigned fakeSize(unsigned i) {
	const unsigned sizes[] = {sizeof(nvmlPciInfo_t), sizeof(nvmlMemory_t), sizeof(nvmlFieldValue_t),
	                          sizeof(nvmlGpuFabricInfo_t), sizeof(nvmlGpuFabricInfo_v2_t)};
	return sizes[i];
}

// CALL notices a second thread: NVML is to be called by one at a time.
#define CALL(expression)                                                         \
	do {                                                                         \
		if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQ_REL)) return NVML_ERROR_IN_USE; \
		nvmlReturn_t code = (nvmlReturn_t)(users > 0 ? (expression) : NVML_ERROR_UNINITIALIZED); \
		__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);                            \
		return code;                                                             \
	} while (0)

#define DEVICE(d) ((const device *)(const void *)(d).handle)

static int giveNumber(number n, unsigned *to) {
	if (n.code == 0) *to = n.value;
	return n.code;
}

static int giveText(text t, char *to, unsigned length) {
	if (t.code != 0) return t.code;
	if (strlen(t.value) + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, t.value);
	return 0;
}

nvmlReturn_t nvmlInit_v2(void) {
	int current = -1;
	FILE *f = fopen(CURRENT, "r");
	if (f == NULL || fscanf(f, "%d", &current) != 1) return NVML_ERROR_UNKNOWN;
	fclose(f);
	if (current < 0) return (nvmlReturn_t)-current; // a code to fail with
	now = &nodes[current];
	users++;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void) {
	if (users == 0) return NVML_ERROR_UNINITIALIZED;
	users--;
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t code) { return code == NVML_SUCCESS ? "success" : "refused"; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned n) { CALL(giveText(now->driver, to, n)); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, unsigned n) { CALL(giveText(now->nvml, to, n)); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *to) { CALL(giveNumber(now->cuda, (unsigned *)to)); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *to) { CALL((*to = now->count, 0)); }

static int handle(unsigned i, nvmlDevice_t *to) {
	if (i >= now->count) return NVML_ERROR_INVALID_ARGUMENT;
	to->handle = (struct nvmlDevice_st *)(void *)&now->devices[i];
	return now->devices[i].code;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *to) { CALL(handle(i, to)); }

static int pci(text busId, unsigned identity, unsigned subsystem, nvmlPciInfo_t *to) {
	memset(to, 0xee, sizeof *to);
	strcpy(to->busIdLegacy, "legacy");
	to->pciDeviceId = identity;
	to->pciSubSystemId = subsystem;
	return giveText(busId, to->busId, sizeof to->busId);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *to) {
	CALL(pci(DEVICE(d)->busId, DEVICE(d)->identity, DEVICE(d)->subsystem, to));
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	CALL((*major = DEVICE(d)->major.value, *minor = DEVICE(d)->minor.value, 0));
}
#ifndef OLD
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned n) { CALL(giveText(DEVICE(d)->name, to, n)); }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned n) { CALL(giveText(DEVICE(d)->uuid, to, n)); }

static int memory(const device *d, nvmlMemory_t *to) {
	to->total = d->memoryBytes;
	to->free = 1;
	to->used = d->memoryBytes - 1;
	return d->memoryCode;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *to) { CALL(memory(DEVICE(d), to)); }

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *current, unsigned *pending) {
	CALL((*pending = !DEVICE(d)->mig.value, giveNumber(DEVICE(d)->mig, current)));
}
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t d, unsigned *to) { CALL(giveNumber(DEVICE(d)->numaNode, to)); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *to) { CALL(giveNumber(DEVICE(d)->pcieGeneration, to)); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *to) { CALL(giveNumber(DEVICE(d)->pcieWidth, to)); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *to) { CALL(giveNumber(DEVICE(d)->maxPcieGeneration, to)); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *to) { CALL(giveNumber(DEVICE(d)->maxPcieWidth, to)); }

// linkCode returns why a link cannot be asked, 0 if it can.
static int linkCode(const device *d, unsigned l) {
	if (d->linksCode != 0) return d->linksCode;
	return l < 36 && d->links[l].present ? 0 : NVML_ERROR_INVALID_ARGUMENT;
}
#define LINK(d, l, expression) CALL(linkCode(DEVICE(d), l) ? linkCode(DEVICE(d), l) : (expression))

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned l, nvmlEnableState_t *to) {
	LINK(d, l, giveNumber(DEVICE(d)->links[l].state, (unsigned *)to));
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t d, unsigned l, unsigned *to) {
	LINK(d, l, giveNumber(DEVICE(d)->links[l].version, to));
}
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t d, unsigned l, nvmlNvLinkCapability_t c, unsigned *to) {
	LINK(d, l, giveNumber(DEVICE(d)->links[l].capabilities[c], to));
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned l, nvmlPciInfo_t *to) {
	LINK(d, l, pci(DEVICE(d)->links[l].remoteBusId, 0, 0, to));
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d, unsigned l, nvmlIntNvLinkDeviceType_t *to) {
	LINK(d, l, giveNumber(DEVICE(d)->links[l].remoteType, (unsigned *)to));
}

static int p2p(const device *a, const device *b, unsigned index, unsigned *to) {
	if (index > 2) return NVML_ERROR_INVALID_ARGUMENT;
	return giveNumber(a->p2p[b - now->devices][index], to);
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *to) {
	CALL(p2p(DEVICE(a), DEVICE(b), index, (unsigned *)to));
}

// fields: the last C2C link is always down.
static int fields(const device *d, int n, nvmlFieldValue_t *values) {
	for (int i = 0; i < n; i++) {
		nvmlFieldValue_t *v = &values[i];
		unsigned links = d->c2cLinks.value;
		v->nvmlReturn = NVML_SUCCESS;
		v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		v->value.ullVal = 0xeeeeeeeeeeeeeeeeull;
		switch (v->fieldId) {
		case NVML_FI_DEV_C2C_LINK_COUNT:
			v->nvmlReturn = (nvmlReturn_t)d->c2cLinks.code;
			v->value.uiVal = links == 0 ? 0 : links + 1;
			break;
		case NVML_FI_DEV_C2C_LINK_GET_STATUS:
			v->value.uiVal = v->scopeId < links;
			break;
		case NVML_FI_DEV_C2C_LINK_GET_MAX_BW:
			if (v->scopeId < links) v->value.uiVal = d->c2cMBps.value;
			else v->nvmlReturn = NVML_ERROR_INVALID_STATE;
			break;
		default:
			v->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
		}
	}
	return 0;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *values) { CALL(fields(DEVICE(d), n, values)); }

static int fabric(const device *d, nvmlGpuFabricInfo_t *to) {
	memcpy(to->clusterUuid, d->fabricUuid, sizeof to->clusterUuid);
	to->status = (nvmlReturn_t)d->fabricStatus;
	to->cliqueId = d->fabricClique;
	to->state = d->fabricState;
	return d->fabricCode;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, nvmlGpuFabricInfo_t *to) { CALL(fabric(DEVICE(d), to)); }

static int fabricV(const device *d, nvmlGpuFabricInfoV_t *any) {
	if (any->version != nvmlGpuFabricInfo_v2 || d->fabricOnlyOld) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	nvmlGpuFabricInfo_v2_t *to = (nvmlGpuFabricInfo_v2_t *)(void *)any;
	memcpy(to->clusterUuid, d->fabricUuid, sizeof to->clusterUuid);
	to->status = (nvmlReturn_t)d->fabricStatus;
	to->cliqueId = d->fabricClique;
	to->state = d->fabricState;
	to->healthMask = d->fabricHealth;
	return d->fabricCode;
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d, nvmlGpuFabricInfoV_t *to) { CALL(fabricV(DEVICE(d), to)); }
#endif
