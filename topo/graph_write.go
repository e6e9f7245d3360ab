package topo

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/ncclgo/ncclgo/internal/result"
)

// graphOrder is the order of graphs in a file.
var graphOrder = [NumGraphs]GraphID{GraphRing, GraphTree, GraphCollNetDirect, GraphCollNetChain, GraphNVLS}

// WriteGraphs writes a graph file as NCCL does. A graph that is nil is written
// without channels. s has the devices of the ranks: a rank that it lacks is an
// invalid argument, and what w returns comes back.
func WriteGraphs(w io.Writer, graphs *Graphs, s *System) error {
	devs := map[int]uint64{}
	for _, n := range s.Nodes[NodeGPU] {
		devs[n.GPU.Rank] = hostID(n.Host, uint64(n.GPU.Dev))
	}
	root := &Element{Name: "graphs", Attrs: []Attr{{"version", strconv.Itoa(GraphVersion)}}}
	for _, id := range graphOrder {
		g := graphs[id]
		if g == nil {
			g = &Graph{ID: id, Pattern: patterns[id][0]}
		}
		e, err := g.element(devs)
		if err != nil {
			return err
		}
		root.Children = append(root.Children, e)
	}
	var b bytes.Buffer
	root.write(&b, 0)
	_, err := b.WriteTo(w)
	return err
}

// element returns the graph's element.
func (g *Graph) element(devs map[int]uint64) (*Element, error) {
	same := 0
	if g.SameChannels {
		same = 1
	}
	e := &Element{Name: "graph"}
	e.Set("id", strconv.Itoa(int(g.ID)))
	e.Set("pattern", strconv.Itoa(int(g.Pattern)))
	e.Set("crossnic", strconv.Itoa(int(g.CrossNIC)))
	e.Set("nchannels", strconv.Itoa(len(g.Channels)))
	e.Set("speedintra", shortFloat(g.BWIntra))
	e.Set("speedinter", shortFloat(g.BWInter))
	e.Set("latencyinter", shortFloat(g.LatencyInter))
	e.Set("typeintra", g.TypeIntra.String())
	e.Set("typeinter", g.TypeInter.String())
	e.Set("samechannels", strconv.Itoa(same))
	for _, c := range g.Channels {
		channel := &Element{Name: "channel"}
		if len(c.Nets) > 0 {
			channel.add("net", "dev", shortHex(uint64(c.Nets[0])))
		}
		for _, rank := range c.Ranks {
			dev, ok := devs[rank]
			if !ok {
				return nil, result.New(result.InvalidArgument, "write graphs", "the %v graph has rank %d, which the system lacks", g.ID, rank)
			}
			channel.add("gpu", "dev", shortHex(dev), "rank", strconv.Itoa(rank))
		}
		if len(c.Nets) > 0 {
			channel.add("net", "dev", shortHex(uint64(c.Nets[len(c.Nets)-1])))
		}
		e.Children = append(e.Children, channel)
	}
	return e, nil
}

// add adds a child with attributes, given as names and values in turn.
func (e *Element) add(name string, attrs ...string) {
	child := &Element{Name: name}
	for i := 0; i < len(attrs); i += 2 {
		child.Set(attrs[i], attrs[i+1])
	}
	e.Children = append(e.Children, child)
}

// shortFloat writes a number as C's %g does.
func shortFloat(f float32) string {
	return strconv.FormatFloat(float64(f), 'g', 6, 32)
}

// shortHex writes a number as C's %#lx does: 0 has no prefix.
func shortHex(n uint64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}

// hostShift is where the number of a host begins in the name of a device or a
// network port (NCCL_TOPO_ID, NCCL v2.30 src/graph/topo.h).
const hostShift = 56

// maxHosts is the most hosts of a system: what is left of a name.
const maxHosts = 1 << (64 - hostShift)

// hostID is the name of a device or a network port in graphs.
func hostID(host int, id uint64) uint64 { return uint64(host)<<hostShift | id }
