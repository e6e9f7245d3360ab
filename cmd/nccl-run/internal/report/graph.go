package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
	"github.com/ncclgo/ncclgo/topo"
)

// GraphVersion is the version of the JSON document of nccl-run graph.
const GraphVersion = 1

const graphFormat = "ncclgo graph"

// Graph is what nccl-run graph found, in the form of the JSON document of
// docs/FORMATS.md.
type Graph struct {
	Format   string `json:"format"` // always graphFormat
	Version  int    `json:"version"`
	Topology string `json:"topology"`
	Hosts    int    `json:"nNodes"`
	Nodes    int    `json:"nvlDomains"`
	NRanks   int    `json:"nRanks"`
	// Graphs are those of the first node after the nodes agreed, by name.
	Graphs       map[string]SearchGraph `json:"graphs"`
	Channels     int                    `json:"nChannels"`
	NVLSChannels int                    `json:"nvlsChannels"`
	P2PChannels  int                    `json:"p2pnChannels"`
	P2PPerPeer   int                    `json:"p2pnChannelsPerPeer"`
	RankToNode   []int                  `json:"rankToNode"`
	// Rings[channel] begins at rank 0.
	Rings [][]int `json:"rings"`
	// Trees[channel][rank] is up, three down, depth.
	Trees [][][5]int `json:"trees"`
}

// SearchGraph is a graph of a node.
type SearchGraph struct {
	ID           int            `json:"id"`
	Pattern      int            `json:"pattern"`
	CrossNIC     int            `json:"crossNic"`
	CollNet      int            `json:"collNet"`
	MinChannels  int            `json:"minChannels"`
	MaxChannels  int            `json:"maxChannels"`
	NChannels    int            `json:"nChannels"`
	BWIntra      nineDigits     `json:"bwIntra"`      // GB/s
	BWInter      nineDigits     `json:"bwInter"`      // GB/s
	LatencyInter nineDigits     `json:"latencyInter"` // µs
	TypeIntra    string         `json:"typeIntra"`
	TypeInter    string         `json:"typeInter"`
	SameChannels int            `json:"sameChannels"`
	Hops         int            `json:"nHops"`
	Channels     []GraphChannel `json:"channels,omitempty"`
}

// nineDigits is a number that is written with the digits that tell it from every
// other float32, as C programs do: read as a float64 it is then the same number
// as theirs, 1.20000005 and not 1.2.
type nineDigits float32

// MarshalJSON writes at most nine digits.
func (f nineDigits) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 9, 64), nil
}

// GraphChannel is a channel of a graph.
type GraphChannel struct {
	Ranks []int   `json:"intra"`
	Nets  []int64 `json:"inter,omitempty"`
}

// NewGraph makes the document of a layout over so many hosts. found is what the
// first node's search found.
func NewGraph(topology string, hosts int, found *topo.Graphs, l *topo.Layout) *Graph {
	d := &Graph{
		Format: graphFormat, Version: GraphVersion, Topology: topology,
		Hosts: hosts, Nodes: l.NNodes(), NRanks: l.NRanks(),
		Graphs: map[string]SearchGraph{}, Channels: l.Channels, NVLSChannels: l.NVLSChannels,
		P2PChannels: l.P2PChannels, P2PPerPeer: l.P2PChannelsPerPeer,
	}
	for id, g := range l.Graphs(0) {
		if own := found[id]; g == nil {
			g = &topo.Graph{ID: own.ID, Pattern: own.Pattern, MinChannels: own.MinChannels, MaxChannels: own.MaxChannels}
		}
		d.Graphs[topo.GraphID(id).String()] = searchGraph(g)
	}
	for rank := range l.NRanks() {
		d.RankToNode = append(d.RankToNode, l.Node(rank))
	}
	for c := range l.Channels {
		d.Rings = append(d.Rings, l.Ring(c, 0))
		rows := make([][5]int, l.NRanks())
		for rank := range rows {
			t := l.Tree(c, rank)
			rows[rank] = [5]int{t.Up, t.Down[0], t.Down[1], t.Down[2], t.Depth}
		}
		d.Trees = append(d.Trees, rows)
	}
	return d
}

func searchGraph(g *topo.Graph) SearchGraph {
	s := SearchGraph{
		ID: int(g.ID), Pattern: int(g.Pattern), CrossNIC: int(g.CrossNIC),
		MinChannels: g.MinChannels, MaxChannels: g.MaxChannels, NChannels: len(g.Channels),
		BWIntra: nineDigits(g.BWIntra), BWInter: nineDigits(g.BWInter), LatencyInter: nineDigits(g.LatencyInter),
		TypeIntra: g.TypeIntra.String(), TypeInter: g.TypeInter.String(), Hops: g.Hops,
	}
	if g.ID == topo.GraphCollNetChain || g.ID == topo.GraphCollNetDirect {
		s.CollNet = 1
	}
	if g.SameChannels {
		s.SameChannels = 1
	}
	for _, c := range g.Channels {
		s.Channels = append(s.Channels, GraphChannel{c.Ranks, c.Nets})
	}
	return s
}

// Write writes the document.
func (d *Graph) Write(w io.Writer) error {
	// Rings and trees would take a line for each number if they were indented.
	return json.NewEncoder(w).Encode(d)
}

// DecodeGraph reads a document that Write wrote. Other formats and versions, and
// unknown fields, are errors.
func DecodeGraph(r io.Reader) (*Graph, error) {
	d := new(Graph)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, graphFormat, GraphVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run graph: %w", err)
	}
	return d, nil
}
