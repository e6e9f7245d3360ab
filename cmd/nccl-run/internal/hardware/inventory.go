package hardware

import (
	"errors"
	"io/fs"
	"runtime"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// Inventory is what is known of the machine's GPUs.
type Inventory struct {
	GPUs []GPU // by CUDA's ordinal
	// NVML is what NVML says of the driver; NoNVML is why it says nothing, or nil.
	NVML   nvml.System
	NoNVML error

	files    fs.FS
	snapshot *nvml.Snapshot // nil with NoNVML
}

// GPU is what is known of one GPU.
type GPU struct {
	device.Info // what CUDA says

	// Peer[j] says whether it can access the memory of GPU j, by CUDA.
	Peer []bool

	// Known to NVML; else all that follows is zero.
	Managed bool
	Device  nvml.Device
	Links   int // NVLinks that are active
	Fabric  nvml.Fact[nvml.Fabric]
	// NVLinkPeer[j] says whether it can access the memory of GPU j over NVLink.
	NVLinkPeer []bool
}

// CUDA is what is asked of the CUDA driver.
type CUDA interface {
	Infos() []device.Info
	CanAccessPeer(i, j int) (bool, error)
}

// Take asks the driver, and NVML unless openNVML fails. files are the machine's, as
// os.DirFS("/") has them.
func Take(driver CUDA, openNVML func() (nvml.API, error), files fs.FS) (*Inventory, error) {
	inv := &Inventory{files: files}
	for i, info := range driver.Infos() {
		inv.GPUs = append(inv.GPUs, GPU{Info: info})
		for j := range driver.Infos() {
			can := false
			if i != j {
				var err error
				if can, err = driver.CanAccessPeer(i, j); err != nil {
					return nil, err
				}
			}
			inv.GPUs[i].Peer = append(inv.GPUs[i].Peer, can)
		}
	}
	inv.snapshot, inv.NoNVML = Snapshot(openNVML)
	if inv.snapshot != nil {
		inv.NVML = inv.snapshot.System
		inv.manage()
	}
	return inv, nil
}

// Snapshot asks NVML all it knows.
func Snapshot(openNVML func() (nvml.API, error)) (*nvml.Snapshot, error) {
	api, err := openNVML()
	if err != nil {
		return nil, err
	}
	s, err := nvml.Capture(api)
	if err = errors.Join(err, api.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// manage adds what NVML knows. Its numbers are not CUDA's: GPUs are matched by
// their PCI addresses.
func (inv *Inventory) manage() {
	byBus := map[topo.BusID]*nvml.DeviceSnapshot{}
	for i := range inv.snapshot.Devices {
		d := &inv.snapshot.Devices[i]
		// One that cannot be reached is none that this process may use.
		if bus, err := topo.ParseBusID(d.Device.BusID); err == nil && d.Unreachable == nvml.Success {
			byBus[bus] = d
		}
	}
	found := make([]*nvml.DeviceSnapshot, len(inv.GPUs))
	for i := range inv.GPUs {
		g := &inv.GPUs[i]
		bus, err := topo.ParseBusID(g.BusID)
		if found[i] = byBus[bus]; err != nil || found[i] == nil {
			continue
		}
		g.Managed, g.Device, g.Fabric = true, found[i].Device, found[i].Fabric
		links, _ := found[i].NVLinks.Get()
		for _, l := range links {
			if active, _ := l.Active.Get(); active {
				g.Links++
			}
		}
	}
	for i := range inv.GPUs {
		for j := range inv.GPUs {
			over := false
			if i != j && found[i] != nil && found[j] != nil {
				status, known := found[i].P2P[found[j].Device.Index].NVLink.Get()
				over = known && status == nvml.P2POK
			}
			inv.GPUs[i].NVLinkPeer = append(inv.GPUs[i].NVLinkPeer, over)
		}
	}
}

// Source returns the machine to be detected.
func (inv *Inventory) Source() detect.Source {
	src := Source(inv.snapshot, inv.NoNVML, nil, inv.files)
	for _, g := range inv.GPUs {
		src.GPUs = append(src.GPUs, detect.GPU{BusID: g.BusID, SM: g.SM, GDR: g.GPUDirectRDMA, DMABuf: g.DMABuf})
	}
	return src
}

// Source returns a machine whose GPUs are NVML's: CUDA tells nothing for the reason
// noCUDA, or nobody asks it.
func Source(snapshot *nvml.Snapshot, noNVML, noCUDA error, files fs.FS) detect.Source {
	src := detect.Source{Files: files, Arch: runtime.GOARCH, NoNVML: noNVML, NoCUDA: noCUDA}
	if snapshot != nil {
		src.NVML = snapshot.Replay()
	}
	return src
}
