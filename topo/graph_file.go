package topo

import (
	"fmt"
	"maps"
	"slices"
)

// GraphVersion is the version of the graph file format (NCCL_GRAPH_XML_VERSION,
// NCCL v2.30 src/graph/xml.h).
const GraphVersion = 1

// graphSchema is version 1 of the graph file, which NCCL writes to
// NCCL_GRAPH_DUMP_FILE and reads from NCCL_GRAPH_FILE (NCCL v2.30
// src/graph/search.cc).
var graphSchema = schema{
	root:    "graphs",
	version: GraphVersion,
	form:    `a graph file is XML with the root element <graphs version="1">`,
	elements: map[string]elementRule{
		"graphs": {
			attrs:    []attrRule{{name: "version", kind: intValue, required: true}},
			children: []string{"graph"},
		},
		"graph": {
			attrs: []attrRule{
				{name: "id", kind: intValue, required: true, min: 0, max: NumGraphs - 1},
				{name: "pattern", kind: intValue, required: true, min: int(PatternBalancedTree), max: int(PatternCollNetDirect)},
				{name: "crossnic", kind: intValue, required: true, min: int(CrossNICNever), max: int(CrossNICPairs)},
				{name: "nchannels", kind: intValue, required: true, min: 0, max: MaxChannels},
				{name: "speedintra", kind: floatValue, required: true},
				{name: "speedinter", kind: floatValue, required: true},
				{name: "latencyinter", kind: floatValue},
				{name: "typeintra", required: true},
				{name: "typeinter", required: true},
				{name: "samechannels", kind: intValue, required: true, min: 0, max: 1},
			},
			children: []string{"channel"},
		},
		"channel": {children: []string{"net", "gpu"}},
		"net":     {attrs: []attrRule{{name: "dev", kind: hexValue, required: true}}},
		"gpu": {attrs: []attrRule{
			{name: "dev", kind: hexValue, required: true},
			{name: "rank", kind: intValue, min: 0, max: 1 << 24},
		}},
	},
}

// patterns are the patterns that a graph may have, the one the search begins with
// first.
var patterns = [NumGraphs][]Pattern{
	GraphRing:          {PatternRing},
	GraphTree:          {PatternBalancedTree, PatternSplitTree, PatternTree},
	GraphCollNetChain:  {PatternTree},
	GraphNVLS:          {PatternNVLS, PatternTree},
	GraphCollNetDirect: {PatternCollNetDirect, PatternTree},
}

// ParseGraphs reads a graph file for the ranks of s. A graph without channels is
// nil, as one that the file does not have: it is to be searched for. name appears
// in errors, which are [*FileError] values.
func ParseGraphs(name string, data []byte, s *System) (*Graphs, error) {
	doc, err := parse(name, data, &graphSchema)
	if err != nil {
		return nil, err
	}
	r := graphReader{doc: doc, system: s, ranks: map[uint64][]int{}, known: map[int]bool{}, ports: map[int64]bool{none: true}}
	for _, n := range s.Nodes[NodeGPU] {
		dev := hostID(n.Host, uint64(n.GPU.Dev))
		r.ranks[dev] = append(r.ranks[dev], n.GPU.Rank)
		r.known[n.GPU.Rank] = true
	}
	for _, n := range s.Nodes[NodeNET] {
		r.ports[n.key()] = true
	}
	var graphs Graphs
	seen := map[GraphID]*Element{}
	for _, e := range doc.Root.Children {
		id := GraphID(e.Int("id", 0))
		if other := seen[id]; other != nil {
			return nil, doc.errorAt(e, "each graph is described once", "graph %d (%v) again; it is at line %d", id, id, other.Line)
		}
		seen[id] = e
		if graphs[id], err = r.graph(e, id); err != nil {
			return nil, err
		}
	}
	return &graphs, nil
}

// graphReader makes graphs of the elements of a graph file.
type graphReader struct {
	doc    *Document
	system *System
	ranks  map[uint64][]int // by the device that the file names
	known  map[int]bool     // the ranks of the system
	ports  map[int64]bool   // the network ports of the system
}

// graph returns the graph of e, nil if it has no channel.
func (r *graphReader) graph(e *Element, id GraphID) (*Graph, error) {
	g := &Graph{
		ID:           id,
		Pattern:      Pattern(e.Int("pattern", 0)),
		NRanks:       len(r.known),
		BWIntra:      e.Float("speedintra"),
		BWInter:      e.Float("speedinter"),
		LatencyInter: e.Float("latencyinter"),
		CrossNIC:     CrossNIC(e.Int("crossnic", 0)),
		SameChannels: e.Int("samechannels", 0) == 1,
	}
	if !slices.Contains(patterns[id], g.Pattern) {
		return nil, r.doc.errorAt(e, fmt.Sprintf("pattern %d is allowed", patterns[id][0]), "pattern %d (%v) of graph %d (%v)", g.Pattern, g.Pattern, id, id)
	}
	if g.Pattern == PatternTree && id != GraphTree && id != GraphCollNetChain && g.NRanks > 1 {
		return nil, r.doc.errorAt(e, fmt.Sprintf("pattern %d is allowed", patterns[id][0]), "pattern %d (%v) of graph %d (%v) with %d GPUs", g.Pattern, g.Pattern, id, id, g.NRanks)
	}
	var err error
	if g.TypeIntra, err = ParsePathType(e.Text("typeintra")); err != nil {
		return nil, r.doc.errorAt(e, "correct typeintra", "%v", err)
	}
	if g.TypeInter, err = ParsePathType(e.Text("typeinter")); err != nil {
		return nil, r.doc.errorAt(e, "correct typeinter", "%v", err)
	}
	if n := e.Int("nchannels", 0); n != len(e.Children) {
		return nil, r.doc.errorAt(e, "the two must agree", "nchannels=%d, and %d <channel>", n, len(e.Children))
	}
	if most := channelLimit(id); len(e.Children) > most {
		return nil, r.doc.errorAt(e, fmt.Sprintf("at most %d are allowed", most), "%d channels of graph %d (%v)", len(e.Children), id, id)
	}
	for _, child := range e.Children {
		c, err := r.channel(child, id)
		if err != nil {
			return nil, err
		}
		g.Channels = append(g.Channels, *c)
	}
	if len(g.Channels) == 0 {
		return nil, nil
	}
	g.MinChannels, g.MaxChannels = len(g.Channels), len(g.Channels)
	g.setGPUs(r.system)
	return g, nil
}

// setGPUs sets what a graph says of GPUs.
func (g *Graph) setGPUs(s *System) {
	for i, n := range s.Nodes[NodeGPU] {
		if i == 0 {
			g.MinSM = n.GPU.SM
		}
		g.MinSM = min(g.MinSM, n.GPU.SM)
		g.MaxSM = max(g.MaxSM, n.GPU.SM)
		g.RanksPerGPU = max(g.RanksPerGPU, n.GPU.DEV.GPU.Ranks)
	}
}

// channel returns the channel of e.
func (r *graphReader) channel(e *Element, id GraphID) (*Channel, error) {
	c := new(Channel)
	seen := map[int]*Element{}
	for _, child := range e.Children {
		dev := child.Hex("dev")
		if child.Name == "net" {
			if !r.ports[int64(dev)] {
				return nil, r.doc.errorAt(child, "was the file written for another machine?", "%s has no network port %#x", r.system.Name, dev)
			}
			c.Nets = append(c.Nets, int64(dev))
			continue
		}
		rank, err := r.rank(child, dev)
		if err != nil {
			return nil, err
		}
		if other := seen[rank]; other != nil {
			return nil, r.doc.errorAt(child, "a channel has each GPU once", "the GPU of rank %d again; it is at line %d", rank, other.Line)
		}
		seen[rank] = child
		c.Ranks = append(c.Ranks, rank)
	}
	want := len(r.known)
	if id == GraphNVLS {
		want = 1
	}
	if len(c.Ranks) != want {
		return nil, r.doc.errorAt(e, fmt.Sprintf("a channel of graph %d (%v) has %d here; was the file written for another machine?", id, id, want), "a channel of %d GPUs", len(c.Ranks))
	}
	switch n := len(c.Nets); {
	case n == 0 && r.system.Inter:
		return nil, r.doc.errorAt(e, "channels that lead to other nodes have two; was the file written for one node alone?", "a channel of 0 network cards")
	case n != 0 && n != 2:
		return nil, r.doc.errorAt(e, "a channel has two, the first and the last, or none", "a channel of %d network cards", n)
	}
	return c, nil
}

// rank returns the rank of a gpu element, by its attribute rank or else by its
// device.
func (r *graphReader) rank(e *Element, dev uint64) (int, error) {
	if e.Has("rank") {
		rank := e.Int("rank", -1)
		if !r.known[rank] {
			return 0, r.doc.errorAt(e, r.others(rank), "rank %d is not on the node that reads the file", rank)
		}
		return rank, nil
	}
	switch ranks := r.ranks[dev]; len(ranks) {
	case 0:
		return 0, r.doc.errorAt(e, "was the file written for another machine?", "%s has no GPU %#x", r.system.Name, dev)
	case 1:
		return ranks[0], nil
	default:
		return 0, r.doc.errorAt(e, "an attribute rank is required", "several ranks on GPU %#x", dev)
	}
}

// others says what a file may name instead of a rank that the node lacks.
func (r *graphReader) others(rank int) string {
	ranks := slices.Sorted(maps.Keys(r.known))
	if rank >= r.system.NRanks() {
		return fmt.Sprintf("%s has %s", r.system.Name, rankSpans(ranks))
	}
	return fmt.Sprintf("that has %s of %s; a graph file is for hosts that are one node", rankSpans(ranks), r.system.Name)
}

// channelLimit is the most channels of a graph.
func channelLimit(id GraphID) int {
	if id == GraphNVLS || id == GraphCollNetDirect {
		return MaxChannels
	}
	return maxSearchChannels
}
