package detect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"
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
	var gdr said
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
			if gdr == (said{}) {
				gdr = b.netGDR()
			}
			p := port{name: name, device: b.card(folder), speed: b.rate(at), guid: b.guid(folder), gdr: gdr}
			p.maxConn = said{value: verbsMaxConn, why: "sysfs does not tell, and it matters to communicators of so many ranks only"}
			n, _ := strconv.Atoi(number)
			p.number = said{value: strconv.Itoa(n + cards[p.device])}
			if p.device != "" {
				cards[p.device]++
			}
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
func (b *builder) rate(at string) said {
	text, err := b.text(at + "/rate")
	number, unit, _ := strings.Cut(text, " ")
	gbps, errNumber := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return unknownSpeedOf("rate: " + reason(err))
	case errNumber != nil || gbps <= 0 || gbps >= 1e5 || !strings.HasPrefix(unit, "Gb/sec"):
		return unknownSpeedOf(fmt.Sprintf("rate: %s is none", shown(text)))
	}
	return said{value: strconv.Itoa(int(gbps * 1000)), from: fromSysfs}
}

// guid returns what the ports of one card have in common. The device keeps its
// bytes in the order of networks, and NCCL reads them as a number of the host.
func (b *builder) guid(folder string) said {
	text, err := b.text(path.Join(folder, guidFile))
	v, errNumber := strconv.ParseUint(strings.ReplaceAll(text, ":", ""), 16, 64)
	if err != nil || errNumber != nil {
		return said{why: guidFile + " tells none, so it has a card of its own"}
	}
	return said{value: fmt.Sprintf("0x%x", bits.ReverseBytes64(v))}
}

// netGDR says whether RDMA devices may access the memory of GPUs: the kernel lets
// them, or the driver hands it out as dma-buf.
func (b *builder) netGDR() said {
	for _, file := range peerModules {
		if b.exists(file) {
			return said{value: "1", from: "/" + file}
		}
	}
	asked := true
	for _, g := range b.gpus {
		if g.cuda == nil {
			asked = false
		} else if !g.cuda.DMABuf {
			return said{value: "0", from: fromCUDA}
		}
	}
	if !asked {
		return said{value: "0", why: "nvidia_peermem is not loaded; " + b.noCUDA() + ", which may support dma-buf"}
	}
	return said{value: "1", why: "CUDA supports dma-buf, and that the cards do is not asked"}
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
