package nvml

import "fmt"

// API is NVML as far as ncclgo asks it. A device is named by NVML's index, from
// 0. Every method that names a device returns an [*Error] if NVML cannot reach
// it: GPUs that this process may not use are counted all the same.
type API interface {
	// System returns the versions.
	System() System
	// NumDevices returns the number of GPUs, unreachable ones included.
	NumDevices() (int, error)
	// Device returns the identity of GPU i.
	Device(i int) (Device, error)
	// NVLinks returns the NVLinks of GPU i by number: none for a GPU without, and
	// not known if NVML does not tell the state of any.
	NVLinks(i int) (Fact[[]NVLink], error)
	// C2C returns the connection of GPU i with its CPU.
	C2C(i int) (Fact[C2C], error)
	// Fabric returns the fabric membership of GPU i.
	Fabric(i int) (Fact[Fabric], error)
	// P2P returns what GPU i may do with GPU j, another one.
	P2P(i, j int) (P2P, error)
	// Close ends the use of NVML. Calls after it return Uninitialized.
	Close() error
}

// libraryName is what every driver installs NVML as.
const libraryName = "libnvidia-ml.so.1"

// Open opens the NVML of this node. Its error is [ErrNoNVML] where there is
// none.
func Open() (API, error) { return open(libraryName, loadLibrary) }

// open opens the library of that name with an adapter.
func open(name string, load func(string) (library, error)) (API, error) {
	lib, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; install the NVIDIA driver, or in a container let it in (NVIDIA_DRIVER_CAPABILITIES=utility)", ErrNoNVML, err)
	}
	return start(lib)
}
