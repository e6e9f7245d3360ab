package detect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

// hiddenSwitch stands for an NVSwitch whose address is not to be had, as in a
// virtual machine: NVML's address of sixteen bytes, which has room for seven of
// eight digits of a domain (NCCL v2.30 src/graph/xml.cc).
const hiddenSwitch = "fffffff:ff:ff.0"

// Classes of what NVLinks lead to (kvDictPciClass, NCCL v2.30 src/graph/topo.cc).
const (
	classGPU    = "0x030200"
	classSwitch = "0x068000"
	classBridge = "0x068001"
)

// nvlinks adds the NVLinks of a GPU that are up and may carry peer access, those
// with one target together, in the order of their numbers.
func (b *builder) nvlinks(g *gpu, e *topo.Element) {
	if g.nvml == nil {
		b.assumed(g.subject(), "NVLinks", "none", b.noNVML)
		return
	}
	links, known := g.nvml.links.Get()
	if !known {
		b.assumed(g.subject(), "NVLinks", "none", fmt.Sprintf("NVML tells none, %s", g.nvml.links.Why()))
		return
	}
	counts := map[string]int{}
	var order []string
	down, untold := 0, false
	for _, l := range links {
		target, use := target(l)
		if !use {
			down++
			continue
		}
		if _, known := l.P2P.Get(); !known {
			untold = true
		}
		if counts[target] == 0 {
			order = append(order, target)
		}
		counts[target]++
	}
	for _, target := range order {
		if why := b.refused(g, target); why != "" {
			b.odd(g.subject(), "NVLinks", fmt.Sprintf("none of %d to %s", counts[target], nameTarget(target)), fromNVML, why)
			continue
		}
		link := b.child(e, topo.ElemNVLink)
		link.Set("target", target)
		link.Set("count", strconv.Itoa(counts[target]))
		b.measured(g.subject(), "NVLinks", fmt.Sprintf("%d to %s", counts[target], nameTarget(target)), fromNVML)
	}
	if down > 0 {
		b.odd(g.subject(), "NVLinks", fmt.Sprintf("%d of %d not used", down, len(links)), fromNVML,
			"they are down or carry no peer access; nvidia-smi nvlink -s shows them")
	}
	if untold {
		b.assumed(g.subject(), "NVLinks", "carry peer access", "NVML does not say of all of them")
	}
	if firstTarget(e, hiddenSwitch) != nil {
		b.assumed(g.subject(), "NVLinks", "lead to one NVSwitch", "NVML hides where they lead, as in virtual machines")
	}
}

// target returns where a link leads, and whether it is of use.
func target(l nvml.NVLink) (string, bool) {
	if active, known := l.Active.Get(); !known || !active {
		return "", false
	}
	if p2p, known := l.P2P.Get(); known && !p2p {
		return "", false
	}
	remote, known := l.RemoteBusID.Get()
	bus, err := topo.ParseBusID(remote)
	if !known || err != nil || strings.Trim(remote, "f:.0") == "" && strings.HasPrefix(remote, "f") {
		return hiddenSwitch, true
	}
	return bus.String(), true
}

// refused returns why no peer access goes over the links to a target, "" if some
// does or nobody says.
func (b *builder) refused(g *gpu, target string) string {
	bus, err := topo.ParseBusID(target)
	if b.manager(bus) != nil && !b.isGPU(bus) {
		return "" // a GPU of another process
	}
	peers, statuses := 0, []string{}
	for _, other := range b.gpus {
		direct := err == nil && other.bus == bus
		if other == g || other.nvml == nil || b.isGPU(bus) && !direct {
			continue
		}
		p, err := b.src.NVML.P2P(g.nvml.Index, other.nvml.Index)
		status, known := p.NVLink.Get()
		if err != nil || !known || status == nvml.P2POK {
			return ""
		}
		peers++
		if text := status.String(); !slices.Contains(statuses, text) {
			statuses = append(statuses, text)
		}
	}
	if peers == 0 {
		return ""
	}
	return fmt.Sprintf("peer access over NVLink to GPUs of this process (%d) is %s; nvidia-smi topo -p2p n shows it", peers, strings.Join(statuses, ", "))
}

// isGPU reports whether one of this process's GPUs is at an address.
func (b *builder) isGPU(bus topo.BusID) bool {
	return slices.ContainsFunc(b.gpus, func(g *gpu) bool { return g.bus == bus })
}

// targetClasses says of the NVLinks of a gpu element what they lead to: as sysfs
// has it, else as NVML has it, else an NVSwitch, as NCCL takes it.
func (b *builder) targetClasses(e *topo.Element) {
	for _, link := range e.Children {
		if link.Name != topo.ElemNVLink || link.Has("tclass") {
			continue
		}
		bus := link.BusID("target")
		class, err := b.text(pciFolder + bus.String() + "/class")
		if err != nil || link.Text("target") == hiddenSwitch {
			class = b.classOf(bus, link.Text("target"))
		} else {
			b.measured("NVLinks to "+bus.String(), "tclass", class, fromSysfs)
		}
		link.Set("tclass", class)
	}
}

// classOf returns the class of what NVLinks lead to that sysfs does not list.
func (b *builder) classOf(bus topo.BusID, target string) string {
	if target == hiddenSwitch {
		return classSwitch
	}
	if b.manager(bus) != nil || b.isGPU(bus) {
		return classGPU
	}
	for _, m := range b.managed {
		links, _ := m.links.Get()
		for _, l := range links {
			remote, _ := l.RemoteBusID.Get()
			at, err := topo.ParseBusID(remote)
			if err != nil || at != bus {
				continue
			}
			switch kind, _ := l.RemoteType.Get(); {
			case l.RemoteType.Why() != nvml.Success:
			case kind == nvml.RemoteGPU:
				return classGPU
			case kind == nvml.RemoteIBMNPU:
				return classBridge
			case kind == nvml.RemoteSwitch:
				return classSwitch
			}
		}
	}
	b.assumed("NVLinks to "+target, "tclass", classSwitch, "neither sysfs nor NVML says what is there")
	return classSwitch
}

// nameTarget names a target for people.
func nameTarget(target string) string {
	if target == hiddenSwitch {
		return "a device that NVML hides"
	}
	return target
}

// firstTarget returns the NVLinks of a gpu element to a target, or nil.
func firstTarget(e *topo.Element, target string) *topo.Element {
	for _, link := range e.Children {
		if link.Name == topo.ElemNVLink && link.Text("target") == target {
			return link
		}
	}
	return nil
}

// peers says which GPUs have NVLinks in common but no peer access: NCCL refuses
// communicators of them.
func (b *builder) peers() {
	for i, g := range b.gpus {
		for _, other := range b.gpus[i+1:] {
			if g.nvml == nil || other.nvml == nil {
				continue
			}
			p, err := b.src.NVML.P2P(g.nvml.Index, other.nvml.Index)
			read, known := p.Read.Get()
			if err == nil && known && read != nvml.P2POK {
				b.odd(g.subject()+" and "+other.bus.String(), "peer access", read.String(), fromNVML,
					"GPUs that cannot access each other's memory make no communicator; nvidia-smi topo -p2p r shows it")
			}
		}
	}
}
