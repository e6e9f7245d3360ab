package nvml

import (
	"fmt"
	"strings"
)

// testMachine is a node that every adapter is asked about.
type testMachine struct {
	name     string
	snapshot *Snapshot
}

// testMachines returns the nodes: the first four are those that go-nvml has mock
// machines of, with the links that such machines have.
func testMachines() []testMachine {
	return []testMachine{
		{"dgxa100", dgx("Mock NVIDIA A100-SXM4-40GB", 0x20b010de, 80, 40960, 12, 4)},
		{"dgxh100", dgx("NVIDIA H100 80GB HBM3", 0x233010de, 90, 81920, 18, 6)},
		{"dgxh200", dgx("NVIDIA H200 141GB HBM3e", 0x233310de, 90, 144384, 18, 6)},
		{"dgxb200", dgx("NVIDIA B200 180GB HBM3e", 0x2b0010de, 100, 184320, 18, 7)},
		{"hidden", hiddenSwitches()},
		{"pcie", pcieBox()},
		{"superchip", superchip()},
		{"refused", refused()},
		{"none", &Snapshot{System: versions("570.86.15", 12080), Devices: []DeviceSnapshot{}}},
	}
}

func versions(driver string, cuda int) System {
	return System{Driver: Known(driver), NVML: Known("12." + driver), CUDA: Known(cuda)}
}

// gpu returns GPU i by itself.
func gpu(i int, name string, identity uint32, sm int, memoryMB uint64, busID string) Device {
	return Device{
		Index: i, BusID: busID,
		Vendor: uint16(identity), Product: uint16(identity >> 16), SubsystemVendor: 0x10de, SubsystemProduct: uint16(0x1700 + i),
		SM: sm, Name: Known(name), UUID: Known(fmt.Sprintf("GPU-00000000-1111-2222-3333-%012d", i)),
		MemoryBytes: Known(memoryMB << 20), MIG: Known(false), PCIe: Known(PCIe{Generation: 5, Width: 16}), MaxPCIe: Known(PCIe{Generation: 5, Width: 8}), NUMANode: Absent[int](NotSupported),
	}
}

// peers says of all pairs that peer access has the same status.
func (s *Snapshot) peers(p P2P) *Snapshot {
	for i := range s.Devices {
		s.Devices[i].P2P = map[int]P2P{}
		for j := range s.Devices {
			if i != j {
				s.Devices[i].P2P[j] = p
			}
		}
	}
	return s
}

func status(read, write, nvlink P2PStatus) P2P {
	return P2P{Read: Known(read), Write: Known(write), NVLink: Known(nvlink)}
}

// dgx returns 8 GPUs with links to switches. One link of GPU 3 is down.
func dgx(name string, identity uint32, sm int, memoryMB uint64, links, version int) *Snapshot {
	s := &Snapshot{System: versions("550.54.15", 12040), Devices: make([]DeviceSnapshot, 8)}
	if sm == 100 {
		s.System = versions("560.28.03", 12060)
	}
	for i := range s.Devices {
		d := DeviceSnapshot{
			Device: gpu(i, name, identity, sm, memoryMB, fmt.Sprintf("00000000:%02x:00.0", 0x1a+0x11*i)),
			C2C:    Known(C2C{}),
			Fabric: Known(Fabric{State: FabricCompleted, CliqueID: uint32(i), ClusterUUID: [16]byte{15: byte(i)}}),
		}
		var all []NVLink
		for l := range links {
			n := NVLink{
				Link: l, Active: Known(true), Version: Known(version),
				P2P: Known(true), SysmemAccess: Known(false), P2PAtomics: Known(true), SysmemAtomics: Known(l%2 == 0),
				RemoteBusID: Known(fmt.Sprintf("00000000:%02x:00.0", 5+l%4)), RemoteType: Known(RemoteSwitch),
			}
			if i == 3 && l == 5 {
				n.Active, n.P2P, n.RemoteBusID = Known(false), Known(false), Absent[string](InvalidState)
			}
			all = append(all, n)
		}
		d.NVLinks = Known(all)
		s.Devices[i] = d
	}
	return s.peers(status(P2POK, P2POK, P2POK))
}

// hiddenSwitches returns two GPUs of a virtual machine that does not see its
// switches: their bus id is all ones, or nothing.
func hiddenSwitches() *Snapshot {
	s := &Snapshot{System: versions("580.159.04", 13000), Devices: make([]DeviceSnapshot, 2)}
	for i := range s.Devices {
		d := DeviceSnapshot{
			Device: gpu(i, "NVIDIA H200", 0x233510de, 90, 143771, fmt.Sprintf("00000000:00:%02x.0", 6+i)),
			C2C:    Known(C2C{}),
			Fabric: Known(Fabric{State: FabricCompleted, HealthMask: Known[uint32](0x5aa)}),
		}
		var all []NVLink
		for l := range 18 {
			n := NVLink{
				Link: l, Active: Known(true), Version: Known(6),
				P2P: Known(true), SysmemAccess: Known(true), P2PAtomics: Known(true), SysmemAtomics: Known(true),
				RemoteBusID: Known("ffffffff:ff:ff.0"), RemoteType: Known(RemoteUnknown),
			}
			if l == 17 {
				n.RemoteBusID = Absent[string](NoData)
			}
			all = append(all, n)
		}
		d.NVLinks = Known(all)
		s.Devices[i] = d
	}
	return s.peers(status(P2POK, P2POK, P2POK))
}

// pcieBox returns GPUs without NVLink, the second in a PCI domain above ffff,
// that may not reach each other.
func pcieBox() *Snapshot {
	s := &Snapshot{System: versions("535.104.05", 12020), Devices: make([]DeviceSnapshot, 2)}
	for i, busID := range []string{"00000000:01:00.0", "00010000:e1:00.0"} {
		s.Devices[i] = DeviceSnapshot{
			Device:  gpu(i, "NVIDIA GeForce RTX 4090", 0x268410de, 89, 24564, busID),
			NVLinks: Known([]NVLink{}), C2C: Absent[C2C](NotSupported), Fabric: Absent[Fabric](NotSupported),
		}
		s.Devices[i].Device.MIG = Absent[bool](NotSupported)
	}
	return s.peers(status(P2PChipsetNotSupported, P2PDisabledByRegkey, P2PNotSupported))
}

// superchip returns a GPU on a CPU's chip-to-chip link that is a NUMA node,
// partitioned, with two of three links of its own to a GPU elsewhere.
func superchip() *Snapshot {
	d := DeviceSnapshot{
		Device: gpu(0, "NVIDIA GH200 480GB", 0x234210de, 90, 97871, "00000009:01:00.0"),
		C2C:    Known(C2C{Links: 10, MBps: 44712}),
		Fabric: Known(Fabric{State: FabricInProgress, Status: InUse, ClusterUUID: [16]byte{1, 2, 3, 15: 0xff}, CliqueID: 32766, HealthMask: Known[uint32](0)}),
		P2P:    map[int]P2P{},
	}
	d.Device.NUMANode, d.Device.MIG, d.Device.PCIe = Known(8), Known(true), Absent[PCIe](NoPermission)
	d.Device.MaxPCIe = Absent[PCIe](NotSupported)
	d.NVLinks = Known([]NVLink{
		{Link: 0, Active: Known(true), Version: Known(6), P2P: Known(true), SysmemAccess: Absent[bool](Unknown), P2PAtomics: Known(true),
			SysmemAtomics: Known(false), RemoteBusID: Known("00000019:01:00.0"), RemoteType: Known(RemoteGPU)},
		{Link: 2, Active: Absent[bool](Timeout), Version: Absent[int](Timeout), P2P: Absent[bool](Timeout), SysmemAccess: Absent[bool](Timeout),
			P2PAtomics: Absent[bool](Timeout), SysmemAtomics: Absent[bool](Timeout), RemoteBusID: Absent[string](Timeout), RemoteType: Known(RemoteIBMNPU)},
	})
	return &Snapshot{System: versions("560.35.05", 12060), Devices: []DeviceSnapshot{d}}
}

// refused returns a node where NVML tells almost nothing: GPU 1 is closed to
// the process, of the others only the bus id and the compute capability are
// told.
func refused() *Snapshot {
	s := &Snapshot{
		System:  System{Driver: Absent[string](NoPermission), NVML: Absent[string](Unknown), CUDA: Absent[int](NotSupported)},
		Devices: make([]DeviceSnapshot, 3),
	}
	for i := range s.Devices {
		s.Devices[i] = DeviceSnapshot{
			Device: Device{
				Index: i, BusID: fmt.Sprintf("00000000:%02x:00.0", 0xb0+i), Vendor: 0x10de, Product: 0x20f1, SM: 80,
				Name: Absent[string](Unknown), UUID: Absent[string](NoPermission), MemoryBytes: Absent[uint64](NotSupported),
				MIG: Absent[bool](NoPermission), PCIe: Absent[PCIe](GPUIsLost), MaxPCIe: Absent[PCIe](NoPermission), NUMANode: Absent[int](InvalidArgument),
			},
			NVLinks: Absent[[]NVLink](NoPermission), C2C: Absent[C2C](Code(31)), Fabric: Absent[Fabric](ResetRequired),
		}
	}
	p := P2P{Read: Absent[P2PStatus](NoPermission), Write: Known(P2PUnknown), NVLink: Known(P2PIOHTopologyNotSupported)}
	s.peers(p)
	s.Devices[1] = DeviceSnapshot{Unreachable: NoPermission}
	delete(s.Devices[0].P2P, 1)
	delete(s.Devices[2].P2P, 1)
	return s
}

// shouted returns a bus id as NVML writes it.
func shouted(busID string) string { return strings.ToUpper(busID) }
