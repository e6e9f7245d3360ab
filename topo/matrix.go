package topo

import (
	"fmt"
	"strings"
)

// pathTexts says in a few words what each type of path is.
var pathTexts = [NumPathTypes]string{
	PathLOC: "on the same GPU",
	PathNVL: "NVLink",
	PathNVB: "NVLink through another GPU",
	PathC2C: "chip to chip",
	PathPIX: "one PCIe switch at most",
	PathPXB: "several PCIe switches",
	PathP2C: "chip to chip to the CPU, then PCIe",
	PathPXN: "NVLink to a GPU next to the network card",
	PathPHB: "PCIe through a CPU",
	PathSYS: "through several CPUs",
	PathNET: "by network",
	PathDIS: "no path",
}

// Matrix returns the paths of a view for people: a row for each rank's GPU, and in
// it the type of the path to each GPU and to each network port, as "nvidia-smi topo
// -m" has it. A bandwidth in GB/s follows each type. The last line explains the
// types that occur.
func (s *System) Matrix() string {
	type column struct {
		node *Node
		name string
	}
	var columns []column
	for _, n := range s.Nodes[NodeGPU] {
		columns = append(columns, column{n, fmt.Sprintf("rank %d", n.GPU.Rank)})
	}
	for _, n := range s.Nodes[NodeNET] {
		columns = append(columns, column{n, s.short(n)})
	}
	var occurs [NumPathTypes]bool
	cell := func(from *Node, to column) string {
		if from == to.node {
			return "X"
		}
		p := from.Path(to.node)
		occurs[p.Type] = true
		if p.Type == PathDIS {
			return p.Type.String()
		}
		return fmt.Sprintf("%v %s", p.Type, gbs(p.BW))
	}
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = len(c.name)
		for _, from := range s.Nodes[NodeGPU] {
			width[i] = max(width[i], len(cell(from, c)))
		}
	}
	var b strings.Builder
	line := func(head string, text func(i int) string) {
		var l strings.Builder
		fmt.Fprintf(&l, "%-10s", head)
		for i := range columns {
			fmt.Fprintf(&l, "%-*s  ", width[i], text(i))
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line("", func(i int) string { return columns[i].name })
	for _, from := range s.Nodes[NodeGPU] {
		line(fmt.Sprintf("rank %d", from.GPU.Rank), func(i int) string { return cell(from, columns[i]) })
	}
	var legend []string
	for t, text := range pathTexts {
		if occurs[t] {
			legend = append(legend, fmt.Sprintf("%v: %s", PathType(t), text))
		}
	}
	if legend != nil {
		b.WriteString(strings.Join(legend, "; ") + "\n")
	}
	return b.String()
}
