package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// pciFolder is where sysfs lists PCI devices by address.
const pciFolder = "sys/bus/pci/devices/"

// address is the form of a PCI address in sysfs. Domains above ffff, which Linux
// makes up for devices behind a controller of their own, have more digits.
var address = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// isAddress reports whether a folder's name is a PCI address.
func isAddress(name string) bool { return address.MatchString(name) }

// bcmVendor makes switches that may be joined behind the host's back (NCCL v2.30
// src/graph/xml.cc).
const bcmVendor = "0x1000"

// classPCIBridge is the class of a bridge between PCI buses (PCI Code and ID
// Assignment Specification).
const classPCIBridge = "0x060400"

// identity is what a device is, in the order of a file's attributes.
var identity = []string{"vendor", "device", "subsystem_vendor", "subsystem_device"}

// device returns the pci element of an address, below those that it is below in
// the machine. kind names it in facts; class is its class where sysfs tells none.
func (b *builder) device(bus topo.BusID, kind, class string) *topo.Element {
	e := b.element(bus)
	b.fillPCI(e, kind, class)
	return e
}

// element returns the pci element of an address, which may have no parent yet.
func (b *builder) element(bus topo.BusID) *topo.Element {
	e := b.pci[bus]
	if e == nil {
		e = &topo.Element{Name: topo.ElemPCI}
		e.Set("busid", bus.String())
		b.pci[bus] = e
	}
	return e
}

// fillPCI gives a pci element the attributes and the parent that it lacks, and
// its parent too: what lies between the device and its CPU, two steps of sysfs at
// a time, since a switch is two bridges there (ncclTopoGetXmlFromSys, NCCL v2.30
// src/graph/xml.cc).
func (b *builder) fillPCI(e *topo.Element, kind, class string) {
	if b.filled[e] {
		return
	}
	b.filled[e] = true
	bus := e.BusID("busid")
	at, err := b.resolve(pciFolder + bus.String())
	subject := kind + " " + bus.String()
	if err != nil && b.parents[e] == nil {
		b.assumed(subject, "place", "below NUMA node "+numaUnknown, "sysfs does not list it, "+reason(err))
	}
	b.class(e, subject, at, err == nil, class)
	b.identify(e, subject, at, err == nil)
	b.link(e, subject, at, err == nil)
	if e.Text("vendor") == bcmVendor {
		b.joined(e)
	}
	if b.parents[e] == nil {
		b.adopt(b.above(e, subject, at, err == nil), e)
	}
	switch parent := b.parents[e]; parent.Name {
	case topo.ElemPCI:
		b.climbed++
		b.fillPCI(parent, "switch", "")
		b.climbed--
	case topo.ElemCPU:
		b.fillCPU(parent)
	}
}

// class sets the class of a device: the one that sysfs has, which wins over a file's,
// else the one given, else, if there is none, that of a bridge.
func (b *builder) class(e *topo.Element, subject, at string, known bool, class string) {
	why := ""
	if known {
		text, err := b.text(at + "/class")
		if err == nil && !isCode(text) {
			err = fmt.Errorf("%s is no class", shown(text))
		}
		if err == nil {
			e.Set("class", text)
			b.measured(subject, "class", text, fromSysfs)
			return
		}
		why = "class: " + reason(err)
	}
	if e.Has("class") {
		return
	}
	if class == "" {
		class, why = classPCIBridge, "nothing tells it, and something is below it"
	}
	e.Set("class", class)
	if why != "" {
		b.assumed(subject, "class", class, why)
	}
}

// code is the form of classes and of numbers of vendors and devices in sysfs.
var code = regexp.MustCompile(`^(0x)?[0-9a-fA-F]{1,8}$`)

// isCode reports whether a text is a number of that form.
func isCode(text string) bool { return code.MatchString(text) }

// identify says what a device is, as sysfs has it, else NVML.
func (b *builder) identify(e *topo.Element, subject, at string, known bool) {
	byNVML := b.nvmlIdentity(e.BusID("busid"))
	for _, name := range identity {
		if e.Has(name) {
			continue
		}
		value, from := byNVML[name], fromNVML
		if known {
			if text, err := b.text(at + "/" + name); err == nil && isCode(text) {
				value, from = text, fromSysfs
			}
		}
		if value != "" {
			e.Set(name, value)
			b.measured(subject, name, value, from)
		}
	}
}

// above returns the element that the device at a path is below.
func (b *builder) above(e *topo.Element, subject, at string, known bool) *topo.Element {
	port := path.Dir(at)
	up := path.Base(path.Dir(port))
	switch {
	case !known:
		return b.cpu(numaUnknown)
	case !isAddress(path.Base(port)) || !isAddress(up):
		return b.cpu(b.numa(subject, at))
	}
	// The error is none: the name is an address.
	bus, _ := topo.ParseBusID(up)
	parent := b.element(bus)
	why := ""
	switch {
	case b.isGPU(bus):
		why = "which is a GPU"
	case b.below(parent, e):
		why = "which is below the device"
	case b.levels(parent)+b.climbed > maxLevels:
		why = fmt.Sprintf("and more than %d switches above one another", maxLevels)
	default:
		return parent
	}
	b.odd(subject, "place", "below NUMA node "+numaUnknown, fromSysfs, "it has the device below "+up+", "+why)
	return b.cpu(numaUnknown)
}

// maxLevels bounds the switches between a device and its CPU, of which machines have
// three, so that a topology file is not nested too deeply to be read.
const maxLevels = 32

// levels returns how many elements an element is below.
func (b *builder) levels(e *topo.Element) int {
	n := 0
	for e = b.parents[e]; e != nil; e = b.parents[e] {
		n++
	}
	return n
}

// below reports whether an element is another one, or somewhere below it.
func (b *builder) below(e, other *topo.Element) bool {
	for ; e != nil; e = b.parents[e] {
		if e == other {
			return true
		}
	}
	return false
}

// numa returns the NUMA node of the device at a path.
func (b *builder) numa(subject, at string) string {
	n, err := b.integer(at + "/numa_node")
	switch {
	case err != nil:
		b.assumed(subject, "NUMA node", numaUnknown, "numa_node: "+reason(err))
		return numaUnknown
	case n < 0:
		b.assumed(subject, "NUMA node", numaUnknown, "the kernel does not know it, as in virtual machines")
		return numaUnknown
	}
	if !b.exists("sys/devices/system/node/node" + strconv.Itoa(n)) {
		b.assumed(subject, "NUMA node", strconv.Itoa(n), "sysfs says so, but has no such node")
		return strconv.Itoa(n)
	}
	b.measured(subject, "NUMA node", strconv.Itoa(n), fromSysfs)
	return strconv.Itoa(n)
}

// adopt puts a pci element among the children of another element, in the order
// of addresses, what has none before it.
func (b *builder) adopt(parent, e *topo.Element) {
	at := len(parent.Children)
	for i, child := range parent.Children {
		if child.Has("busid") && e.Text("busid") < child.Text("busid") {
			at = i
			break
		}
	}
	parent.Children = slices.Insert(parent.Children, at, e)
	b.parents[e] = parent
}

// What NCCL writes of a link of which nothing is known, and takes for 6 Gbit/s a
// lane and 16 lanes (NCCL v2.30 src/graph/topo.cc).
const (
	unknownSpeed = ""
	unknownWidth = "0"
)

// maxWidth is the most lanes of a topology file.
const maxWidth = 64

// link sets what a device's link carries: the least of what the device and the
// port above it can (NCCL up to v2.30.4 src/graph/xml.cc; v2.30.7 asks NVML what a
// GPU's link carries now, and at rest that is less).
func (b *builder) link(e *topo.Element, subject, at string, known bool) {
	var speeds, widths [2]string
	var noSpeed, noWidth error // of the device
	if known {
		speeds[0], noSpeed = b.text(at + "/max_link_speed")
		widths[0], noWidth = b.text(at + "/max_link_width")
		speeds[1], _ = b.text(path.Dir(at) + "/max_link_speed")
		widths[1], _ = b.text(path.Dir(at) + "/max_link_width")
	}
	nvml, hasNVML := b.nvmlLink(e.BusID("busid"))
	if !e.Has("link_speed") {
		switch speed := slower(speeds[0], speeds[1]); {
		case speed != "":
			e.Set("link_speed", speed)
			b.measured(subject, "link_speed", speed, fromSysfs)
		case hasNVML:
			e.Set("link_speed", generationSpeed(nvml.Generation))
			b.measured(subject, "link_speed", e.Text("link_speed"), fromNVML)
		default:
			e.Set("link_speed", unknownSpeed)
			b.assumed(subject, "link_speed", unknownSpeed, untold(speeds[0], noSpeed)+", so 6 Gbit/s a lane are taken")
		}
	}
	if e.Has("link_width") {
		return
	}
	device, port := lanes(widths[0]), lanes(widths[1])
	switch {
	case device > 0 && port > 0:
		e.Set("link_width", strconv.Itoa(min(device, port)))
		b.measured(subject, "link_width", e.Text("link_width"), fromSysfs)
	case device > 0 && b.onRootBus(at):
		// NCCL takes the width of the missing port for 0.
		e.Set("link_width", unknownWidth)
		b.assumed(subject, "link_width", "", "no port above tells its own, so 16 lanes are taken")
	case hasNVML:
		e.Set("link_width", strconv.Itoa(nvml.Width))
		b.measured(subject, "link_width", e.Text("link_width"), fromNVML)
	default:
		e.Set("link_width", unknownWidth)
		b.assumed(subject, "link_width", "", untold(widths[0], noWidth)+", so 16 lanes are taken")
	}
}

// untold says of what sysfs has of a link, or why it has nothing, that it is of no use.
func untold(text string, err error) string {
	switch {
	case text != "":
		return "sysfs says " + shown(text)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "sysfs tells none, " + reason(err)
	}
	return "nothing tells it"
}

// onRootBus reports whether the device at a path has no bridge above it, as in
// virtual machines.
func (b *builder) onRootBus(at string) bool { return !isAddress(path.Base(path.Dir(at))) }

// slower returns the slower one of two links as sysfs describes them; the other
// one if one is not known, and "" if none is.
func slower(device, port string) string {
	d, okD := speedOf(device)
	p, okP := speedOf(port)
	switch {
	case okD && okP && p < d:
		return port
	case okD:
		return device
	case okP:
		return port
	}
	return ""
}

// speedOf reads "32.0 GT/s PCIe".
func speedOf(text string) (float64, bool) {
	number, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(number, 64)
	return v, err == nil && v > 0 && v < 1e4 && (unit == "GT/s" || unit == "GT/s PCIe")
}

// lanes reads a link's width; 0 if there is none, as 255 says.
func lanes(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxWidth {
		return 0
	}
	return n
}

// generationSpeed returns how sysfs describes a link of a PCIe generation.
func generationSpeed(generation int) string {
	return fmt.Sprintf("%.1f GT/s PCIe", []float64{2.5, 5, 8, 16, 32, 64}[min(max(generation, 1), 6)-1])
}

// joined adds the switches that one of Broadcom's says it is joined to.
func (b *builder) joined(e *topo.Element) {
	folder := "sys/kernel/pci_switch_link/virtual_switch_links/" + e.BusID("busid").String()
	peers, err := b.entries(folder)
	if err != nil {
		return
	}
	for _, peer := range peers {
		known := slices.ContainsFunc(e.Children, func(c *topo.Element) bool {
			return c.Name == topo.ElemPCILink && c.Text("target") == peer
		})
		if !known && isAddress(peer) && b.exists(pciFolder+peer) {
			b.child(e, topo.ElemPCILink).Set("target", peer)
		}
	}
}
