package topo

import (
	"fmt"
	"strings"
)

// Matrix returns the paths of a view for people: a row for each rank's GPU, and in
// it the type of the path to each GPU and to each network port, as "nvidia-smi topo
// -m" has it. A bandwidth in GB/s follows each type.
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
	cell := func(from *Node, to column) string {
		p := from.Path(to.node)
		switch {
		case from == to.node:
			return "X"
		case p == nil || p.Type == PathDIS:
			return "-"
		default:
			return fmt.Sprintf("%v %s", p.Type, gbs(p.BW))
		}
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
	return b.String()
}
