package nvml

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
)

// maxDocumentBytes bounds a file: 128 GPUs with 36 NVLinks each take half, and what is
// read takes seventy times as much memory.
const maxDocumentBytes = 8 << 20

// ReadSnapshot reads the JSON that [Snapshot.Write] writes. It refuses unknown
// fields and values that NVML does not have.
func ReadSnapshot(r io.Reader) (*Snapshot, error) {
	var doc document
	var s *Snapshot
	err := jsondoc.Decode(r, maxDocumentBytes, &doc)
	if err == nil {
		s, err = doc.snapshot()
	}
	if err != nil {
		return nil, fmt.Errorf("nvml: snapshot: %w", err)
	}
	return s, nil
}

// collector gathers the first error of many takes.
type collector struct{ err error }

func (c *collector) check(err error) {
	if c.err == nil {
		c.err = err
	}
}

func takeInto[T any](c *collector, a absences, name string, v *T, to *Fact[T]) {
	f, err := take(a, name, v)
	c.check(err)
	*to = f
}

func takeFlag(c *collector, a absences, name string, v *flag, to *Fact[bool]) {
	f, err := take(a, name, v)
	c.check(err)
	*to = retype[bool](f)
}

func (doc *document) snapshot() (*Snapshot, error) {
	switch {
	case doc.Version != 0 && doc.Version != documentVersion:
		return nil, fmt.Errorf("version %d is not supported; this build reads version %d", doc.Version, documentVersion)
	case doc.Devices == nil:
		return nil, errors.New("there is no list \"devices\"")
	case len(doc.Devices) > maxDevices:
		return nil, fmt.Errorf("there are %d devices; at most %d are supported", len(doc.Devices), maxDevices)
	}
	var c collector
	s := &Snapshot{Devices: make([]DeviceSnapshot, len(doc.Devices))}
	takeInto(&c, doc.Absent, "driver", doc.Driver, &s.System.Driver)
	takeInto(&c, doc.Absent, "nvml", doc.NVML, &s.System.NVML)
	takeInto(&c, doc.Absent, "cudaDriver", doc.CUDADriver, &s.System.CUDA)
	c.check(doc.Absent.left())
	if c.err != nil {
		return nil, c.err
	}
	byBusID := map[string]int{}
	for i := range doc.Devices {
		d := &doc.Devices[i]
		if d.Index != i {
			return nil, fmt.Errorf("device %d has index %d; devices stand in order of their index, from 0", i, d.Index)
		}
		var err error
		if s.Devices[i], err = d.snapshot(len(doc.Devices)); err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
		if s.Devices[i].Unreachable != Success {
			continue
		}
		busID := s.Devices[i].Device.BusID
		if other, twice := byBusID[busID]; twice {
			return nil, fmt.Errorf("devices %d and %d have the same bus id %s", other, i, busID)
		}
		byBusID[busID] = i
	}
	return s, nil
}

func (d *deviceDocument) snapshot(numDevices int) (DeviceSnapshot, error) {
	if d.Unreachable != nil {
		switch {
		case *d.Unreachable == Success:
			return DeviceSnapshot{}, errors.New("\"unreachable\" is SUCCESS; leave it out")
		case d.BusID != "":
			return DeviceSnapshot{}, errors.New("it is unreachable and has a bus id; leave one of them out")
		}
		return DeviceSnapshot{Unreachable: *d.Unreachable}, nil
	}
	busID, ok := cleanBusID(d.BusID)
	if !ok {
		return DeviceSnapshot{}, fmt.Errorf("\"busId\" is %q, not domain:bus:device.function", d.BusID)
	}
	if d.ComputeCapability == nil || d.ComputeCapability[0] < 0 || d.ComputeCapability[0] > 99 || d.ComputeCapability[1] < 0 || d.ComputeCapability[1] > 9 {
		return DeviceSnapshot{}, errors.New("\"computeCapability\" must be two numbers such as [9, 0]")
	}
	s := DeviceSnapshot{
		Device: Device{
			Index:            d.Index,
			BusID:            busID,
			Vendor:           uint16(d.PCIVendorDevice),
			Product:          uint16(d.PCIVendorDevice >> 16),
			SubsystemVendor:  uint16(d.PCISubsystem),
			SubsystemProduct: uint16(d.PCISubsystem >> 16),
			SM:               10*d.ComputeCapability[0] + d.ComputeCapability[1],
		},
		P2P: map[int]P2P{},
	}
	var (
		c     collector
		a     = d.Absent
		pcie  Fact[pcieDocument]
		most  Fact[pcieDocument]
		links Fact[[]linkDocument]
		c2c   Fact[c2cDocument]
		fab   Fact[fabricDocument]
	)
	takeInto(&c, a, "name", d.Name, &s.Device.Name)
	takeInto(&c, a, "uuid", d.UUID, &s.Device.UUID)
	takeInto(&c, a, "memoryBytes", d.MemoryBytes, &s.Device.MemoryBytes)
	takeFlag(&c, a, "mig", d.MIG, &s.Device.MIG)
	takeInto(&c, a, "numaNode", d.NUMANode, &s.Device.NUMANode)
	takeInto(&c, a, "pcie", d.PCIe, &pcie)
	takeInto(&c, a, "maxPcie", d.MaxPCIe, &most)
	takeInto(&c, a, "nvlinks", d.NVLinks, &links)
	takeInto(&c, a, "c2c", d.C2C, &c2c)
	takeInto(&c, a, "fabric", d.Fabric, &fab)
	c.check(a.left())

	s.Device.PCIe = then(pcie, func(v pcieDocument) (PCIe, error) { return PCIe(v), nil }, &c)
	s.Device.MaxPCIe = then(most, func(v pcieDocument) (PCIe, error) { return PCIe(v), nil }, &c)
	s.C2C = then(c2c, func(v c2cDocument) (C2C, error) { return C2C(v), nil }, &c)
	s.Fabric = then(fab, fabricDocument.fabric, &c)
	s.NVLinks = then(links, func(docs []linkDocument) ([]NVLink, error) {
		all := make([]NVLink, len(docs))
		for l := range docs {
			var err error
			if all[l], err = docs[l].nvlink(); err != nil {
				return nil, fmt.Errorf("NVLink %d: %w", docs[l].Link, err)
			}
			if l > 0 && docs[l].Link <= docs[l-1].Link {
				return nil, fmt.Errorf("NVLink %d stands after NVLink %d; links stand in order of their number", docs[l].Link, docs[l-1].Link)
			}
		}
		return all, nil
	}, &c)
	for key, doc := range d.P2P {
		j, err := strconv.Atoi(key)
		if err != nil || j < 0 || j >= numDevices || j == d.Index || strconv.Itoa(j) != key {
			c.check(fmt.Errorf("\"p2p\" names device %q; the others are 0 to %d", key, numDevices-1))
			continue
		}
		var p P2P
		takeInto(&c, doc.Absent, "read", doc.Read, &p.Read)
		takeInto(&c, doc.Absent, "write", doc.Write, &p.Write)
		takeInto(&c, doc.Absent, "nvlink", doc.NVLink, &p.NVLink)
		c.check(doc.Absent.left())
		s.P2P[j] = p
	}
	return s, c.err
}

// then turns a fact about a document into one about what it stands for.
func then[D, V any](f Fact[D], convert func(D) (V, error), c *collector) Fact[V] {
	doc, known := f.Get()
	if !known {
		return Absent[V](f.Why())
	}
	v, err := convert(doc)
	c.check(err)
	return Known(v)
}

func (d fabricDocument) fabric() (Fabric, error) {
	f := Fabric{CliqueID: d.CliqueID, State: d.State, Status: Code(d.Status)}
	uuid, err := hex.DecodeString(d.ClusterUUID)
	if err != nil || len(uuid) != len(f.ClusterUUID) {
		return f, fmt.Errorf("\"clusterUuid\" is %q, not 32 hexadecimal digits", d.ClusterUUID)
	}
	copy(f.ClusterUUID[:], uuid)
	var c collector
	takeInto(&c, d.Absent, "healthMask", d.HealthMask, &f.HealthMask)
	c.check(d.Absent.left())
	return f, c.err
}

func (d linkDocument) nvlink() (NVLink, error) {
	n := NVLink{Link: d.Link}
	if d.Link < 0 || d.Link >= maxLinks {
		return n, fmt.Errorf("a GPU has NVLinks 0 to %d", maxLinks-1)
	}
	var c collector
	a := d.Absent
	takeFlag(&c, a, "state", d.State, &n.Active)
	takeInto(&c, a, "version", d.Version, &n.Version)
	takeInto(&c, a, "remotePci", d.RemotePCI, &n.RemoteBusID)
	takeInto(&c, a, "remoteType", d.RemoteType, &n.RemoteType)
	takeFlag(&c, a, "p2pSupported", d.Capabilities.P2P, &n.P2P)
	takeFlag(&c, a, "sysmemAccess", d.Capabilities.SysmemAccess, &n.SysmemAccess)
	takeFlag(&c, a, "p2pAtomics", d.Capabilities.P2PAtomics, &n.P2PAtomics)
	takeFlag(&c, a, "sysmemAtomics", d.Capabilities.SysmemAtomics, &n.SysmemAtomics)
	c.check(a.left())
	if remote, known := n.RemoteBusID.Get(); known {
		clean, ok := cleanBusID(remote)
		if !ok {
			c.check(fmt.Errorf("\"remotePci\" is %q, not domain:bus:device.function", remote))
		}
		n.RemoteBusID = Known(clean)
	}
	return n, c.err
}
