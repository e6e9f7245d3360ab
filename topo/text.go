package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String returns the system for people: a tree of CPUs, switches, GPUs and
// network cards, each with the bandwidth of its link to what is above it in
// GB/s, and the other links of CPUs and GPUs.
func (s *System) String() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s: %s", s.Name, plural(len(s.Nodes[NodeDEV]), "GPU"))
	if ranks := len(s.Nodes[NodeGPU]); ranks != len(s.Nodes[NodeDEV]) {
		fmt.Fprintf(b, " (%s)", plural(ranks, "rank"))
	}
	fmt.Fprintf(b, ", %s, %s", plural(len(s.Nodes[NodeCPU]), "CPU"), plural(len(s.Nodes[NodeNET]), "network port"))
	if len(s.Hosts) > 1 {
		fmt.Fprintf(b, ", %d hosts", len(s.Hosts))
	}
	b.WriteString("\n")
	for _, cpu := range s.Nodes[NodeCPU] {
		s.writeNode(b, cpu, nil, 1)
	}
	return b.String()
}

// writeNode writes a line for the node at the end of link up, then what is
// below it.
func (s *System) writeNode(b *strings.Builder, n *Node, up *Link, level int) {
	b.WriteString(strings.Repeat("  ", level) + s.describe(n))
	switch {
	case up == nil:
	case up.BW >= bwLOC:
		b.WriteString("  [unlimited]")
	default:
		fmt.Fprintf(b, "  [%s %s]", up.Type, gbs(up.BW))
	}
	for _, side := range n.Links {
		if side.Type == LinkNVL || side.Type == LinkC2C || side.Type == LinkSYS {
			fmt.Fprintf(b, "  %s %s -> %s", side.Type, gbs(side.BW), s.short(side.To))
		}
	}
	b.WriteString("\n")
	for i := range n.Links {
		l := &n.Links[i]
		down := l.Type == LinkNET && l.To.Type == NodeNET || l.Type == LinkPCI && !above(l.To, n)
		if down {
			s.writeNode(b, l.To, l, level+1)
		}
	}
}

// above reports whether a lies on n's way to its CPU.
func above(a, n *Node) bool {
	for n.Type != NodeCPU {
		// The link up is the last PCI link of a node: see sortLinks.
		up := (*Node)(nil)
		for _, l := range slices.Backward(n.Links) {
			if l.Type == LinkPCI {
				up = l.To
				break
			}
		}
		if up == a {
			return true
		}
		if up == nil {
			return false
		}
		n = up
	}
	return false
}

// short names a node in a few words.
func (s *System) short(n *Node) string {
	switch n.Type {
	case NodeGPU, NodeDEV:
		part := ""
		if n.GPU.Part >= 0 {
			part = fmt.Sprintf(" part %d", n.GPU.Part)
		}
		return fmt.Sprintf("GPU %d%s%s", n.GPU.Dev, part, s.onHost(n))
	case NodeCPU:
		return fmt.Sprintf("CPU %d%s", n.CPU.NUMAID, s.onHost(n))
	case NodeNVS:
		return "NVSwitch"
	case NodeNET:
		return fmt.Sprintf("NET %d%s", n.Net.Dev, s.onHost(n))
	case NodeNIC:
		if n.ID == 0 {
			return "NIC on no PCI bus" + s.onHost(n)
		}
		fallthrough
	default:
		return fmt.Sprintf("%s %v%s", n.Type, BusID(n.ID), s.onHost(n))
	}
}

func (s *System) onHost(n *Node) string {
	if len(s.Hosts) < 2 {
		return ""
	}
	return fmt.Sprintf(" of host %d", n.Host)
}

// describe names a node and says what is known of it.
func (s *System) describe(n *Node) string {
	name := s.short(n)
	switch n.Type {
	case NodeCPU:
		return fmt.Sprintf("%s (%s)", name, n.CPU)
	case NodeDEV:
		var ranks []string
		for _, l := range n.Links {
			if l.Type == LinkLOC && l.To.Type == NodeGPU {
				ranks = append(ranks, fmt.Sprint(l.To.GPU.Rank))
			}
		}
		text := fmt.Sprintf("%s sm_%d %v", name, n.GPU.SM, n.GPU.BusID)
		switch len(ranks) {
		case 0: // of another node than the view's
			return text
		case 1:
			return text + ", rank " + ranks[0]
		default:
			return text + ", ranks " + strings.Join(ranks, " ")
		}
	case NodeNET:
		if n.Net.Name != "" {
			return fmt.Sprintf("%s %s", name, printable(n.Net.Name))
		}
	}
	return name
}

// String names a CPU's architecture, maker and generation.
func (c *CPU) String() string {
	switch c.Arch {
	case ArchARM:
		return "arm64"
	case ArchPOWER:
		return "ppc64"
	case ArchOther:
		return "unknown"
	}
	switch c.Vendor {
	case VendorIntel:
		return fmt.Sprintf("x86_64, Intel family %d model %#x", c.Family, c.Model)
	case VendorAMD:
		return "x86_64, AMD"
	case VendorZhaoxin:
		return "x86_64, Zhaoxin"
	default:
		return "x86_64"
	}
}

// String returns the graph for people: its size, then each different channel on a
// line, between the network ports that it begins and ends at.
func (g *Graph) String() string {
	var b strings.Builder
	b.WriteString(g.ID.String())
	if pattern := g.Pattern.String(); pattern != g.ID.String() && g.ID != GraphCollNetDirect {
		b.WriteString(", pattern " + pattern)
	}
	fmt.Fprintf(&b, ": %s of %s GB/s, %s", plural(len(g.Channels), "channel"), gbs(g.BWIntra), g.TypeIntra)
	if len(g.Channels) > 0 && len(g.Channels[0].Nets) > 0 {
		fmt.Fprintf(&b, "; network %s GB/s, %s", gbs(g.BWInter), g.TypeInter)
	}
	if g.Instead > 0 {
		fmt.Fprintf(&b, "; instead of NCCL's, which carry %s GB/s together", gbs(g.Instead))
	}
	b.WriteString("\n")
	writeChannels(&b, len(g.Channels), func(c int) string {
		ch := &g.Channels[c]
		var words []string
		for i, rank := range ch.Ranks {
			if i == 0 && len(ch.Nets) > 0 {
				words = append(words, "net "+netName(ch.Nets[0])+":")
			}
			words = append(words, strconv.Itoa(rank))
		}
		if len(ch.Nets) > 1 {
			words = append(words, ":net "+netName(ch.Nets[1]))
		}
		return strings.Join(words, " ")
	})
	return b.String()
}

// netName names a network port of a channel, with its host if that is not the
// first.
func netName(id int64) string {
	switch host := uint64(id) >> hostShift; {
	case id == none:
		return "none"
	case host > 0:
		return fmt.Sprintf("%d of host %d", id&(1<<hostShift-1), host)
	default:
		return strconv.FormatInt(id, 10)
	}
}

// writeChannels writes what each of n channels is, those that are the same on one
// line.
func writeChannels(b *strings.Builder, n int, text func(channel int) string) {
	var lines []string
	same := map[string][]int{}
	for c := range n {
		line := text(c)
		if same[line] == nil {
			lines = append(lines, line)
		}
		same[line] = append(same[line], c)
	}
	for _, line := range lines {
		word := "channel"
		if len(same[line]) > 1 {
			word = "channels"
		}
		fmt.Fprintf(b, "  %s %s: %s\n", word, Spans(same[line]), line)
	}
}

// Spans writes rising numbers for people, those in a row as first-last: "0-3,7".
func Spans(numbers []int) string {
	var words []string
	for lo := 0; lo < len(numbers); {
		hi := lo
		for hi+1 < len(numbers) && numbers[hi+1] == numbers[hi]+1 {
			hi++
		}
		word := strconv.Itoa(numbers[lo])
		if hi > lo {
			word += "-" + strconv.Itoa(numbers[hi])
		}
		words = append(words, word)
		lo = hi + 1
	}
	return strings.Join(words, ",")
}

// gbs formats a bandwidth in GB/s.
func gbs(bw float32) string {
	if bw >= bwLOC {
		return "unlimited"
	}
	return fmt.Sprintf("%.4g", bw)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
