package detect

import (
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/ncclgo/ncclgo/topo"
)

// said is what is said of a port: a value, and who told it, or why nobody did.
type said struct{ value, from, why string }

// port is a network port, with the attributes that it has unless a file says others.
type port struct {
	name   string
	device string // sysfs folder of its PCI device, "" if it has none
	doubt  string // why NCCL may leave it out, "" if it does not

	speed   said // Mbit/s
	number  said
	guid    said
	maxConn said
	gdr     said
}

func (p *port) subject() string { return "port " + p.name }

// unknownMbps is the speed of a port of which none is known, in Mbit/s (NCCL v2.30
// src/transport/net_socket.cc).
const unknownMbps = "10000"

// unknownSpeedOf returns the speed of a port that tells none.
func unknownSpeedOf(why string) said { return said{value: unknownMbps, why: why} }

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
	for _, name := range slices.SortedFunc(maps.Keys(known), natural) {
		// What has no number takes no part.
		if net := known[name]; net.Has("dev") && !slices.ContainsFunc(ports, func(p port) bool { return p.name == name }) {
			net.Unset("dev")
			b.odd("port "+name, "dev", "none", b.cfg.File.Name, "it is not a port here, so it is left out")
		}
	}
	for i := range ports {
		b.port(&ports[i], i, known[ports[i].name])
	}
}

// port adds a port with number dev, to the net element that a file has of it, if it
// is not nil.
func (b *builder) port(p *port, dev int, net *topo.Element) {
	if net == nil {
		net = b.child(b.nic(p), topo.ElemNet)
		net.Set("name", p.name)
		if p.doubt != "" {
			b.assumed(p.subject(), "is used", "", p.doubt)
		}
	}
	net.Set("dev", strconv.Itoa(dev))
	for _, attr := range []struct {
		name string
		said
	}{
		{"latency", said{value: "0"}}, {"speed", p.speed}, {"port", p.number}, {"guid", p.guid}, {"maxconn", p.maxConn}, {"gdr", p.gdr},
	} {
		if net.Has(attr.name) {
			continue
		}
		b.init(net, attr.name, attr.value)
		if attr.from != "" || attr.why != "" {
			b.add(Fact{p.subject(), attr.name, attr.value, attr.from, attr.why})
		}
	}
}

// nic returns the nic element of a port: of its PCI device, or, if it has none, of
// the first CPU.
func (b *builder) nic(p *port) *topo.Element {
	parent := b.root.Children[0]
	if p.device != "" {
		// The error is none: the name is an address.
		bus, _ := topo.ParseBusID(path.Base(p.device))
		parent = b.device(bus, "card", "0x02")
	} else {
		b.measured(p.subject(), "place", "no PCI device, so below NUMA node "+parent.Text("numaid"), fromSysfs)
	}
	if e := firstChild(parent, topo.ElemNIC); e != nil {
		return e
	}
	return b.child(parent, topo.ElemNIC)
}
