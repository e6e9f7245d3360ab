package hardware

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/ncclgo/ncclgo/topo"
)

// PCI classes as topology files have them (kvDictPciClass, NCCL v2.30
// src/graph/topo.cc).
const (
	classGPU    = "0x030200"
	classSwitch = "0x068000"
)

// hiddenSwitch stands for an NVSwitch whose address is not to be had, as in a
// virtual machine (NCCL v2.30 src/graph/xml.cc).
const hiddenSwitch = "fffffff:ff:ff.0"

// name is that of the topology in reports.
const name = "detected"

// Topology makes a system of the GPUs: each under the CPU of its NUMA node, with
// its NVLinks to other GPUs or, where those lead elsewhere and all GPUs reach each
// other over NVLink, to an NVSwitch. Ranks are CUDA's ordinals. What is assumed
// is in the system's notes.
func (inv *Inventory) Topology() (*topo.System, error) {
	doc := &topo.Document{Name: name, Root: element(topo.ElemSystem, "version", strconv.Itoa(topo.Version))}
	order := make([]int, len(inv.GPUs))
	buses := make([]topo.BusID, len(inv.GPUs))
	for i, g := range inv.GPUs {
		bus, err := topo.ParseBusID(g.BusID)
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
		order[i], buses[i] = i, bus
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(buses[a], buses[b]) })
	note := func(format string, args ...any) {
		doc.Notes = append(doc.Notes, topo.Note{Text: fmt.Sprintf(format, args...)})
	}
	switched := inv.switched()
	if inv.NoNVML != nil {
		note("assumed: no NVLinks, since NVML tells nothing (%v)", inv.NoNVML)
	}
	cpus := map[int]*topo.Element{}
	for _, i := range order {
		g := &inv.GPUs[i]
		cpu := cpus[g.NUMANode]
		if cpu == nil {
			cpu = cpuElement(g.NUMANode)
			cpus[g.NUMANode] = cpu
			doc.Root.Children = append(doc.Root.Children, cpu)
		}
		pci := element(topo.ElemPCI, "busid", buses[i].String(), "class", classGPU, "link_speed", linkSpeed(g.SM), "link_width", "16")
		gpu := element(topo.ElemGPU, "dev", strconv.Itoa(i), "sm", strconv.Itoa(g.SM), "rank", strconv.Itoa(i), "gdr", "0")
		gpu.Children = inv.nvlinks(g, buses, switched)
		if len(g.Links) > 0 && len(gpu.Children) == 0 {
			note("left out: the %d NVLinks of GPU %d, which lead to no GPU of this process", len(g.Links), i)
		}
		pci.Children = []*topo.Element{gpu}
		cpu.Children = append(cpu.Children, pci)
	}
	if switched {
		note("assumed: NVLinks that lead to no GPU lead to one NVSwitch, since all GPUs reach each other over NVLink")
	}
	note("assumed: no PCIe switches, 16 lanes of the GPU's own PCIe generation, and CPUs of one kind (%s)", cpuKind())
	return topo.NewSystem(doc)
}

// switched reports whether every GPU reaches every other over NVLink and some
// links lead to none of them.
func (inv *Inventory) switched() bool {
	elsewhere := false
	for i, g := range inv.GPUs {
		for j := range inv.GPUs {
			if i != j && (g.NVLinkPeer == nil || !g.NVLinkPeer[j]) {
				return false
			}
		}
		for _, l := range g.Links {
			_, ok := inv.remote(l.RemoteBusID.Get())
			elsewhere = elsewhere || !ok
		}
	}
	return elsewhere
}

// remote returns the GPU at a bus id, if it is one of these.
func (inv *Inventory) remote(text string, known bool) (int, bool) {
	if !known {
		return 0, false
	}
	bus, err := topo.ParseBusID(text)
	if err != nil {
		return 0, false
	}
	for i := range inv.GPUs {
		if own, err := topo.ParseBusID(inv.GPUs[i].BusID); err == nil && own == bus {
			return i, true
		}
	}
	return 0, false
}

// nvlinks returns the NVLinks of a GPU, those with one target as one element.
func (inv *Inventory) nvlinks(g *GPU, buses []topo.BusID, switched bool) []*topo.Element {
	counts := make([]int, len(inv.GPUs)+1) // by GPU, then to the switch
	for _, l := range g.Links {
		if to, ok := inv.remote(l.RemoteBusID.Get()); ok {
			counts[to]++
		} else if switched {
			counts[len(inv.GPUs)]++
		}
	}
	var all []*topo.Element
	for to, n := range counts {
		target, class := hiddenSwitch, classSwitch
		if to < len(inv.GPUs) {
			target, class = buses[to].String(), classGPU
		}
		if n > 0 {
			all = append(all, element(topo.ElemNVLink, "target", target, "count", strconv.Itoa(n), "tclass", class))
		}
	}
	return all
}

// linkSpeed returns the PCIe speed of a GPU's generation: 3 for Volta and Turing,
// 4 for Ampere and Ada, 5 for Hopper and later (NVIDIA's data sheets).
func linkSpeed(sm int) string {
	switch {
	case sm >= 90:
		return "32.0 GT/s PCIe"
	case sm >= 80:
		return "16.0 GT/s PCIe"
	}
	return "8.0 GT/s PCIe"
}

// cpuKind names the CPU that is assumed.
func cpuKind() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "Intel, Sapphire Rapids"
}

func cpuElement(numaNode int) *topo.Element {
	id := strconv.Itoa(numaNode)
	if runtime.GOARCH == "arm64" {
		return element(topo.ElemCPU, "numaid", id, "arch", "arm64")
	}
	return element(topo.ElemCPU, "numaid", id, "arch", "x86_64", "vendor", "GenuineIntel", "familyid", "6", "modelid", "143")
}

// element returns an element with attributes: name, value, name, value...
func element(name string, attrs ...string) *topo.Element {
	e := &topo.Element{Name: name}
	for i := 0; i < len(attrs); i += 2 {
		e.Set(attrs[i], attrs[i+1])
	}
	return e
}
