package hardware

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

// Inventory is what is known of the machine's GPUs.
type Inventory struct {
	GPUs []GPU // by CUDA's ordinal
	// NVML is what NVML says of the driver; NoNVML is why it says nothing, or nil.
	NVML   nvml.System
	NoNVML error
}

// GPU is what is known of one GPU.
type GPU struct {
	device.Info // what CUDA says

	NUMANode int // of the CPU that it hangs under, -1 if not known
	// Peer[j] says whether it can access the memory of GPU j, by CUDA.
	Peer []bool

	// Known to NVML; else all that follows is zero.
	Managed bool
	Device  nvml.Device
	Links   []nvml.NVLink // active ones
	Fabric  nvml.Fact[nvml.Fabric]
	// NVLinkPeer[j] says whether it can access the memory of GPU j over NVLink.
	NVLinkPeer []bool
}

// CUDA is what is asked of the CUDA driver.
type CUDA interface {
	Infos() []device.Info
	CanAccessPeer(i, j int) (bool, error)
}

// Take asks the driver, and NVML unless openNVML fails. sysfs is where the kernel
// tells of devices, "/sys".
func Take(driver CUDA, openNVML func() (nvml.API, error), sysfs string) (*Inventory, error) {
	inv := &Inventory{}
	for i, info := range driver.Infos() {
		inv.GPUs = append(inv.GPUs, GPU{Info: info, NUMANode: numaNode(sysfs, info.BusID)})
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
	api, err := openNVML()
	if err == nil {
		inv.NVML = api.System()
		err = errors.Join(inv.manage(api), api.Close())
	}
	inv.NoNVML = err
	return inv, nil
}

// numaNode returns the NUMA node of a PCI device, -1 if it is not known.
func numaNode(sysfs, bus string) int {
	text, err := os.ReadFile(path.Join(sysfs, "bus/pci/devices", bus, "numa_node"))
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// manage adds what NVML knows. Its numbers are not CUDA's: GPUs are matched by
// their PCI addresses.
func (inv *Inventory) manage(api nvml.API) error {
	n, err := api.NumDevices()
	if err != nil {
		return err
	}
	byBus := map[topo.BusID]nvml.Device{}
	for i := range n {
		// One that cannot be reached is none that this process may use.
		if d, err := api.Device(i); err == nil {
			if bus, err := topo.ParseBusID(d.BusID); err == nil {
				byBus[bus] = d
			}
		}
	}
	for i := range inv.GPUs {
		g := &inv.GPUs[i]
		bus, err := topo.ParseBusID(g.BusID)
		if err != nil {
			return fmt.Errorf("GPU %d: %w", i, err)
		}
		if g.Device, g.Managed = byBus[bus]; !g.Managed {
			continue
		}
		links, err := api.NVLinks(g.Device.Index)
		if err != nil {
			return err
		}
		all, _ := links.Get()
		for _, l := range all {
			if active, _ := l.Active.Get(); active {
				g.Links = append(g.Links, l)
			}
		}
		if g.Fabric, err = api.Fabric(g.Device.Index); err != nil {
			return err
		}
	}
	return inv.nvlinkPeers(api)
}

func (inv *Inventory) nvlinkPeers(api nvml.API) error {
	for i := range inv.GPUs {
		g := &inv.GPUs[i]
		for j := range inv.GPUs {
			over := false
			if i != j && g.Managed && inv.GPUs[j].Managed {
				p, err := api.P2P(g.Device.Index, inv.GPUs[j].Device.Index)
				if err != nil {
					return err
				}
				status, known := p.NVLink.Get()
				over = known && status == nvml.P2POK
			}
			g.NVLinkPeer = append(g.NVLinkPeer, over)
		}
	}
	return nil
}

// Usable returns how many GPUs are of compute capability sm, times 10, or newer.
func (inv *Inventory) Usable(sm int) int {
	n := 0
	for _, g := range inv.GPUs {
		if g.SM >= sm {
			n++
		}
	}
	return n
}
