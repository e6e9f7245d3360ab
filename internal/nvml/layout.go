package nvml

import "encoding/binary"

// The structures that NVML fills in, as C lays them out on linux/amd64 and
// linux/arm64. In the tests a library compiled against nvml.h fills them in.
//
// Source: NVML API reference (nvml.h of CUDA 13).

// cPCIInfo is nvmlPciInfo_t.
type cPCIInfo struct {
	busIDLegacy                 [16]byte
	domain, bus, device         uint32
	pciDeviceID, pciSubSystemID uint32
	busID                       [32]byte
}

// cMemory is nvmlMemory_t; sizes are bytes.
type cMemory struct{ total, free, used uint64 }

// cFieldValue is nvmlFieldValue_t.
type cFieldValue struct {
	fieldID, scopeID       uint32
	timestamp, latencyUsec int64
	valueType              uint32
	result                 int32 // nvmlReturn
	value                  [8]byte
}

// unsigned returns the value as the unsigned int member of its union: both
// platforms are little-endian.
func (v *cFieldValue) unsigned() uint32 { return binary.LittleEndian.Uint32(v.value[:]) }

// cFabricInfo is nvmlGpuFabricInfo_t.
type cFabricInfo struct {
	clusterUUID [16]byte
	status      int32
	cliqueID    uint32
	state       uint8
	_           [3]byte
}

// cFabricInfoV2 is nvmlGpuFabricInfo_v2_t.
type cFabricInfoV2 struct {
	version     uint32
	clusterUUID [16]byte
	status      int32
	cliqueID    uint32
	state       uint8
	_           [3]byte
	healthMask  uint32
}

// structVersion returns what a versioned structure carries in its first word.
//
// Source: nvml.h, NVML_STRUCT_VERSION.
func structVersion(size uintptr, version uint32) uint32 { return uint32(size) | version<<24 }
