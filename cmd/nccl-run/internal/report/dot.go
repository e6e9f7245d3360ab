package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// shapes are those of nodes in Graphviz's language; others are boxes.
var shapes = map[topo.NodeType]string{topo.NodeCPU: "box3d", topo.NodeNVS: "hexagon", topo.NodeNET: "ellipse", topo.NodePCI: "diamond"}

// WriteDOT writes a machine in Graphviz's language: links of both directions with
// one bandwidth are one line. Ranks are named by their GPUs.
func WriteDOT(w io.Writer, s *topo.System) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q {\n  node [shape=box]\n", s.Name)
	ids := map[*topo.Node]int{}
	for n := range allNodes(s) {
		if n.Type == topo.NodeGPU {
			continue
		}
		ids[n] = len(ids)
		shape := ""
		if name := shapes[n.Type]; name != "" {
			shape = " shape=" + name
		}
		fmt.Fprintf(&b, "  n%d [label=%q%s]\n", ids[n], s.Label(n), shape)
	}
	for n := range allNodes(s) {
		for _, l := range n.Links {
			if n.Type == topo.NodeGPU || l.To.Type == topo.NodeGPU || ids[l.To] < ids[n] && back(n, l) {
				continue
			}
			fmt.Fprintf(&b, "  n%d -- n%d [label=\"%v %.4g\"]\n", ids[n], ids[l.To], l.Type, l.BW)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// back reports whether the other end of a link has it too, with the same bandwidth.
func back(from *topo.Node, l topo.Link) bool {
	for _, other := range l.To.Links {
		if other.To == from && other.Type == l.Type && other.BW == l.BW {
			return true
		}
	}
	return false
}
