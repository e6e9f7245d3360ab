package nvml

import (
	"fmt"
	"strconv"
)

// documentVersion is the version of the file form of a snapshot.
const documentVersion = 1

// document is the file form of a Snapshot. Facts that are not known are left
// out; Absent names those whose reason is not that nobody asked.
type document struct {
	Version    int              `json:"version,omitempty"`
	Driver     *string          `json:"driver,omitempty"`
	NVML       *string          `json:"nvml,omitempty"`
	CUDADriver *int             `json:"cudaDriver,omitempty"`
	Absent     absences         `json:"absent,omitempty"`
	Devices    []deviceDocument `json:"devices"`
}

type deviceDocument struct {
	Index             int                    `json:"index"`
	Unreachable       *Code                  `json:"unreachable,omitempty"`
	BusID             string                 `json:"busId,omitempty"`
	PCIVendorDevice   word                   `json:"pciVendorDevice,omitempty"`
	PCISubsystem      word                   `json:"pciSubsystem,omitempty"`
	Name              *string                `json:"name,omitempty"`
	UUID              *string                `json:"uuid,omitempty"`
	ComputeCapability *[2]int                `json:"computeCapability,omitempty"`
	MemoryBytes       *uint64                `json:"memoryBytes,omitempty"`
	MIG               *flag                  `json:"mig,omitempty"`
	NUMANode          *int                   `json:"numaNode,omitempty"`
	PCIe              *pcieDocument          `json:"pcie,omitempty"`
	MaxPCIe           *pcieDocument          `json:"maxPcie,omitempty"`
	NVLinks           *[]linkDocument        `json:"nvlinks,omitempty"`
	C2C               *c2cDocument           `json:"c2c,omitempty"`
	Fabric            *fabricDocument        `json:"fabric,omitempty"`
	P2P               map[string]p2pDocument `json:"p2p,omitempty"`
	Absent            absences               `json:"absent,omitempty"`
}

type pcieDocument struct {
	Generation int `json:"generation"`
	Width      int `json:"width"`
}

type linkDocument struct {
	Link         int                `json:"link"`
	State        *flag              `json:"state,omitempty"`
	Version      *int               `json:"version,omitempty"`
	RemotePCI    *string            `json:"remotePci,omitempty"`
	RemoteType   *RemoteType        `json:"remoteType,omitempty"`
	Capabilities capabilityDocument `json:"capabilities"`
	Absent       absences           `json:"absent,omitempty"`
}

type capabilityDocument struct {
	P2P           *flag `json:"p2pSupported,omitempty"`
	SysmemAccess  *flag `json:"sysmemAccess,omitempty"`
	P2PAtomics    *flag `json:"p2pAtomics,omitempty"`
	SysmemAtomics *flag `json:"sysmemAtomics,omitempty"`
}

type c2cDocument struct {
	Links int `json:"links"`
	MBps  int `json:"mbps"`
}

type fabricDocument struct {
	ClusterUUID string      `json:"clusterUuid"`
	Status      int32       `json:"status"`
	State       FabricState `json:"state"`
	CliqueID    uint32      `json:"cliqueId"`
	HealthMask  *uint32     `json:"healthMask,omitempty"`
	Absent      absences    `json:"absent,omitempty"`
}

type p2pDocument struct {
	Read   *P2PStatus `json:"read,omitempty"`
	Write  *P2PStatus `json:"write,omitempty"`
	NVLink *P2PStatus `json:"nvlink,omitempty"`
	Absent absences   `json:"absent,omitempty"`
}

// absences says of fields, by name, why they are not known.
type absences map[string]Code

// put returns a fact's value for a field called name, nil if it is not known;
// why is then noted.
func put[T any](a *absences, name string, f Fact[T]) *T {
	if v, known := f.Get(); known {
		return &v
	}
	if f.Why() != NoData {
		if *a == nil {
			*a = absences{}
		}
		(*a)[name] = f.Why()
	}
	return nil
}

// take returns the fact that put made a field of, and crosses its absence off.
func take[T any](a absences, name string, v *T) (Fact[T], error) {
	why, absent := a[name]
	delete(a, name)
	switch {
	case absent && (v != nil || why == Success):
		return Fact[T]{}, fmt.Errorf("%q stands in \"absent\" as %s, and has a value or should have one; leave one of them out", name, why)
	case v == nil:
		return Absent[T](why), nil
	}
	return Known(*v), nil
}

// left returns an error for absences that no field took.
func (a absences) left() error {
	for name := range a {
		return fmt.Errorf("\"absent\" names %q, which may not be absent there", name)
	}
	return nil
}

// flag is a bool that a file has as 0 or 1, as NVML does.
type flag bool

// MarshalJSON writes 0 or 1.
func (f flag) MarshalJSON() ([]byte, error) {
	if f {
		return []byte("1"), nil
	}
	return []byte("0"), nil
}

// UnmarshalJSON reads 0 or 1.
func (f *flag) UnmarshalJSON(b []byte) error {
	if s := string(b); s != "0" && s != "1" {
		return fmt.Errorf("%s stands where 0 or 1 must", s)
	}
	*f = b[0] == '1'
	return nil
}

// retype turns a fact about a bool into one about a flag, or back.
func retype[B, A ~bool](f Fact[A]) Fact[B] { return Fact[B]{B(f.value), f.known, f.why} }

// word is 32 bits that a file has as a hexadecimal text, "0x233510de".
type word uint32

// MarshalText writes the word.
func (w word) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%08x", uint32(w)), nil }

// UnmarshalText reads a word.
func (w *word) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 32)
	if err != nil {
		return fmt.Errorf("%q is not 32 bits in hexadecimal, such as \"0x233510de\"", b)
	}
	*w = word(v)
	return nil
}

// named returns which of the values has a name.
func named[T fmt.Stringer](name []byte, values ...T) (T, error) {
	for _, v := range values {
		if v.String() == string(name) {
			return v, nil
		}
	}
	var none T
	return none, fmt.Errorf("%q is no name that NVML has for that", name)
}

// MarshalText writes NVML's name for the code.
func (i Code) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads NVML's name for a code, or what stands for the name of
// one that is newer than this package: "Code(31)".
func (i *Code) UnmarshalText(b []byte) error {
	for c := Success; c <= Unknown; c++ {
		if c.String() == string(b) {
			*i = c
			return nil
		}
	}
	return fmt.Errorf("%q is no name of an NVML code", b)
}

// MarshalText writes NVML's name for the type.
func (i RemoteType) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads NVML's name for a type.
func (i *RemoteType) UnmarshalText(b []byte) (err error) {
	*i, err = named(b, RemoteGPU, RemoteIBMNPU, RemoteSwitch, RemoteUnknown)
	return err
}

// MarshalText writes NVML's name for the status.
func (i P2PStatus) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads NVML's name for a status.
func (i *P2PStatus) UnmarshalText(b []byte) (err error) {
	*i, err = named(b, P2POK, P2PChipsetNotSupported, P2PGPUNotSupported, P2PIOHTopologyNotSupported,
		P2PDisabledByRegkey, P2PNotSupported, P2PUnknown)
	return err
}
