package nvml

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"strconv"
)

// Write writes s as JSON.
func (s *Snapshot) Write(w io.Writer) error {
	doc := document{Version: documentVersion, Devices: make([]deviceDocument, len(s.Devices))}
	doc.Driver = put(&doc.Absent, "driver", s.System.Driver)
	doc.NVML = put(&doc.Absent, "nvml", s.System.NVML)
	doc.CUDADriver = put(&doc.Absent, "cudaDriver", s.System.CUDA)
	for i, d := range s.Devices {
		doc.Devices[i] = d.document(i)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(doc)
}

func (s DeviceSnapshot) document(i int) deviceDocument {
	if s.Unreachable != Success {
		return deviceDocument{Index: i, Unreachable: &s.Unreachable}
	}
	d := deviceDocument{
		Index:             i,
		BusID:             s.Device.BusID,
		PCIVendorDevice:   word(s.Device.Product)<<16 | word(s.Device.Vendor),
		PCISubsystem:      word(s.Device.SubsystemProduct)<<16 | word(s.Device.SubsystemVendor),
		ComputeCapability: &[2]int{s.Device.SM / 10, s.Device.SM % 10},
		P2P:               map[string]p2pDocument{},
	}
	a := &d.Absent
	d.Name = put(a, "name", s.Device.Name)
	d.UUID = put(a, "uuid", s.Device.UUID)
	d.MemoryBytes = put(a, "memoryBytes", s.Device.MemoryBytes)
	d.MIG = put(a, "mig", retype[flag](s.Device.MIG))
	d.NUMANode = put(a, "numaNode", s.Device.NUMANode)
	if v := put(a, "pcie", s.Device.PCIe); v != nil {
		d.PCIe = &pcieDocument{v.Generation, v.Width}
	}
	if v := put(a, "maxPcie", s.Device.MaxPCIe); v != nil {
		d.MaxPCIe = &pcieDocument{v.Generation, v.Width}
	}
	if v := put(a, "nvlinks", s.NVLinks); v != nil {
		links := make([]linkDocument, len(*v))
		for l, n := range *v {
			links[l] = n.document()
		}
		d.NVLinks = &links
	}
	if v := put(a, "c2c", s.C2C); v != nil {
		d.C2C = &c2cDocument{v.Links, v.MBps}
	}
	if v := put(a, "fabric", s.Fabric); v != nil {
		d.Fabric = &fabricDocument{
			ClusterUUID: hex.EncodeToString(v.ClusterUUID[:]),
			Status:      int32(v.Status),
			State:       v.State,
			CliqueID:    v.CliqueID,
		}
		d.Fabric.HealthMask = put(&d.Fabric.Absent, "healthMask", v.HealthMask)
	}
	for j, p := range s.P2P {
		var doc p2pDocument
		doc.Read = put(&doc.Absent, "read", p.Read)
		doc.Write = put(&doc.Absent, "write", p.Write)
		doc.NVLink = put(&doc.Absent, "nvlink", p.NVLink)
		d.P2P[strconv.Itoa(j)] = doc
	}
	return d
}

func (n NVLink) document() linkDocument {
	d := linkDocument{Link: n.Link}
	a := &d.Absent
	d.State = put(a, "state", retype[flag](n.Active))
	d.Version = put(a, "version", n.Version)
	d.RemotePCI = put(a, "remotePci", n.RemoteBusID)
	d.RemoteType = put(a, "remoteType", n.RemoteType)
	d.Capabilities.P2P = put(a, "p2pSupported", retype[flag](n.P2P))
	d.Capabilities.SysmemAccess = put(a, "sysmemAccess", retype[flag](n.SysmemAccess))
	d.Capabilities.P2PAtomics = put(a, "p2pAtomics", retype[flag](n.P2PAtomics))
	d.Capabilities.SysmemAtomics = put(a, "sysmemAtomics", retype[flag](n.SysmemAtomics))
	return d
}
