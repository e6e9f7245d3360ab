package nvml

import "github.com/ncclgo/ncclgo/internal/dl"

// library is NVML's functions in Go types: one method a function, no policy.
// Each adapter is one. A function that the loaded library lacks returns
// FunctionNotFound. Calls come one at a time.
type library interface {
	start() Code
	stop() Code
	driverVersion() (string, Code)
	nvmlVersion() (string, Code)
	cudaVersion() (int, Code)
	count() (int, Code)
	handle(i int) (handle, Code)
}

// handle is a GPU of a library.
type handle interface {
	pciInfo() (pciInfo, Code)
	capability() (major, minor int, c Code)
	name() (string, Code)
	uuid() (string, Code)
	memoryBytes() (uint64, Code)
	migMode() (bool, Code)
	numaNode() (int, Code)
	pcieGeneration() (int, Code)
	pcieWidth() (int, Code)
	maxPCIeGeneration() (int, Code)
	maxPCIeWidth() (int, Code)
	linkState(link int) (bool, Code)
	linkVersion(link int) (int, Code)
	linkCapability(link int, c linkCapability) (bool, Code)
	linkRemoteBusID(link int) (string, Code)
	linkRemoteType(link int) (RemoteType, Code)
	// p2p asks for access to other, a handle of the same library.
	p2p(other handle, i p2pIndex) (P2PStatus, Code)
	// field asks for an unsigned field, of a link where it is one's.
	field(id fieldID, link int) (uint32, Code)
	// fabric asks nvmlDeviceGetGpuFabricInfo, which has no health mask.
	fabric() (Fabric, Code)
	// fabricV asks nvmlDeviceGetGpuFabricInfoV for version 2 of its answer.
	fabricV() (Fabric, Code)
}

// pciInfo is what is used of an nvmlPciInfo_t. The low half of an identity is
// the vendor, the high half the product.
type pciInfo struct {
	busID               string
	identity, subsystem uint32
}

// linkCapability is an nvmlNvLinkCapability_t.
//
// Source: NVML API reference, NVML_NVLINK_CAP_*.
type linkCapability uint32

const (
	capP2P           linkCapability = 0
	capSysmemAccess  linkCapability = 1
	capP2PAtomics    linkCapability = 2
	capSysmemAtomics linkCapability = 3
)

// p2pIndex is an nvmlGpuP2PCapsIndex_t.
//
// Source: NVML API reference, NVML_P2P_CAPS_INDEX_*.
type p2pIndex uint32

const (
	p2pRead   p2pIndex = 0
	p2pWrite  p2pIndex = 1
	p2pNVLink p2pIndex = 2
)

// fieldID is the number of a field.
//
// Source: NVML API reference, NVML_FI_DEV_*.
type fieldID uint32

const (
	fieldC2CLinkCount  fieldID = 170
	fieldC2CLinkStatus fieldID = 171
	fieldC2CLinkMaxBW  fieldID = 172
)

// maxLinks bounds the NVLinks of a GPU.
//
// Source: nvml.h of CUDA 13, NVML_NVLINK_MAX_LINKS.
const maxLinks = 36

// maxDevices bounds the GPUs of a node, so that neither a library nor a file can
// ask for any number.
const maxDevices = 1024

// symbol is a function of the library. Where functions have versions it is the
// one whose structures are used here.
type symbol uint8

const (
	symInit              symbol = iota // nvmlInit_v2
	symShutdown                        // nvmlShutdown
	symCount                           // nvmlDeviceGetCount_v2
	symHandle                          // nvmlDeviceGetHandleByIndex_v2
	symPCIInfo                         // nvmlDeviceGetPciInfo_v3
	symCapability                      // nvmlDeviceGetCudaComputeCapability
	symDriverVersion                   // nvmlSystemGetDriverVersion
	symNVMLVersion                     // nvmlSystemGetNVMLVersion
	symCUDAVersion                     // nvmlSystemGetCudaDriverVersion
	symName                            // nvmlDeviceGetName
	symUUID                            // nvmlDeviceGetUUID
	symMemory                          // nvmlDeviceGetMemoryInfo
	symMIGMode                         // nvmlDeviceGetMigMode
	symNUMANode                        // nvmlDeviceGetNumaNodeId
	symPCIeGeneration                  // nvmlDeviceGetCurrPcieLinkGeneration
	symPCIeWidth                       // nvmlDeviceGetCurrPcieLinkWidth
	symLinkState                       // nvmlDeviceGetNvLinkState
	symLinkVersion                     // nvmlDeviceGetNvLinkVersion
	symLinkCapability                  // nvmlDeviceGetNvLinkCapability
	symLinkRemotePCI                   // nvmlDeviceGetNvLinkRemotePciInfo_v2
	symLinkRemoteType                  // nvmlDeviceGetNvLinkRemoteDeviceType
	symP2PStatus                       // nvmlDeviceGetP2PStatus
	symFieldValues                     // nvmlDeviceGetFieldValues
	symFabric                          // nvmlDeviceGetGpuFabricInfo
	symFabricV                         // nvmlDeviceGetGpuFabricInfoV
	symMaxPCIeGeneration               // nvmlDeviceGetMaxPcieLinkGeneration
	symMaxPCIeWidth                    // nvmlDeviceGetMaxPcieLinkWidth
)

const (
	numSymbols = int(symMaxPCIeWidth) + 1
	// numRequired is the number of functions, the first ones, without which no GPU
	// can be named.
	numRequired = int(symCapability) + 1
)

// procs are the functions of a loaded library; what it lacks is not bound.
type procs [numSymbols]dl.Proc

// bind loads the library of that name and looks its functions up. It is an
// error if a required one is missing.
func bind(name string) (*procs, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	var p procs
	table := make([]dl.Symbol, numSymbols)
	for s := range symbol(numSymbols) {
		table[s] = dl.Symbol{Name: s.String(), Proc: &p[s], Optional: int(s) >= numRequired}
	}
	return &p, lib.Bind(table)
}
