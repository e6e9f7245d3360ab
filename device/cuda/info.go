package cuda

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/dl"
)

// attribute is a CUdevice_attribute.
//
// Source: CUDA driver API, enum CUdevice_attribute.
type attribute uintptr

const (
	maxThreadsPerBlock attribute = 1
	maxSharedPerBlock  attribute = 8
	multiprocessors    attribute = 16
	maxThreadsPerSM    attribute = 39
	capabilityMajor    attribute = 75
	capabilityMinor    attribute = 76
	maxSharedPerSM     attribute = 81
	maxRegistersPerSM  attribute = 82
	maxBlocksPerSM     attribute = 106
	gpuDirectRDMA      attribute = 116 // since CUDA 11.3
	dmaBuf             attribute = 124 // since CUDA 11.7
	syncDomains        attribute = 126 // since CUDA 12.0
)

const (
	nameBytes  = 256
	busIDBytes = 16 // "dddd:bb:dd.f" and its terminator
)

// number makes a driver call whose only parameter points to its result.
func (l *library) number(f dl.Proc, call string) (int, error) {
	var v int32
	rc := f.Call(uintptr(unsafe.Pointer(&v)))
	return int(v), l.check(call, rc, "")
}

// attribute returns an attribute of CUdevice dev.
func (l *library) attribute(a attribute, dev int32) (int, error) {
	var v int32
	rc := l.deviceGetAttribute.Call(uintptr(unsafe.Pointer(&v)), uintptr(a), uintptr(dev))
	return int(v), l.check("cuDeviceGetAttribute", rc, "attribute %d, CUdevice %d", a, dev)
}

// has reports whether CUdevice dev has what an attribute asks for. A driver that
// does not know the attribute does not have it.
func (l *library) has(a attribute, dev int32) bool {
	v, err := l.attribute(a, dev)
	return err == nil && v != 0
}

// handle returns the CUdevice of GPU i.
func (l *library) handle(i int) (int32, error) {
	var dev int32
	rc := l.deviceGet.Call(uintptr(unsafe.Pointer(&dev)), uintptr(i))
	return dev, l.check("cuDeviceGet", rc, "GPU %d", i)
}

// info asks what GPU i is.
func (l *library) info(i int) (device.Info, error) {
	var info device.Info
	dev, err := l.handle(i)
	if err != nil {
		return info, err
	}
	var major, minor int
	for _, q := range []struct {
		attribute attribute
		to        *int
	}{
		{capabilityMajor, &major},
		{capabilityMinor, &minor},
		{multiprocessors, &info.NumSMs},
		{maxThreadsPerSM, &info.MaxThreadsPerSM},
		{maxBlocksPerSM, &info.MaxCTAsPerSM},
		{maxThreadsPerBlock, &info.MaxThreadsPerCTA},
		{maxSharedPerSM, &info.SharedPerSM},
		{maxSharedPerBlock, &info.SharedPerCTA},
		{maxRegistersPerSM, &info.RegistersPerSM},
	} {
		if *q.to, err = l.attribute(q.attribute, dev); err != nil {
			return info, err
		}
	}
	info.SM = 10*major + minor
	info.GPUDirectRDMA = l.has(gpuDirectRDMA, dev)
	info.DMABuf = l.has(dmaBuf, dev)

	name := make([]byte, nameBytes)
	rc := l.deviceGetName.Call(uintptr(unsafe.Pointer(&name[0])), nameBytes, uintptr(dev))
	if err := l.check("cuDeviceGetName", rc, "GPU %d", i); err != nil {
		return info, err
	}
	info.Name = text(name)

	var memory uint64
	rc = l.deviceTotalMem.Call(uintptr(unsafe.Pointer(&memory)), uintptr(dev))
	if err := l.check("cuDeviceTotalMem", rc, "GPU %d", i); err != nil {
		return info, err
	}
	info.MemoryBytes = int64(memory)

	bus := make([]byte, busIDBytes)
	rc = l.deviceGetPCIBusID.Call(uintptr(unsafe.Pointer(&bus[0])), busIDBytes, uintptr(dev))
	if err := l.check("cuDeviceGetPCIBusId", rc, "GPU %d", i); err != nil {
		return info, err
	}
	info.BusID = strings.ToLower(text(bus))
	return info, nil
}

// text returns the C string in b.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
