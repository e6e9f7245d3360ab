package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/bound"
	"github.com/ncclgo/ncclgo/topo/picture"
)

const graphIntro = `nccl-run graph shows how collectives would run on a machine, or on several that are
equal: paths between GPUs and network cards, the channels that the search finds,
and the rings and trees that the ranks of all nodes agree on. Nothing runs.

Usage:
  nccl-run graph [flags]
`

const graphNotes = `
Formats: text, for people: the machine as a tree, with the bandwidth in GB/s of the
link above each part; paths, as nvidia-smi topo -m has them; channels, rings, trees.
xml, what the first node found, as NCCL writes it to NCCL_GRAPH_DUMP_FILE, before the
nodes agree; --set NCCL_GRAPH_FILE=file takes it in place of a search. json, what the
nodes agree on (docs/FORMATS.md). svg, a picture of the first node's rings.

Text and svg show better channels than NCCL's where there are any, as communicators
have them, and say so; xml and json show NCCL's. --set NCCLGO_BETTER_CHANNELS=0 or 1
decides it for all.

Ranks are numbered by the GPUs' dev, not as the file has them. Of the environment
nothing counts but what --set gives (docs/ENVIRONMENT.md). What is odd in a file is
said on standard error.

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

// graphOptions is what the command line of nccl-run graph says.
type graphOptions struct {
	hostOptions
	format string
	bound  bool
}

func newGraph(p *Process) *cobra.Command {
	o := &graphOptions{hostOptions: newHostOptions(), format: "text"}
	flags := &flagSet{}
	o.addTo(flags)
	add := flags.section("Output")
	add("format", "", choice(&o.format, "name", "format", "text", "xml", "json", "svg"), "text, xml, json or svg (default text)")
	add("bound", "", boolean(&o.bound), "in text, also how much rings and trees could carry at most")
	flags.sections[len(flags.sections)-1].flags.Lookup("bound").NoOptDefVal = "true"
	cmd := newCommand("graph", flags.help(graphIntro, graphNotes), func(*cobra.Command) error {
		return graph(p, o)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// graph finds the graphs of the hosts and writes them. What is odd goes to standard
// error.
func graph(p *Process, o *graphOptions) error {
	if o.bound && o.format != "text" {
		return refusef("--bound is for text; --format %s has no place for it", o.format)
	}
	// The formats that are NCCL's hold what NCCL computes.
	h, err := o.connect(p, search{better: o.format == "text" || o.format == "svg"})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.set)) {
		if !slices.Contains(nccl.GraphVariables(), name) {
			fmt.Fprintf(p.Stderr, "nccl-run: %s changes no graph\n", name)
		}
	}
	w := p.Stdout
	switch o.format {
	case "xml":
		err = topo.WriteGraphs(w, h.members[0].Found(), h.system)
	case "json":
		err = report.NewGraph(h.system.Name, o.hosts, h.members[0].Found(), h.layout).Write(w)
	case "svg":
		err = drawRings(w, h)
	default:
		err = graphText(w, h, o.bound)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// maxTextNodes bounds the nodes of a host that are shown for people.
const maxTextNodes = 16

// graphText writes everything for people: the machine, then what each node of the
// first host sees and found, as hosts are equal, then what all nodes agree on.
func graphText(w io.Writer, h *hosts, withBound bool) error {
	var b strings.Builder
	b.WriteString(h.system.String() + "\n")
	l, hosts := h.layout, h.settings.Hosts.Hosts
	if l.NNodes() > hosts {
		fmt.Fprintf(&b, "%d nodes to a host: GPUs that reach one another best by network are on different nodes\n\n", l.NNodes()/hosts)
	}
	nodes := l.NNodes() / hosts
	for node := range min(nodes, maxTextNodes) {
		view, err := h.view(node)
		if err != nil {
			return err
		}
		b.WriteString("paths, GB/s\n" + view.Matrix() + "\n" + l.NodeString(node) + "\n")
		if withBound {
			b.WriteString(boundText(view, l.Graphs(node)) + "\n")
		}
	}
	if nodes > maxTextNodes {
		fmt.Fprintf(&b, "and %d nodes more\n\n", nodes-maxTextNodes)
	}
	b.WriteString(l.String())
	_, err := io.WriteString(w, b.String())
	return err
}

// drawRings draws the rings of the first node.
func drawRings(w io.Writer, h *hosts) error {
	view, err := h.view(0)
	if err != nil {
		return err
	}
	return picture.Channels(w, view, h.members[0].Found()[topo.GraphRing])
}

// boundText writes what rings and trees carry beside what they could at most.
func boundText(view *topo.System, graphs *topo.Graphs) string {
	var b strings.Builder
	b.WriteString("rings and trees, GB/s: found, at most\n")
	bounds := bound.Of(view)
	for id, most := range []float64{topo.GraphRing: bounds.Ring, topo.GraphTree: bounds.Tree} {
		found := bound.Carried(graphs[id])
		switch {
		case math.IsInf(most, 1):
			fmt.Fprintf(&b, "  %-4v  %8.4g  nothing limits a single GPU\n", topo.GraphID(id), found)
		case most == 0:
			fmt.Fprintf(&b, "  %-4v  %8.4g  %8.4g  a guess: no link leads to all others\n", topo.GraphID(id), found, most)
		default:
			fmt.Fprintf(&b, "  %-4v  %8.4g  %8.4g  %3.0f%%\n", topo.GraphID(id), found, most, 100*found/most)
		}
	}
	return b.String()
}
