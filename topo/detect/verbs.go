package detect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// verbsFolder is where sysfs lists the devices of RDMA verbs.
const verbsFolder = "sys/class/infiniband"

// Verbs of NCCL: at most 32 ports (MAX_IB_DEVS, NCCL v2.30
// src/transport/net_ib/common.h). How many connections a port has only the device
// tells; this is what ConnectX-6 and later say.
const (
	maxVerbs     = 32
	verbsMaxConn = "131072"
)

// guidFile is what the ports of one card have in common.
const guidFile = "sys_image_guid"

// peerModules are files that are there if the kernel lets network cards access
// the memory of GPUs (NCCL v2.30 src/transport/net_ib/gdr.cc).
var peerModules = []string{
	"sys/kernel/mm/memory_peers/nv_mem/version",
	"sys/kernel/mm/memory_peers/nv_mem_nc/version",
	"sys/module/nvidia_peermem/version",
}

// port is a network port.
type port struct {
	name    string
	device  string // sysfs folder of its PCI device, "" if it has none
	mbps    int
	from    string // who told the speed, "" if nobody
	number  string
	guid    string
	maxConn string
	gdr     string
}

// verbs returns the active ports of RDMA devices.
func (b *builder) verbs() []port {
	names, err := b.entries(verbsFolder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			b.assumed("RDMA devices", "ports", "none", verbsFolder+": "+reason(err))
		}
		return nil
	}
	slices.SortFunc(names, natural)
	gdr := ""
	cards := map[string]int{}
	var ports []port
	for _, name := range names {
		folder := path.Join(verbsFolder, name)
		numbers, err := b.entries(folder + "/ports")
		if err != nil {
			b.odd("port "+name, "state", "not used", fromSysfs, "ports: "+reason(err))
			continue
		}
		slices.SortFunc(numbers, natural)
		for _, number := range numbers {
			at := folder + "/ports/" + number
			state, err := b.text(at + "/state")
			if err != nil {
				b.odd("port "+name, "state", "not used", fromSysfs, "state: "+reason(err))
			}
			if err != nil || !strings.HasSuffix(state, "ACTIVE") || !b.cfg.Nets.verbs(name, number) {
				continue
			}
			// As of the network cards of a cloud that have verbs of their own.
			if layer, err := b.text(at + "/link_layer"); err == nil && layer != "InfiniBand" && layer != "Ethernet" {
				b.odd("port "+name, "link layer", layer, fromSysfs, "NCCL uses it only with a network plugin, so it is left out")
				continue
			}
			if len(ports) == maxVerbs {
				b.odd("RDMA devices", "ports", strconv.Itoa(maxVerbs), fromSysfs, "there are more; name those to use with NCCL_IB_HCA")
				return ports
			}
			if gdr == "" {
				gdr = b.netGDR()
			}
			p := port{name: name, device: b.card(folder), maxConn: verbsMaxConn, gdr: gdr}
			p.mbps, p.from = b.rate(name, at)
			p.guid = b.guid(name, folder)
			n, _ := strconv.Atoi(number)
			p.number = strconv.Itoa(n + cards[p.device])
			if p.device != "" {
				cards[p.device]++
			}
			b.assumed("port "+name, "maxconn", verbsMaxConn, "sysfs does not tell, and it matters to communicators of so many ranks only")
			ports = append(ports, p)
		}
	}
	return ports
}

// card returns the folder of the PCI device that a verbs device belongs to. The
// ports of a card are functions of one device, and virtual functions are of the
// card that they are made of: NCCL takes them together, by writing zeros for
// device and function (NCCL v2.30 src/transport/net_ib/init.cc). In a virtual
// machine, where cards have any device number, that would be another device.
func (b *builder) card(folder string) string {
	at, err := b.resolve(folder + "/device")
	if err != nil || !isAddress(path.Base(at)) {
		return ""
	}
	if physical, err := b.resolve(at + "/physfn"); err == nil && isAddress(path.Base(physical)) {
		at = physical
	}
	if first := at[:len(at)-1] + "0"; b.exists(first) {
		return first
	}
	return at
}

// rate returns the speed of a port in Mbit/s: "400 Gb/sec (4X NDR)".
func (b *builder) rate(name, at string) (mbps int, from string) {
	text, err := b.text(at + "/rate")
	number, unit, _ := strings.Cut(text, " ")
	gbps, errNumber := strconv.ParseFloat(number, 64)
	if err == nil && errNumber == nil && gbps > 0 && gbps < 1e5 && strings.HasPrefix(unit, "Gb/sec") {
		return int(gbps * 1000), fromSysfs
	}
	why := fmt.Sprintf("rate: %s is none", shown(text))
	if err != nil {
		why = "rate: " + reason(err)
	}
	b.assumed("port "+name, "speed", strconv.Itoa(unknownEthMbps), why)
	return unknownEthMbps, ""
}

// guid returns what the ports of one card have in common. The device keeps its
// bytes in the order of networks, and NCCL reads them as a number of the host.
func (b *builder) guid(name, folder string) string {
	text, err := b.text(path.Join(folder, guidFile))
	v, errNumber := strconv.ParseUint(strings.ReplaceAll(text, ":", ""), 16, 64)
	if err != nil || errNumber != nil {
		b.assumed("port "+name, "guid", "its own", guidFile+" tells none")
		return ""
	}
	var swapped uint64
	for range 8 {
		swapped = swapped<<8 | v&0xff
		v >>= 8
	}
	return fmt.Sprintf("0x%x", swapped)
}

// netGDR says whether RDMA devices may access the memory of GPUs: the kernel lets
// them, or the driver hands it out as dma-buf.
func (b *builder) netGDR() string {
	const subject = "RDMA devices"
	for _, file := range peerModules {
		if b.exists(file) {
			b.measured(subject, "gdr", "1", "/"+file)
			return "1"
		}
	}
	asked := true
	for _, g := range b.gpus {
		if g.cuda == nil {
			asked = false
		} else if !g.cuda.DMABuf {
			b.measured(subject, "gdr", "0", fromCUDA)
			return "0"
		}
	}
	if !asked {
		b.assumed(subject, "gdr", "0", "nvidia_peermem is not loaded; "+b.noCUDA()+", which may support dma-buf")
		return "0"
	}
	b.assumed(subject, "gdr", "1", "CUDA supports dma-buf, and that the cards do is not asked")
	return "1"
}

// natural compares names with numbers in them, which count as numbers: mlx5_2 is
// before mlx5_10, and rdmap79s0 before rdmap113s0.
func natural(x, y string) int {
	restX, restY := x, y
	for restX != "" && restY != "" {
		headX, nX, tailX := cutNumber(restX)
		headY, nY, tailY := cutNumber(restY)
		if c := cmp.Or(cmp.Compare(headX, headY), cmp.Compare(nX, nY)); c != 0 {
			return c
		}
		restX, restY = tailX, tailY
	}
	return cmp.Or(cmp.Compare(len(restX), len(restY)), cmp.Compare(x, y))
}

// cutNumber cuts a name at its first number; -1 stands for none.
func cutNumber(s string) (head string, n int, tail string) {
	from := strings.IndexAny(s, digits)
	if from < 0 {
		return s, -1, ""
	}
	tail = strings.TrimLeft(s[from:], digits)
	n, err := strconv.Atoi(s[from : len(s)-len(tail)])
	if err != nil {
		n = -1 // as good as any that has so many digits
	}
	return s[:from], n, tail
}

const digits = "0123456789"

// ports adds the network ports: those of verbs if there are any, else those of
// sockets. A port that a file has keeps its place and what is said of it there.
func (b *builder) ports() {
	known := b.fileNets()
	ports := []port(nil)
	if !b.cfg.Nets.NoVerbs {
		ports = b.verbs()
	}
	if len(ports) == 0 {
		ports = b.sockets()
	}
	if len(ports) == 0 && len(known) > 0 {
		b.assumed("ports of "+b.cfg.File.Name, "dev", "as in the file", "no network port is found here, by sysfs")
		return
	}
	for name, net := range known {
		// What is not there any more has no number, and so takes no part.
		if !slices.ContainsFunc(ports, func(p port) bool { return p.name == name }) {
			net.Unset("dev")
		}
	}
	for i, p := range ports {
		net := known[p.name]
		if net == nil {
			net = b.child(b.nic(p), topo.ElemNet)
			net.Set("name", p.name)
		}
		net.Set("dev", strconv.Itoa(i))
		b.init(net, "latency", "0")
		b.init(net, "speed", strconv.Itoa(p.mbps))
		b.init(net, "port", p.number)
		if p.guid != "" {
			b.init(net, "guid", p.guid)
		}
		b.init(net, "maxconn", p.maxConn)
		b.init(net, "gdr", p.gdr)
		if p.from != "" {
			b.measured("port "+p.name, "speed", strconv.Itoa(p.mbps), p.from)
		}
	}
}

// nic returns the nic element of a port: of its PCI device, or, if it has none, of
// the first CPU.
func (b *builder) nic(p port) *topo.Element {
	parent := b.root.Children[0]
	if p.device != "" {
		// The error is none: the name is an address.
		bus, _ := topo.ParseBusID(path.Base(p.device))
		parent = b.device(bus, "card", "0x02")
	} else {
		b.measured("port "+p.name, "place", "no PCI device, so below NUMA node "+parent.Text("numaid"), fromSysfs)
	}
	if e := firstChild(parent, topo.ElemNIC); e != nil {
		return e
	}
	return b.child(parent, topo.ElemNIC)
}
