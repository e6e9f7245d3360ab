package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// topologyFormat and topologyVersion are those of the JSON document of nccl-run topo.
const (
	topologyFormat  = "ncclgo topology"
	topologyVersion = 1
)

// Correct says how what was detected is corrected.
const Correct = "to correct this: nccl-run topo --dump FILE, change FILE, and set NCCL_TOPO_FILE to its name"

// Topology is what nccl-run topo found, in the form of the JSON document of
// docs/FORMATS.md.
type Topology struct {
	Format   string         `json:"format"` // always topologyFormat
	Version  int            `json:"version"`
	Topology string         `json:"topology"` // name or file
	Nodes    []TopologyNode `json:"nodes"`
	Links    []TopologyLink `json:"links"`
	Facts    []TopologyFact `json:"facts"`
	Notes    []string       `json:"notes"`
}

// TopologyNode is a node of the machine's graph.
type TopologyNode struct {
	ID    int    `json:"id"` // position in the list
	Type  string `json:"type"`
	Label string `json:"label"`
	// BusID is that of GPUs, switches and cards; Rank that of GPU nodes.
	BusID string `json:"busId,omitempty"`
	Rank  *int   `json:"rank,omitempty"`
}

// TopologyLink is one direction of a link.
type TopologyLink struct {
	From int        `json:"from"`
	To   int        `json:"to"`
	Type string     `json:"type"`
	BW   nineDigits `json:"bw"` // GB/s
}

// TopologyFact is what is said of a part of the machine.
type TopologyFact struct {
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	From    string `json:"from,omitempty"` // who told it; nobody: it is assumed
	Why     string `json:"why,omitempty"`
}

// NewTopology returns the document of a machine.
func NewTopology(s *topo.System, facts []detect.Fact) *Topology {
	t := &Topology{
		Format: topologyFormat, Version: topologyVersion, Topology: s.Name,
		Nodes: []TopologyNode{}, Links: []TopologyLink{}, Facts: []TopologyFact{}, Notes: []string{},
	}
	ids := map[*topo.Node]int{}
	for n := range allNodes(s) {
		ids[n] = len(t.Nodes)
		node := TopologyNode{ID: len(t.Nodes), Type: n.Type.String(), Label: s.Label(n)}
		switch n.Type {
		case topo.NodeGPU:
			node.BusID, node.Rank = n.GPU.BusID.String(), &n.GPU.Rank
		case topo.NodeDEV:
			node.BusID = n.GPU.BusID.String()
		case topo.NodePCI, topo.NodeNIC:
			node.BusID = topo.BusID(n.ID).String()
		}
		t.Nodes = append(t.Nodes, node)
	}
	for n := range allNodes(s) {
		for _, l := range n.Links {
			t.Links = append(t.Links, TopologyLink{ids[n], ids[l.To], l.Type.String(), nineDigits(l.BW)})
		}
	}
	for _, f := range facts {
		t.Facts = append(t.Facts, TopologyFact(f))
	}
	for _, n := range s.Notes {
		t.Notes = append(t.Notes, n.In(s.Name))
	}
	return t
}

// allNodes yields the nodes of a machine, by type.
func allNodes(s *topo.System) func(yield func(*topo.Node) bool) {
	return func(yield func(*topo.Node) bool) {
		for _, list := range s.Nodes {
			for _, n := range list {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// Write writes the document and a newline.
func (t *Topology) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(t)
}

// DecodeTopology reads a document and refuses one of another format or version, or
// with fields that this version does not have.
func DecodeTopology(r io.Reader) (*Topology, error) {
	d := new(Topology)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, topologyFormat, topologyVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run topo: %w", err)
	}
	return d, nil
}

// WriteTopology writes a machine for people: the tree, what was measured, and what
// was assumed.
func WriteTopology(w io.Writer, s *topo.System, facts []detect.Fact) error {
	var b strings.Builder
	b.WriteString(s.String())
	measured := table{}
	for _, f := range bySubject(facts) {
		if !f.Assumed() && f.Why == "" {
			measured.add(f.Subject, f.Name, f.Value, f.From)
		}
	}
	if len(measured) > 0 {
		b.WriteString("\nmeasured\n")
		measured.write(&b)
	}
	if len(s.Notes) > 0 {
		b.WriteString("\nassumed, or odd\n")
		for _, n := range s.Notes {
			text := n.Text
			if n.Line > 0 {
				text = n.In(s.Name)
			}
			b.WriteString("  " + text + "\n")
		}
		if len(facts) > 0 {
			b.WriteString("  " + Correct + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bySubject returns facts with those about one thing together, in the order in which
// things appear.
func bySubject(facts []detect.Fact) []detect.Fact {
	first := map[string]int{}
	for _, f := range facts {
		if _, known := first[f.Subject]; !known {
			first[f.Subject] = len(first)
		}
	}
	sorted := slices.Clone(facts)
	slices.SortStableFunc(sorted, func(a, b detect.Fact) int { return first[a.Subject] - first[b.Subject] })
	return sorted
}

// table is rows of columns.
type table [][]string

func (t *table) add(columns ...string) { *t = append(*t, columns) }

// write writes the rows with columns aligned, and what a row has in common with the
// one before only once.
func (t table) write(b *strings.Builder) {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for c, text := range row {
			widths[c] = max(widths[c], len(text))
		}
	}
	before := ""
	for _, row := range t {
		subject := row[0]
		if subject == before {
			subject = ""
		}
		before = row[0]
		line := fmt.Sprintf("  %-*s", widths[0], subject)
		for c, text := range row[1:] {
			line += fmt.Sprintf("  %-*s", widths[c+1], text)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
