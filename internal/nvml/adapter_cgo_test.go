//go:build cgo && linux && (amd64 || arm64) && !nodl

package nvml

import (
	"encoding/binary"
	"errors"
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/stretchr/testify/require"
)

// The same library as without cgo, called through go-nvml.
func TestCgo(t *testing.T) {
	f := buildFake(t, "full")
	for i, m := range testMachines() {
		t.Run(m.name, func(t *testing.T) {
			f.choose(t, i)
			testAPI(t, m.snapshot, f.opener(t, loadCgo))
		})
	}
	t.Run("fails to start", func(t *testing.T) { testStartFails(t, f, loadCgo) })
}

// mockMachines returns go-nvml's mock machines.
func mockMachines() map[string]func() *server.Server {
	return map[string]func() *server.Server{
		"dgxa100": func() *server.Server { return dgxa100.New() },
		"dgxh100": dgxh100.New, "dgxh200": dgxh200.New, "dgxb200": dgxb200.New,
	}
}

// go-nvml's mock machines: identity is what they say, the rest, which they do
// not simulate, is added.
func TestCgoMockMachines(t *testing.T) {
	mocks := mockMachines()
	for _, m := range testMachines() {
		if mock := mocks[m.name]; mock != nil {
			t.Run(m.name, func(t *testing.T) {
				testAPI(t, m.snapshot, func() API {
					api, err := start(cgoLibrary{furnish(mock(), m.snapshot)})
					require.NoError(t, err)
					return api
				})
			})
		}
	}
}

func TestCgoOldLibrary(t *testing.T) {
	s := furnish(dgxa100.New(), testMachines()[0].snapshot)
	s.LookupSymbolFunc = func(name string) error {
		for i := range symbol(numRequired) {
			if i.String() == name {
				return nil
			}
		}
		return errors.New("undefined symbol")
	}
	api, err := start(cgoLibrary{s})
	require.NoError(t, err)
	testOldLibrary(t, api)
}

// furnish adds to a mock machine what a snapshot says beyond identity. Bus ids
// and UUIDs, which the mock makes up, become the snapshot's.
func furnish(s *server.Server, want *Snapshot) *server.Server {
	s.LookupSymbolFunc = func(name string) error {
		if name == symFabricV.String() { // go-nvml cannot mock it
			return errors.New("undefined symbol")
		}
		return nil
	}
	for i, device := range s.Devices {
		furnishDevice(device.(*server.Device), want.Devices[i])
	}
	return s
}

func furnishDevice(d *server.Device, want DeviceSnapshot) {
	d.UUID, _ = want.Device.UUID.Get()
	d.GetPciInfoFunc = func() (gonvml.PciInfo, gonvml.Return) {
		info := gonvml.PciInfo{
			PciDeviceId:    d.Config.PciDeviceId,
			PciSubSystemId: uint32(want.Device.SubsystemProduct)<<16 | uint32(want.Device.SubsystemVendor),
		}
		putText(info.BusId[:], shouted(want.Device.BusID))
		return info, gonvml.SUCCESS
	}
	d.GetNumaNodeIdFunc = func() (int, gonvml.Return) { return given(want.Device.NUMANode) }
	pcie, _ := want.Device.PCIe.Get()
	d.GetCurrPcieLinkGenerationFunc = func() (int, gonvml.Return) { return pcie.Generation, gonvml.SUCCESS }
	d.GetCurrPcieLinkWidthFunc = func() (int, gonvml.Return) { return pcie.Width, gonvml.SUCCESS }
	most, _ := want.Device.MaxPCIe.Get()
	d.GetMaxPcieLinkGenerationFunc = func() (int, gonvml.Return) { return most.Generation, gonvml.SUCCESS }
	d.GetMaxPcieLinkWidthFunc = func() (int, gonvml.Return) { return most.Width, gonvml.SUCCESS }
	d.GetGpuFabricInfoFunc = func() (gonvml.GpuFabricInfo, gonvml.Return) {
		f, r := given(want.Fabric)
		return gonvml.GpuFabricInfo{ClusterUuid: f.ClusterUUID, Status: uint32(f.Status), CliqueId: f.CliqueID, State: uint8(f.State)}, r
	}
	d.GetP2PStatusFunc = func(other gonvml.Device, i gonvml.GpuP2PCapsIndex) (gonvml.GpuP2PStatus, gonvml.Return) {
		p := want.P2P[other.(*server.Device).Index]
		status, r := given(map[gonvml.GpuP2PCapsIndex]Fact[P2PStatus]{
			gonvml.P2P_CAPS_INDEX_READ: p.Read, gonvml.P2P_CAPS_INDEX_WRITE: p.Write, gonvml.P2P_CAPS_INDEX_NVLINK: p.NVLink,
		}[i])
		return gonvml.GpuP2PStatus(status), r
	}
	d.GetFieldValuesFunc = func(values []gonvml.FieldValue) gonvml.Return {
		values[0].NvmlReturn = uint32(gonvml.ERROR_INVALID_ARGUMENT)
		if values[0].FieldId == gonvml.FI_DEV_C2C_LINK_COUNT {
			values[0].NvmlReturn = uint32(gonvml.SUCCESS)
			binary.LittleEndian.PutUint32(values[0].Value[:], 0)
		}
		return gonvml.SUCCESS
	}
	furnishLinks(d, want)
}

func furnishLinks(d *server.Device, want DeviceSnapshot) {
	links, _ := want.NVLinks.Get()
	at := func(l int) (NVLink, bool) {
		if l < len(links) {
			return links[l], true
		}
		return NVLink{}, false
	}
	d.GetNvLinkStateFunc = func(l int) (gonvml.EnableState, gonvml.Return) {
		n, ok := at(l)
		if !ok {
			return 0, gonvml.ERROR_INVALID_ARGUMENT
		}
		active, r := given(n.Active)
		if active {
			return gonvml.FEATURE_ENABLED, r
		}
		return gonvml.FEATURE_DISABLED, r
	}
	d.GetNvLinkVersionFunc = func(l int) (uint32, gonvml.Return) {
		n, _ := at(l)
		v, r := given(n.Version)
		return uint32(v), r
	}
	d.GetNvLinkCapabilityFunc = func(l int, c gonvml.NvLinkCapability) (uint32, gonvml.Return) {
		n, _ := at(l)
		v, r := given(map[gonvml.NvLinkCapability]Fact[bool]{
			gonvml.NVLINK_CAP_P2P_SUPPORTED: n.P2P, gonvml.NVLINK_CAP_SYSMEM_ACCESS: n.SysmemAccess,
			gonvml.NVLINK_CAP_P2P_ATOMICS: n.P2PAtomics, gonvml.NVLINK_CAP_SYSMEM_ATOMICS: n.SysmemAtomics,
		}[c])
		if v {
			return 1, r
		}
		return 0, r
	}
	d.GetNvLinkRemotePciInfoFunc = func(l int) (gonvml.PciInfo, gonvml.Return) {
		n, _ := at(l)
		busID, r := given(n.RemoteBusID)
		var info gonvml.PciInfo
		putText(info.BusId[:], shouted(busID))
		return info, r
	}
	d.GetNvLinkRemoteDeviceTypeFunc = func(l int) (gonvml.IntNvLinkDeviceType, gonvml.Return) {
		n, _ := at(l)
		v, r := given(n.RemoteType)
		return gonvml.IntNvLinkDeviceType(v), r
	}
}

// given returns a fact as go-nvml does.
func given[T any](f Fact[T]) (T, gonvml.Return) {
	v, _ := f.Get()
	return v, gonvml.Return(f.Why())
}

func putText(to []int8, s string) {
	for i := range s {
		to[i] = int8(s[i])
	}
}
