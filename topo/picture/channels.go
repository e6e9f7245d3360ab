package picture

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// Channels draws the channels of a graph over the system or view that it was found
// in: the ranks on a circle, the network ports in use around them, and each
// different channel as a line of its own colour, with what it carries in the key
// below. A ring comes back to where it began, by the network if it came from there;
// what is no ring ends at its last rank. A rank that the system does not have is an
// error.
func Channels(w io.Writer, s *topo.System, g *topo.Graph) error {
	routes, err := newRoutes(s, g)
	if err != nil {
		return err
	}
	heading := fmt.Sprintf("%s, %v: %s, %s GB/s", title(s), g.Pattern, count(len(g.Channels), "channel"), gbs(g.BW()))
	width := textWidth(heading) * 1.3
	keys := make([]string, len(routes))
	for i, r := range routes {
		keys[i] = r.key(g)
		width = max(width, swatch+textWidth(keys[i]))
	}
	c := newCircle(s, routes, width+2*margin)
	c.drawSockets()
	for i, r := range routes {
		c.drawRoute(i, r)
	}
	c.drawStops()
	for i, key := range keys {
		c.drawKey(i, key)
	}
	content := append([]*element{text("title", margin, 26, heading)}, c.lines...)
	return write(w, c.width, c.height+margin/2, heading, summary(s), append(content, c.stops...)...)
}

// route is what channels go along that are the same.
type route struct {
	channels []int
	stops    []*topo.Node // in order
	ring     bool         // back to the first
}

// newRoutes returns the different routes of a graph.
func newRoutes(s *topo.System, g *topo.Graph) ([]*route, error) {
	var all []*route
	known := map[string]*route{}
	for i := range g.Channels {
		ch := &g.Channels[i]
		key := fmt.Sprint(ch.Ranks, ch.Nets)
		if r := known[key]; r != nil {
			r.channels = append(r.channels, i)
			continue
		}
		r := &route{channels: []int{i}, ring: g.Pattern == topo.PatternRing && len(ch.Nets) == 0}
		for _, rank := range ch.Ranks {
			if rank < 0 || rank >= s.NRanks() || s.RankGPU(rank) == nil {
				return nil, fmt.Errorf("channel %d of the %v graph goes over rank %d, which %s does not have", i, g.ID, rank, s.Name)
			}
			r.stops = append(r.stops, s.RankGPU(rank))
		}
		r.addPorts(s, g, ch)
		known[key] = r
		all = append(all, r)
	}
	return all, nil
}

// addPorts puts the network ports of a channel at both ends of its route: a ring
// goes out by the second. Of a tree, the second port is where the second rank may
// go out, and is left out.
func (r *route) addPorts(s *topo.System, g *topo.Graph, ch *topo.Channel) {
	if len(ch.Nets) == 0 {
		return
	}
	if in := s.Port(ch.Nets[0]); in != nil {
		r.stops = append([]*topo.Node{in}, r.stops...)
	}
	if out := s.Port(ch.Nets[len(ch.Nets)-1]); out != nil && g.Pattern == topo.PatternRing {
		r.stops = append(r.stops, out)
	}
}

// key says which channels go along r, and where.
func (r *route) key(g *topo.Graph) string {
	words := make([]string, len(r.stops))
	for i, stop := range r.stops {
		words[i] = stopName(stop)
		if i > 0 && (stop.Type == topo.NodeNET || r.stops[i-1].Type == topo.NodeNET) {
			words[i] = "→ " + words[i]
		}
	}
	const most = 40 // words of a line
	if len(words) > most {
		words = append(words[:most-1], "… "+words[len(words)-1])
	}
	noun, each := "channel", ""
	if len(r.channels) > 1 {
		noun, each = "channels", " each"
	}
	return fmt.Sprintf("%s %s, %s GB/s%s: %s", noun, topo.Spans(r.channels), gbs(g.BWIntra), each, strings.Join(words, " "))
}

// stopName names a rank or a network port.
func stopName(n *topo.Node) string {
	if n.Type == topo.NodeNET {
		return fmt.Sprintf("NET %d", n.Net.Dev)
	}
	return strconv.Itoa(n.GPU.Rank)
}
