//go:build cgo && linux && (amd64 || arm64) && !nodl

package nvml

import (
	"encoding/binary"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// cgoLibrary calls NVML through go-nvml. That calls C functions which the
// dynamic linker binds at their first call and ends the process if it cannot,
// so every function is looked up before.
type cgoLibrary struct{ nvml gonvml.Interface }

// loadLibrary loads NVML with the adapter of this build.
func loadLibrary(name string) (library, error) { return loadCgo(name) }

// loadCgo loads NVML with cgo. The library is bound by internal/dl first, which
// says why it cannot be loaded or what it lacks; go-nvml does not.
func loadCgo(name string) (library, error) {
	if _, err := bind(name); err != nil {
		return nil, err
	}
	return cgoLibrary{gonvml.New(gonvml.WithLibraryPath(name))}, nil
}

// lacks reports whether the library does not have a function.
func (l cgoLibrary) lacks(s symbol) bool {
	return l.nvml.Extensions().LookupSymbol(s.String()) != nil
}

// ask calls a function of a library, if it is there.
func ask[T any](l cgoLibrary, s symbol, f func() (T, gonvml.Return)) (T, Code) {
	if l.lacks(s) {
		var none T
		return none, FunctionNotFound
	}
	v, r := f()
	return v, Code(r)
}

func (l cgoLibrary) start() Code { return Code(l.nvml.Init()) }
func (l cgoLibrary) stop() Code  { return Code(l.nvml.Shutdown()) }

func (l cgoLibrary) driverVersion() (string, Code) {
	return ask(l, symDriverVersion, l.nvml.SystemGetDriverVersion)
}

func (l cgoLibrary) nvmlVersion() (string, Code) {
	return ask(l, symNVMLVersion, l.nvml.SystemGetNVMLVersion)
}

func (l cgoLibrary) cudaVersion() (int, Code) {
	return ask(l, symCUDAVersion, l.nvml.SystemGetCudaDriverVersion)
}

func (l cgoLibrary) count() (int, Code) { return ask(l, symCount, l.nvml.DeviceGetCount) }

func (l cgoLibrary) handle(i int) (handle, Code) {
	if i < 0 {
		return cgoDevice{}, InvalidArgument
	}
	device, c := ask(l, symHandle, func() (gonvml.Device, gonvml.Return) { return l.nvml.DeviceGetHandleByIndex(i) })
	return cgoDevice{l, device}, c
}

// cgoDevice is a device of go-nvml.
type cgoDevice struct {
	cgoLibrary
	device gonvml.Device
}

// cText returns the C string in b.
func cText(b []int8) string {
	return text(unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), len(b)))
}

func (d cgoDevice) pciInfo() (pciInfo, Code) {
	info, c := ask(d.cgoLibrary, symPCIInfo, d.device.GetPciInfo)
	return pciInfo{cText(info.BusId[:]), info.PciDeviceId, info.PciSubSystemId}, c
}

func (d cgoDevice) capability() (major, minor int, c Code) {
	if d.lacks(symCapability) {
		return 0, 0, FunctionNotFound
	}
	major, minor, r := d.device.GetCudaComputeCapability()
	return major, minor, Code(r)
}

func (d cgoDevice) name() (string, Code) { return ask(d.cgoLibrary, symName, d.device.GetName) }
func (d cgoDevice) uuid() (string, Code) { return ask(d.cgoLibrary, symUUID, d.device.GetUUID) }

func (d cgoDevice) memoryBytes() (uint64, Code) {
	m, c := ask(d.cgoLibrary, symMemory, d.device.GetMemoryInfo)
	return m.Total, c
}

func (d cgoDevice) migMode() (bool, Code) {
	return ask(d.cgoLibrary, symMIGMode, func() (bool, gonvml.Return) {
		current, _, r := d.device.GetMigMode()
		return current == gonvml.DEVICE_MIG_ENABLE, r
	})
}

func (d cgoDevice) numaNode() (int, Code) {
	return ask(d.cgoLibrary, symNUMANode, d.device.GetNumaNodeId)
}

func (d cgoDevice) pcieGeneration() (int, Code) {
	return ask(d.cgoLibrary, symPCIeGeneration, d.device.GetCurrPcieLinkGeneration)
}

func (d cgoDevice) pcieWidth() (int, Code) {
	return ask(d.cgoLibrary, symPCIeWidth, d.device.GetCurrPcieLinkWidth)
}

func (d cgoDevice) maxPCIeGeneration() (int, Code) {
	return ask(d.cgoLibrary, symMaxPCIeGeneration, d.device.GetMaxPcieLinkGeneration)
}

func (d cgoDevice) maxPCIeWidth() (int, Code) {
	return ask(d.cgoLibrary, symMaxPCIeWidth, d.device.GetMaxPcieLinkWidth)
}

func (d cgoDevice) linkState(link int) (bool, Code) {
	v, c := ask(d.cgoLibrary, symLinkState, func() (gonvml.EnableState, gonvml.Return) { return d.device.GetNvLinkState(link) })
	return v == gonvml.FEATURE_ENABLED, c
}

func (d cgoDevice) linkVersion(link int) (int, Code) {
	v, c := ask(d.cgoLibrary, symLinkVersion, func() (uint32, gonvml.Return) { return d.device.GetNvLinkVersion(link) })
	return int(v), c
}

func (d cgoDevice) linkCapability(link int, capability linkCapability) (bool, Code) {
	v, c := ask(d.cgoLibrary, symLinkCapability, func() (uint32, gonvml.Return) {
		return d.device.GetNvLinkCapability(link, gonvml.NvLinkCapability(capability))
	})
	return v != 0, c
}

func (d cgoDevice) linkRemoteBusID(link int) (string, Code) {
	info, c := ask(d.cgoLibrary, symLinkRemotePCI, func() (gonvml.PciInfo, gonvml.Return) { return d.device.GetNvLinkRemotePciInfo(link) })
	return cText(info.BusId[:]), c
}

func (d cgoDevice) linkRemoteType(link int) (RemoteType, Code) {
	v, c := ask(d.cgoLibrary, symLinkRemoteType, func() (gonvml.IntNvLinkDeviceType, gonvml.Return) {
		return d.device.GetNvLinkRemoteDeviceType(link)
	})
	return remoteType(uint32(v)), c
}

func (d cgoDevice) p2p(other handle, i p2pIndex) (P2PStatus, Code) {
	v, c := ask(d.cgoLibrary, symP2PStatus, func() (gonvml.GpuP2PStatus, gonvml.Return) {
		return d.device.GetP2PStatus(other.(cgoDevice).device, gonvml.GpuP2PCapsIndex(i))
	})
	return p2pStatus(uint32(v)), c
}

func (d cgoDevice) field(id fieldID, link int) (uint32, Code) {
	values := []gonvml.FieldValue{{FieldId: uint32(id), ScopeId: uint32(link)}}
	v, c := ask(d.cgoLibrary, symFieldValues, func() (gonvml.FieldValue, gonvml.Return) {
		r := d.device.GetFieldValues(values)
		return values[0], r
	})
	if c != Success {
		return 0, c
	}
	return binary.LittleEndian.Uint32(v.Value[:]), Code(v.NvmlReturn)
}

func (d cgoDevice) fabric() (Fabric, Code) {
	f, c := ask(d.cgoLibrary, symFabric, d.device.GetGpuFabricInfo)
	return Fabric{ClusterUUID: f.ClusterUuid, CliqueID: f.CliqueId, State: FabricState(f.State), Status: Code(f.Status)}, c
}

func (d cgoDevice) fabricV() (Fabric, Code) {
	f, c := ask(d.cgoLibrary, symFabricV, func() (gonvml.GpuFabricInfo_v2, gonvml.Return) { return d.device.GetGpuFabricInfoV().V2() })
	return Fabric{
		ClusterUUID: f.ClusterUuid,
		CliqueID:    f.CliqueId,
		State:       FabricState(f.State),
		Status:      Code(f.Status),
		HealthMask:  Known(f.HealthMask),
	}, c
}
