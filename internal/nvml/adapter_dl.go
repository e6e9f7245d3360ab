package nvml

import (
	"bytes"
	"unsafe"
)

// textBytes is enough for every text that is asked for.
//
// Source: nvml.h, NVML_DEVICE_NAME_V2_BUFFER_SIZE and
// NVML_DEVICE_UUID_V2_BUFFER_SIZE are 96, the versions' 80.
const textBytes = 96

// dlLibrary calls NVML through internal/dl.
type dlLibrary struct{ procs *procs }

// loadDL loads NVML without cgo.
func loadDL(name string) (library, error) {
	p, err := bind(name)
	if err != nil {
		return nil, err
	}
	return dlLibrary{p}, nil
}

// call calls a function, if the library has it. See [dl.Proc.Call] for what
// may stand in args.
//
//go:uintptrescapes
func (l dlLibrary) call(s symbol, args ...uintptr) Code {
	if !l.procs[s].Bound() {
		return FunctionNotFound
	}
	return Code(int32(l.procs[s].Call(args...)))
}

// text returns the C string in b.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

func (l dlLibrary) start() Code { return l.call(symInit) }
func (l dlLibrary) stop() Code  { return l.call(symShutdown) }

func (l dlLibrary) driverVersion() (string, Code) {
	var b [textBytes]byte
	c := l.call(symDriverVersion, uintptr(unsafe.Pointer(&b)), textBytes)
	return text(b[:]), c
}

func (l dlLibrary) nvmlVersion() (string, Code) {
	var b [textBytes]byte
	c := l.call(symNVMLVersion, uintptr(unsafe.Pointer(&b)), textBytes)
	return text(b[:]), c
}

func (l dlLibrary) cudaVersion() (int, Code) {
	var v int32
	c := l.call(symCUDAVersion, uintptr(unsafe.Pointer(&v)))
	return int(v), c
}

func (l dlLibrary) count() (int, Code) {
	var n uint32
	c := l.call(symCount, uintptr(unsafe.Pointer(&n)))
	return int(n), c
}

func (l dlLibrary) handle(i int) (handle, Code) {
	d := dlDevice{dlLibrary: l}
	if i < 0 {
		return d, InvalidArgument
	}
	var device uintptr
	c := l.call(symHandle, uintptr(i), uintptr(unsafe.Pointer(&device)))
	d.device = device
	return d, c
}

// dlDevice is an nvmlDevice_t.
type dlDevice struct {
	dlLibrary
	device uintptr
}

// number asks a function whose second parameter points to an unsigned int.
func (d dlDevice) number(s symbol) (int, Code) {
	var v uint32
	c := d.call(s, d.device, uintptr(unsafe.Pointer(&v)))
	return int(v), c
}

// linkNumber asks a function for an unsigned int of a link.
func (d dlDevice) linkNumber(s symbol, link int) (uint32, Code) {
	var v uint32
	c := d.call(s, d.device, uintptr(link), uintptr(unsafe.Pointer(&v)))
	return v, c
}

func (d dlDevice) pciInfo() (pciInfo, Code) {
	var info cPCIInfo
	c := d.call(symPCIInfo, d.device, uintptr(unsafe.Pointer(&info)))
	return pciInfo{text(info.busID[:]), info.pciDeviceID, info.pciSubSystemID}, c
}

func (d dlDevice) capability() (major, minor int, c Code) {
	var a, b int32
	c = d.call(symCapability, d.device, uintptr(unsafe.Pointer(&a)), uintptr(unsafe.Pointer(&b)))
	return int(a), int(b), c
}

func (d dlDevice) name() (string, Code) {
	var b [textBytes]byte
	c := d.call(symName, d.device, uintptr(unsafe.Pointer(&b)), textBytes)
	return text(b[:]), c
}

func (d dlDevice) uuid() (string, Code) {
	var b [textBytes]byte
	c := d.call(symUUID, d.device, uintptr(unsafe.Pointer(&b)), textBytes)
	return text(b[:]), c
}

func (d dlDevice) memoryBytes() (uint64, Code) {
	var m cMemory
	c := d.call(symMemory, d.device, uintptr(unsafe.Pointer(&m)))
	return m.total, c
}

func (d dlDevice) migMode() (bool, Code) {
	var current, pending uint32
	c := d.call(symMIGMode, d.device, uintptr(unsafe.Pointer(&current)), uintptr(unsafe.Pointer(&pending)))
	return current == 1, c
}

func (d dlDevice) numaNode() (int, Code)          { return d.number(symNUMANode) }
func (d dlDevice) pcieGeneration() (int, Code)    { return d.number(symPCIeGeneration) }
func (d dlDevice) pcieWidth() (int, Code)         { return d.number(symPCIeWidth) }
func (d dlDevice) maxPCIeGeneration() (int, Code) { return d.number(symMaxPCIeGeneration) }
func (d dlDevice) maxPCIeWidth() (int, Code)      { return d.number(symMaxPCIeWidth) }

func (d dlDevice) linkState(link int) (bool, Code) {
	v, c := d.linkNumber(symLinkState, link)
	return v == 1, c
}

func (d dlDevice) linkVersion(link int) (int, Code) {
	v, c := d.linkNumber(symLinkVersion, link)
	return int(v), c
}

func (d dlDevice) linkCapability(link int, capability linkCapability) (bool, Code) {
	var v uint32
	c := d.call(symLinkCapability, d.device, uintptr(link), uintptr(capability), uintptr(unsafe.Pointer(&v)))
	return v != 0, c
}

func (d dlDevice) linkRemoteBusID(link int) (string, Code) {
	var info cPCIInfo
	c := d.call(symLinkRemotePCI, d.device, uintptr(link), uintptr(unsafe.Pointer(&info)))
	return text(info.busID[:]), c
}

func (d dlDevice) linkRemoteType(link int) (RemoteType, Code) {
	v, c := d.linkNumber(symLinkRemoteType, link)
	return remoteType(v), c
}

func (d dlDevice) p2p(other handle, i p2pIndex) (P2PStatus, Code) {
	var v uint32
	c := d.call(symP2PStatus, d.device, other.(dlDevice).device, uintptr(i), uintptr(unsafe.Pointer(&v)))
	return p2pStatus(v), c
}

func (d dlDevice) field(id fieldID, link int) (uint32, Code) {
	v := cFieldValue{fieldID: uint32(id), scopeID: uint32(link)}
	if c := d.call(symFieldValues, d.device, 1, uintptr(unsafe.Pointer(&v))); c != Success {
		return 0, c
	}
	return v.unsigned(), Code(v.result)
}

func (d dlDevice) fabric() (Fabric, Code) {
	var f cFabricInfo
	c := d.call(symFabric, d.device, uintptr(unsafe.Pointer(&f)))
	return Fabric{ClusterUUID: f.clusterUUID, CliqueID: f.cliqueID, State: FabricState(f.state), Status: Code(f.status)}, c
}

func (d dlDevice) fabricV() (Fabric, Code) {
	f := cFabricInfoV2{version: structVersion(unsafe.Sizeof(cFabricInfoV2{}), 2)}
	c := d.call(symFabricV, d.device, uintptr(unsafe.Pointer(&f)))
	return Fabric{
		ClusterUUID: f.clusterUUID,
		CliqueID:    f.cliqueID,
		State:       FabricState(f.state),
		Status:      Code(f.status),
		HealthMask:  Known(f.healthMask),
	}, c
}
