package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomSystem returns a machine of n GPUs, sometimes of several kinds or with two
// ranks each: sockets, switches in up to two levels, NVLinks between some pairs, to
// a switch or to the CPU, C2C, and network cards of one or two ports.
func randomSystem(t *testing.T, r *rand.Rand, n int) *System {
	arches := []string{`arch="x86_64" vendor="AuthenticAMD"`, `arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"`, `arch="arm64"`, `arch="ppc64"`}
	speeds := []string{"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"}
	sms := []int{70, 80, 86, 90, 100}
	arch := arches[r.IntN(len(arches))]
	sm := sms[r.IntN(len(sms))]
	fabric, mixed, shared, toCPU := r.IntN(4) == 0, r.IntN(6) == 0, r.IntN(8) == 0, r.IntN(4) == 0

	links := make([]strings.Builder, n)
	bus := func(gpu int) string { return fmt.Sprintf("0000:%02x:00.0", 0x80+gpu) }
	for a := range n {
		switch {
		case fabric:
			fmt.Fprintf(&links[a], `<nvlink target="0:f0:0.0" count="%d" tclass="0x068000"/>`, 1+r.IntN(18))
		case toCPU && arch == arches[3]:
			fmt.Fprintf(&links[a], `<nvlink target="0:f0:0.0" count="%d" tclass="0x068001"/>`, 1+r.IntN(3))
		}
		if toCPU && arch == arches[2] {
			fmt.Fprintf(&links[a], `<c2c bw="%d" count="10"/>`, 1000*(1+r.IntN(40)))
		}
		for b := range a {
			if !fabric && r.IntN(3) == 0 {
				count := 1 + r.IntN(4)
				fmt.Fprintf(&links[a], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(b), count)
				fmt.Fprintf(&links[b], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(a), count)
			}
		}
	}
	pci := func(bus, class, inner string) string {
		return fmt.Sprintf(`<pci busid="%s" class="%s" link_speed="%s" link_width="16">%s</pci>`, bus, class, speeds[r.IntN(len(speeds))], inner)
	}
	sockets := 1 + r.IntN(2)
	cpus := make([][2]string, sockets) // below the socket, below its switch
	for a := range n {
		if mixed {
			sm = sms[r.IntN(len(sms))]
		}
		inner := fmt.Sprintf(`<gpu dev="%d" sm="%d" rank="%d" gdr="1">%s</gpu>`, a, sm, a, links[a].String())
		if shared {
			inner += fmt.Sprintf(`<gpu dev="%d" sm="%d" rank="%d" gdr="1"/>`, a, sm, n+a)
		}
		cpus[r.IntN(sockets)][r.IntN(2)] += pci(bus(a), "0x030200", inner)
	}
	below := randomCards(r, pci, n)
	for _, card := range below {
		cpus[r.IntN(sockets)][r.IntN(2)] += card
	}
	var file strings.Builder
	file.WriteString(`<system version="1">`)
	for s, below := range cpus {
		inner := below[0]
		if below[1] != "" {
			inner += pci(fmt.Sprintf("0000:%02x:00.0", s), "0x060400", below[1])
		}
		fmt.Fprintf(&file, `<cpu numaid="%d" %s>%s</cpu>`, s, arch, inner)
	}
	file.WriteString(`</system>`)
	s, err := parseSystem("random", []byte(file.String()))
	require.NoError(t, err)
	return s
}

// splitSystem returns a machine of two sockets whose GPUs reach one another best by
// network, of two to five GPUs and one to three cards each.
func splitSystem(t *testing.T, r *rand.Rand) *System {
	var file strings.Builder
	file.WriteString(`<system version="1">`)
	bus := func(gpu int) string { return fmt.Sprintf("0000:%02x:00.0", 0x80+gpu) }
	gpus, ports := 0, 0
	for socket := range 2 {
		n := 2 + r.IntN(4)
		links := make([]strings.Builder, n)
		for a := range n {
			for b := range a {
				if r.IntN(2) == 0 {
					count := 1 + r.IntN(3)
					fmt.Fprintf(&links[a], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(gpus+b), count)
					fmt.Fprintf(&links[b], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(gpus+a), count)
				}
			}
		}
		const gen4 = `link_speed="16.0 GT/s PCIe" link_width="16"`
		fmt.Fprintf(&file, `<cpu numaid="%d" arch="x86_64" vendor="AuthenticAMD"><pci busid="0000:%02x:00.0" class="0x060400" %s>`, socket, socket, gen4)
		for a := range n {
			fmt.Fprintf(&file, `<pci busid="%s" class="0x030200" %s><gpu dev="%d" sm="80" rank="%d" gdr="1">%s</gpu></pci>`, bus(gpus), gen4, gpus, gpus, links[a].String())
			gpus++
		}
		for range 1 + r.IntN(3) {
			fmt.Fprintf(&file, `<pci busid="0000:%02x:00.0" class="0x020000" %s><nic><net name="mlx5_%d" dev="%d" speed="400000" port="1" guid="0x%x" gdr="1"/></nic></pci>`,
				0x40+ports, gen4, ports, ports, 0x100+ports)
			ports++
		}
		file.WriteString(`</pci></cpu>`)
	}
	file.WriteString(`</system>`)
	s, err := parseSystem("split", []byte(file.String()))
	require.NoError(t, err)
	return s
}

// randomCards returns up to most network cards, made by pci. Every third is slow to answer.
func randomCards(r *rand.Rand, pci func(bus, class, inner string) string, most int) []string {
	railed := r.IntN(3) == 0
	rails := func(port int) string {
		if !railed || r.IntN(4) == 0 {
			return ""
		}
		return fmt.Sprintf(` rail="%d" plane="%d"`, port/2, r.IntN(2))
	}
	var cards []string
	ports := 0
	for card := range 1 + r.IntN(most) {
		var nets string
		speed := []int{25000, 100000, 200000, 400000}[r.IntN(4)]
		for port := range 1 + r.IntN(2) {
			nets += fmt.Sprintf(`<net name="mlx5_%d" dev="%d" speed="%d" latency="%d" port="%d" guid="0x%x" gdr="%d" coll="%d"%s/>`,
				ports, ports, speed, 5*(card%3/2), port+1, 0x100+card, r.IntN(2), r.IntN(2), rails(ports))
			ports++
		}
		cards = append(cards, pci(fmt.Sprintf("0000:%02x:00.0", 0x40+card), "0x020000", "<nic>"+nets+"</nic>"))
	}
	return cards
}

// loads is what the channels of a graph take of each link, GB/s, and how many
// times they do, computed afresh.
type loads map[*Link]struct {
	bw    float64
	times int
}

func (l loads) add(link *Link, bw float64) {
	load := l[link]
	load.bw += bw
	load.times++
	l[link] = load
}

// hop adds bw along the path between two nodes: PCI links carry a fifth more of
// peer-to-peer traffic through Intel CPUs, an eighth of what is not sent by a GPU
// comes back from those before Ampere, and all from POWER's NVLinks.
func (l loads) hop(from, to *Node, bw float64) {
	p := from.Path(to)
	intel := p.Type == PathPHB && from.Type == NodeGPU && slices.ContainsFunc(p.Links, func(l *Link) bool {
		return l.To.Type == NodeCPU && l.To.CPU.Vendor == VendorIntel
	})
	for at, links := from, p.Links; len(links) > 0; links = links[1:] {
		link, there := links[0], bw
		if intel && link.Type == LinkPCI {
			there *= 1.2
		}
		l.add(link, there)
		if dev := link.To; dev.Type == NodeDEV && dev.GPU.SM < 80 && from.Type != NodeGPU {
			l.add(reverse(at, link), there/8)
		}
		if cpu := link.To; cpu.Type == NodeCPU && cpu.CPU.Arch == ArchPOWER && link.Type == LinkNVL {
			l.add(reverse(at, link), there)
		}
		at = link.To
	}
}

// loadsOf returns what the channels of g take.
func loadsOf(v *System, g *Graph) loads {
	l := loads{}
	rank := map[int]*Node{}
	for _, n := range v.Nodes[NodeGPU] {
		rank[n.GPU.Rank] = n
	}
	port := map[int64]*Node{}
	for _, n := range v.Nodes[NodeNET] {
		port[n.key()] = n
	}
	intra, inter := float64(g.BWIntra), float64(g.BWInter)
	for _, ch := range g.Channels {
		first, last := rank[ch.Ranks[0]], rank[ch.Ranks[len(ch.Ranks)-1]]
		switch g.Pattern {
		case PatternNVLS:
			nvs := v.Nodes[NodeNVS][0]
			for _, gpu := range v.Nodes[NodeGPU] {
				share := intra
				if gpu == first {
					share *= 2
				}
				l.hop(nvs, gpu, share)
				l.hop(gpu, nvs, share)
			}
		case PatternCollNetDirect:
			for _, other := range ch.Ranks[1:] {
				l.hop(first, rank[other], intra/float64(len(ch.Ranks)-1))
				l.hop(rank[other], first, intra/float64(len(ch.Ranks)-1))
			}
		default:
			for i := 1; i < len(ch.Ranks); i++ {
				l.hop(rank[ch.Ranks[i-1]], rank[ch.Ranks[i]], intra)
			}
		}
		if len(ch.Nets) == 0 {
			if g.Pattern == PatternRing && first != last {
				l.hop(last, first, intra)
			}
			continue
		}
		in, out := port[ch.Nets[0]], port[ch.Nets[1]]
		l.hop(in, first, inter)
		switch {
		case g.Pattern == PatternRing:
			l.hop(last, out, inter)
		case g.Pattern == PatternBalancedTree:
			l.hop(first, out, inter/2)
			l.hop(rank[ch.Ranks[1]], out, inter/2)
		default:
			l.hop(first, out, inter)
		}
	}
	return l
}
