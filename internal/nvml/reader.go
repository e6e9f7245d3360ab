package nvml

import (
	"fmt"
	"strings"
	"sync"
)

// mu lets one goroutine at a time call NVML, whichever API it has.
var mu sync.Mutex

// closedSystem is what a closed API says of the driver.
var closedSystem = System{Absent[string](Uninitialized), Absent[string](Uninitialized), Absent[int](Uninitialized)}

// reader is an API that asks a library.
type reader struct {
	lib    library
	closed bool // guarded by mu
}

// start initializes a library.
func start(lib library) (API, error) {
	mu.Lock()
	defer mu.Unlock()
	if c := lib.start(); c != Success {
		err := error(&Error{symInit.String(), -1, c})
		if c == DriverNotLoaded || c == LibraryNotFound {
			err = fmt.Errorf("%w: %w", ErrNoNVML, err)
		}
		return nil, err
	}
	return &reader{lib: lib}, nil
}

func (r *reader) System() System {
	mu.Lock()
	defer mu.Unlock()
	if r.closed {
		return closedSystem
	}
	return System{
		Driver: answer(r.lib.driverVersion()),
		NVML:   answer(r.lib.nvmlVersion()),
		CUDA:   answer(r.lib.cudaVersion()),
	}
}

func (r *reader) NumDevices() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	if r.closed {
		return 0, &Error{symCount.String(), -1, Uninitialized}
	}
	n, c := r.lib.count()
	switch {
	case c != Success:
		return 0, &Error{symCount.String(), -1, c}
	case n > maxDevices:
		return 0, fmt.Errorf("nvml: %s: %d devices; at most %d are supported", symCount, n, maxDevices)
	}
	return n, nil
}

// open returns the handle of GPU i.
//
// Preconditions: mu is held.
func (r *reader) open(i int) (handle, error) {
	c := Uninitialized
	var h handle
	if !r.closed {
		h, c = r.lib.handle(i)
	}
	if c != Success {
		return nil, &Error{symHandle.String(), i, c}
	}
	return h, nil
}

func (r *reader) Device(i int) (Device, error) {
	mu.Lock()
	defer mu.Unlock()
	h, err := r.open(i)
	if err != nil {
		return Device{}, err
	}
	pci, c := h.pciInfo()
	if c != Success {
		return Device{}, &Error{symPCIInfo.String(), i, c}
	}
	busID, ok := cleanBusID(pci.busID)
	if !ok {
		return Device{}, fmt.Errorf("nvml: %s(device %d): the bus id %q is not domain:bus:device.function: %w",
			symPCIInfo, i, pci.busID, &Error{symPCIInfo.String(), i, NoData})
	}
	major, minor, c := h.capability()
	if c != Success {
		return Device{}, &Error{symCapability.String(), i, c}
	}
	d := Device{
		Index:            i,
		BusID:            busID,
		Vendor:           uint16(pci.identity),
		Product:          uint16(pci.identity >> 16),
		SubsystemVendor:  uint16(pci.subsystem),
		SubsystemProduct: uint16(pci.subsystem >> 16),
		SM:               10*major + minor,
		Name:             answer(h.name()),
		UUID:             answer(h.uuid()),
		MemoryBytes:      answer(h.memoryBytes()),
		MIG:              answer(h.migMode()),
		NUMANode:         answer(h.numaNode()),
	}
	d.PCIe = pcie(h.pcieGeneration, h.pcieWidth)
	d.MaxPCIe = pcie(h.maxPCIeGeneration, h.maxPCIeWidth)
	return d, nil
}

// pcie asks for a link's generation and width.
func pcie(generation, width func() (int, Code)) Fact[PCIe] {
	g, c := generation()
	w, c2 := width()
	if c == Success {
		c = c2
	}
	return answer(PCIe{g, w}, c)
}

func (r *reader) NVLinks(i int) (Fact[[]NVLink], error) {
	mu.Lock()
	defer mu.Unlock()
	h, err := r.open(i)
	if err != nil {
		return Fact[[]NVLink]{}, err
	}
	links, known := []NVLink{}, false
	for l := range maxLinks {
		// The capability first: asking for it trains the link (NCCL v2.30
		// src/graph/xml.cc).
		n := NVLink{Link: l, P2P: answer(h.linkCapability(l, capP2P)), Active: answer(h.linkState(l))}
		switch n.Active.Why() {
		case InvalidArgument, NotSupported: // no such link
			continue
		case Success:
			known = true
		}
		n.Version = answer(h.linkVersion(l))
		n.SysmemAccess = answer(h.linkCapability(l, capSysmemAccess))
		n.P2PAtomics = answer(h.linkCapability(l, capP2PAtomics))
		n.SysmemAtomics = answer(h.linkCapability(l, capSysmemAtomics))
		n.RemoteType = answer(h.linkRemoteType(l))
		remote, c := h.linkRemoteBusID(l)
		remote, ok := cleanBusID(remote)
		if c == Success && !ok {
			c = NoData
		}
		n.RemoteBusID = answer(remote, c)
		links = append(links, n)
	}
	if len(links) > 0 && !known {
		return Absent[[]NVLink](links[0].Active.Why()), nil
	}
	return Known(links), nil
}

func (r *reader) C2C(i int) (Fact[C2C], error) {
	mu.Lock()
	defer mu.Unlock()
	h, err := r.open(i)
	if err != nil {
		return Fact[C2C]{}, err
	}
	n, c := h.field(fieldC2CLinkCount, 0)
	if c != Success {
		return Absent[C2C](c), nil
	}
	var all C2C
	for l := range int(min(n, maxLinks)) {
		active, c := h.field(fieldC2CLinkStatus, l)
		mbps, c2 := h.field(fieldC2CLinkMaxBW, l)
		if c == Success && c2 == Success && active == 1 {
			all.Links++
			all.MBps = int(mbps)
		}
	}
	return Known(all), nil
}

func (r *reader) Fabric(i int) (Fact[Fabric], error) {
	mu.Lock()
	defer mu.Unlock()
	h, err := r.open(i)
	if err != nil {
		return Fact[Fabric]{}, err
	}
	// The older function tells no health and has been seen to say that there is no
	// fabric where the newer one says that there is.
	if f, c := h.fabricV(); c != FunctionNotFound && c != VersionMismatch {
		return answer(f, c), nil
	}
	return answer(h.fabric()), nil
}

func (r *reader) P2P(i, j int) (P2P, error) {
	mu.Lock()
	defer mu.Unlock()
	if i == j {
		return P2P{}, &Error{symP2PStatus.String(), i, InvalidArgument}
	}
	a, err := r.open(i)
	if err != nil {
		return P2P{}, err
	}
	b, err := r.open(j)
	if err != nil {
		return P2P{}, err
	}
	return P2P{
		Read:   answer(a.p2p(b, p2pRead)),
		Write:  answer(a.p2p(b, p2pWrite)),
		NVLink: answer(a.p2p(b, p2pNVLink)),
	}, nil
}

func (r *reader) Close() error {
	mu.Lock()
	defer mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if c := r.lib.stop(); c != Success {
		return &Error{symShutdown.String(), -1, c}
	}
	return nil
}

// cleanBusID returns a bus id in lower case and whether it is one:
// domain:bus:device.function, with a domain of 4 to 8 digits.
func cleanBusID(s string) (string, bool) {
	s = strings.ToLower(s)
	const tail = ":bb:dd.f"
	n := len(s) - len(tail)
	if n < 4 || n > 8 || s[n] != ':' || s[n+3] != ':' || s[n+6] != '.' {
		return s, false
	}
	digits := s[:n] + s[n+1:n+3] + s[n+4:n+6] + s[n+7:]
	return s, strings.Trim(digits, "0123456789abcdef") == ""
}
