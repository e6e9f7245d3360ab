package detect

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Sockets of NCCL (NCCL v2.30 src/transport/net_socket.cc): at most 16 interfaces,
// each with as many connections.
const (
	maxInterfaces = 16
	socketMaxConn = "65536"
)

// netFolder is where sysfs lists network interfaces.
const netFolder = "sys/class/net"

// netInterface is a network interface that carries traffic.
type netInterface struct {
	name  string
	index int
}

// sockets returns the ports that NCCL's sockets use: network interfaces that are
// up, are not part of another and are not for the host itself.
func (b *builder) sockets() []port {
	names, err := b.entries(netFolder)
	if err != nil {
		b.assumed("network interfaces", "ports", "none", netFolder+": "+reason(err))
		return nil
	}
	var all []netInterface
	unordered := false
	for _, name := range names {
		if !b.carries(name) {
			continue
		}
		index, err := b.integer(path.Join(netFolder, name, "ifindex"))
		if err != nil {
			index, unordered = len(all), true
		}
		all = append(all, netInterface{name, index})
	}
	// The order of getifaddrs, which is the kernel's.
	slices.SortStableFunc(all, func(x, y netInterface) int { return cmp.Compare(x.index, y.index) })
	all = b.cfg.Nets.interfaces(all)
	if unordered && len(all) > 1 {
		b.assumed("network interfaces", "order", "by name", "ifindex does not tell it of all")
	}
	if len(all) > maxInterfaces {
		b.odd("network interfaces", "ports", strconv.Itoa(maxInterfaces), fromSysfs, "there are more; name those to use with NCCL_SOCKET_IFNAME")
		all = all[:maxInterfaces]
	}
	var ports []port
	for i, n := range all {
		ports = append(ports, port{
			name: n.name, device: b.interfaceDevice(n.name), doubt: "NCCL leaves out interfaces without an address, and sysfs does not tell which have one",
			speed: b.speed(n.name), number: said{value: "0"},
			guid: said{value: "0x" + strconv.FormatInt(int64(i), 16)}, maxConn: said{value: socketMaxConn}, gdr: said{value: "0"},
		})
	}
	return ports
}

// carries reports whether an interface is up and not a member of a bond or bridge,
// whose traffic is that of the whole.
func (b *builder) carries(name string) bool {
	folder := path.Join(netFolder, name)
	state, err := b.text(folder + "/operstate")
	switch {
	case err != nil && name != bondingMasters:
		b.odd("port "+name, "state", "not used", fromSysfs, "operstate: "+reason(err))
		return false
	case err != nil || state != "up" && state != "unknown":
		return false
	}
	if b.exists(folder + "/master") {
		return false
	}
	if state == "up" || name == loopback {
		return true
	}
	// What has no carrier to speak of, as tunnels, is "unknown" when it is up.
	flags, err := b.integer(folder + "/flags")
	return err == nil && flags&flagUp != 0
}

// flagUp is the flag of an interface that is up (IFF_UP, netdevice(7)).
const flagUp = 1

// bondingMasters is a file among the interfaces.
const bondingMasters = "bonding_masters"

// loopback is the interface of the host to itself.
const loopback = "lo"

// speed returns the speed of an interface in Mbit/s.
func (b *builder) speed(name string) said {
	n, err := b.integer(path.Join(netFolder, name, "speed"))
	switch {
	case err != nil:
		return unknownSpeedOf("speed: " + reason(err))
	case n <= 0:
		return unknownSpeedOf("it says that it does not know its speed, as virtual ones do")
	}
	return said{value: strconv.Itoa(n), from: fromSysfs}
}

// interfaceDevice returns the sysfs folder of the PCI device that an interface
// belongs to, "" for one that belongs to none: bonds, bridges, virtio. The folder
// of a PCI device is named by its address.
func (b *builder) interfaceDevice(name string) string {
	at, err := b.resolve(path.Join(netFolder, name, "device"))
	if err != nil {
		// Without the link, the folder is below the device's: DEVICE/net/NAME.
		if at, err = b.resolve(path.Join(netFolder, name)); err != nil {
			return ""
		}
		at = strings.TrimSuffix(at, "/net/"+path.Base(at))
	}
	if !isAddress(path.Base(at)) {
		return ""
	}
	return at
}
