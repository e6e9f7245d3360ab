package nvml

// System is what NVML says of the driver.
type System struct {
	Driver Fact[string] // "580.159.04" (nvmlSystemGetDriverVersion)
	NVML   Fact[string] // "13.580.159.04" (nvmlSystemGetNVMLVersion)
	CUDA   Fact[int]    // newest that the driver supports, 1000 x major + 10 x minor (nvmlSystemGetCudaDriverVersion)
}

// Device is what NVML says of a GPU by itself.
type Device struct {
	// Index is NVML's: GPUs in order of their bus ids. CUDA's order may differ, and
	// CUDA_VISIBLE_DEVICES does not change this one.
	Index int

	// BusID is domain:bus:device.function in lower case, the domain as wide as NVML
	// has it: "00000000:1b:00.0" (nvmlDeviceGetPciInfo_v3).
	BusID string
	// PCI identities: the GPU's and its board's (nvmlDeviceGetPciInfo_v3).
	Vendor, Product, SubsystemVendor, SubsystemProduct uint16

	SM int // compute capability times 10 (nvmlDeviceGetCudaComputeCapability)

	Name        Fact[string] // "NVIDIA H200" (nvmlDeviceGetName)
	UUID        Fact[string] // "GPU-" and a UUID; it identifies the board (nvmlDeviceGetUUID)
	MemoryBytes Fact[uint64] // all of the GPU's own memory (nvmlDeviceGetMemoryInfo)
	MIG         Fact[bool]   // the GPU is partitioned now (nvmlDeviceGetMigMode)
	PCIe        Fact[PCIe]   // the link as it runs now, which may be slower than at work
	MaxPCIe     Fact[PCIe]   // the most that the GPU and what is above it can

	// NUMANode is the NUMA node that the GPU's own memory is, on platforms where it
	// is one; it is not the node of the nearest CPU (nvmlDeviceGetNumaNodeId).
	NUMANode Fact[int]
}

// PCIe is a PCI Express link (nvmlDeviceGetCurrPcieLinkGeneration, ...Width, and
// nvmlDeviceGetMaxPcieLinkGeneration, ...Width).
type PCIe struct {
	Generation int // 1: 2.5 GT/s, doubling
	Width      int // lanes
}

// NVLink is one NVLink of a GPU.
type NVLink struct {
	Link   int        // number on its GPU, from 0
	Active Fact[bool] // trained and up (nvmlDeviceGetNvLinkState)

	// Version is an nvmlNvlinkVersion_t: 1 to 7 are NVLink 1.0, 2.0, 2.2, 3.0, 3.1,
	// 4.0, 5.0 (nvmlDeviceGetNvLinkVersion).
	Version Fact[int]

	// Capabilities (nvmlDeviceGetNvLinkCapability).
	P2P           Fact[bool] // peer access to another GPU
	SysmemAccess  Fact[bool] // access to host memory
	P2PAtomics    Fact[bool] // atomics on another GPU's memory
	SysmemAtomics Fact[bool] // atomics on host memory

	// RemoteBusID is the bus id of the other end, written as Device.BusID is. In a
	// virtual machine that does not see its switches it is "ffffffff:ff:ff.0", or
	// not known for lack of data (nvmlDeviceGetNvLinkRemotePciInfo_v2).
	RemoteBusID Fact[string]
	RemoteType  Fact[RemoteType] // nvmlDeviceGetNvLinkRemoteDeviceType
}

// RemoteType is what an NVLink leads to.
//
// Source: NVML API reference, enum nvmlIntNvLinkDeviceType_t.
type RemoteType uint8

// What an NVLink leads to.
const (
	RemoteGPU     RemoteType = 0    // GPU
	RemoteIBMNPU  RemoteType = 1    // IBMNPU
	RemoteSwitch  RemoteType = 2    // SWITCH
	RemoteUnknown RemoteType = 0xff // UNKNOWN
)

// remoteType returns the type that NVML has as v.
func remoteType(v uint32) RemoteType {
	if v > uint32(RemoteSwitch) {
		return RemoteUnknown
	}
	return RemoteType(v)
}

// C2C is the chip-to-chip connection of a GPU with its CPU.
type C2C struct {
	Links int // those that are active (fields C2C_LINK_COUNT, C2C_LINK_GET_STATUS)
	MBps  int // bandwidth of one of them, 1e6 bytes a second; 0 if none is active (field C2C_LINK_GET_MAX_BW)
}

// P2P is what GPU i may do with GPU j (nvmlDeviceGetP2PStatus).
type P2P struct {
	Read   Fact[P2PStatus] // loads from its memory
	Write  Fact[P2PStatus] // stores to its memory
	NVLink Fact[P2PStatus] // over NVLink
}

// P2PStatus says whether peer access works, and why not.
//
// Source: NVML API reference, enum nvmlGpuP2PStatus_t.
type P2PStatus uint8

// The states of peer access.
const (
	P2POK                      P2PStatus = iota // OK
	P2PChipsetNotSupported                      // CHIPSET_NOT_SUPPORTED
	P2PGPUNotSupported                          // GPU_NOT_SUPPORTED
	P2PIOHTopologyNotSupported                  // IOH_TOPOLOGY_NOT_SUPPORTED
	P2PDisabledByRegkey                         // DISABLED_BY_REGKEY
	P2PNotSupported                             // NOT_SUPPORTED
	P2PUnknown                                  // UNKNOWN
)

// p2pStatus returns the status that NVML has as v.
func p2pStatus(v uint32) P2PStatus { return P2PStatus(min(v, uint32(P2PUnknown))) }

// Fabric is a GPU's membership in an NVLink fabric that may span nodes
// (nvmlDeviceGetGpuFabricInfoV, else nvmlDeviceGetGpuFabricInfo).
type Fabric struct {
	ClusterUUID [16]byte
	CliqueID    uint32 // GPUs of one cluster and one clique reach each other
	State       FabricState
	Status      Code         // how registration ended; counts only if State is FabricCompleted
	HealthMask  Fact[uint32] // NVML_GPU_FABRIC_HEALTH_MASK_*
}

// FabricState says how far a GPU's registration with its fabric is.
//
// Source: NVML API reference, NVML_GPU_FABRIC_STATE_*.
type FabricState uint8

// The states of registration.
const (
	FabricNotSupported FabricState = iota // NOT_SUPPORTED
	FabricNotStarted                      // NOT_STARTED
	FabricInProgress                      // IN_PROGRESS
	FabricCompleted                       // COMPLETED
)
