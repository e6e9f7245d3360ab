package cli

import (
	"errors"
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

Ranks are numbered by the GPUs' dev, not as the file has them. Of the environment
nothing counts but what --set gives (docs/ENVIRONMENT.md). What is odd in a file is
said on standard error.

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

// graphOptions is what the command line of nccl-run graph says.
type graphOptions struct {
	topology string
	hosts    int
	gpus     int
	set      map[string]string
	format   string
	bound    bool
}

func newGraph(p *Process) *cobra.Command {
	o := &graphOptions{topology: simDefaults.topology, hosts: 1, set: map[string]string{}, format: "text"}
	flags := &flagSet{}
	add := flags.section("Machines")
	add("topo", "", text(&o.topology, "name|file"),
		"the machine: "+machineNames()+", or a topology file of NCCL (default dgx-h100)")
	add("nodes", "", integer(&o.hosts, 1, anyCount), "how many of it, joined by their network cards (default 1)")
	add("gpus", "", integer(&o.gpus, 1, anyCount), "only the first GPUs of each (default: all)")
	add = flags.section("Settings")
	add("set", "", assignment(o.set), "a variable of NCCL for this command: NCCL_CROSS_NIC=0; may be repeated")
	add = flags.section("Output")
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

// assignment reads one NAME=VALUE of those that a flag collects.
func assignment(set map[string]string) *value {
	return &value{kind: "name=value", parse: func(text string) error {
		name, v, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", text)
		}
		// Those of communicators are for whoever has a list of settings: they change
		// nothing here.
		known := append(nccl.GraphVariables(), nccl.Variables()...)
		slices.Sort(known)
		known = slices.Compact(known)
		if !slices.Contains(known, name) {
			return unknown("variable", name, known)
		}
		set[name] = v
		return nil
	}}
}

// maxNotes bounds the lines that say what is odd in a file.
const maxNotes = 20

// writeNotes says what is odd in a file: a line for each kind, with the first place.
func writeNotes(w io.Writer, system *topo.System) {
	times := map[string]int{}
	for _, n := range system.Notes {
		times[n.Text]++
	}
	written := 0
	for _, n := range system.Notes {
		switch {
		case times[n.Text] == 0: // said
			continue
		case written == maxNotes:
			fmt.Fprintf(w, "nccl-run: %s: and %d more\n", system.Name, len(times)-written)
			return
		case times[n.Text] > 1:
			fmt.Fprintf(w, "nccl-run: %s (%d times)\n", n.In(system.Name), times[n.Text])
		default:
			fmt.Fprintf(w, "nccl-run: %s\n", n.In(system.Name))
		}
		times[n.Text] = 0
		written++
	}
}

// graph finds the graphs of the hosts and writes them. What is odd goes to standard
// error.
func graph(p *Process, o *graphOptions) error {
	if o.bound && o.format != "text" {
		return refusef("--bound is for text; --format %s has no place for it", o.format)
	}
	system, err := loadTopology(o.topology)
	if err != nil {
		return err
	}
	writeNotes(p.Stderr, system)
	if o.gpus > 0 {
		if system, err = system.FirstGPUs(o.gpus); err != nil {
			return refusef("--gpus: %w", err)
		}
	}
	settings, err := nccl.ReadGraphSettings(func(name string) (string, bool) {
		v, ok := o.set[name]
		return v, ok
	})
	if err != nil {
		// The operation that the error names is that of a program.
		var invalid *nccl.Error
		if errors.As(err, &invalid) {
			err = invalid.Err
		}
		return refusef("--set: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.set)) {
		if !slices.Contains(nccl.GraphVariables(), name) {
			fmt.Fprintf(p.Stderr, "nccl-run: %s changes no graph\n", name)
		}
	}
	if file := settings.GraphFile; file != "" {
		data, err := readMachineFile(file)
		if err != nil {
			return refusef("--set NCCL_GRAPH_FILE: %w", err)
		}
		settings.Hosts.GraphFile = &topo.GraphFile{Name: file, Data: data}
	}
	settings.Hosts.Hosts = o.hosts
	if settings.Fabric {
		if system, err = system.Fabric(o.hosts); err != nil {
			return refusef("--set NCCL_MNNVL_ENABLE: %w", err)
		}
		settings.Hosts.Hosts = 1
	}
	members, err := topo.Members(system, settings.Hosts)
	var invalid *nccl.Error
	switch {
	case errors.As(err, &invalid):
		return refusef("--nodes: %w", invalid.Err)
	case err != nil:
		return refuseInput(err)
	}
	warnSimple(p.Stderr, members, len(members) > 1 && len(system.Nodes[topo.NodeNET]) == 0)
	sayBetter(p.Stderr, members)
	layout, err := topo.Connect(members, settings.Layout)
	if err != nil {
		return refuseInput(err)
	}
	w := p.Stdout
	switch o.format {
	case "xml":
		err = topo.WriteGraphs(w, members[0].Found(), system)
	case "json":
		err = report.NewGraph(system.Name, o.hosts, members[0].Found(), layout).Write(w)
	case "svg":
		err = drawRings(w, system, settings, members[0].Found(), layout)
	default:
		err = graphText(w, system, o, settings, layout)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// warnSimple says which graphs are no more than a guess, once for nodes that are
// equal. apart says that there is no network between the nodes.
func warnSimple(w io.Writer, members []topo.Member, apart bool) {
	why := "no path for the %v graph was found"
	if apart {
		why = "no network port leads to other nodes for the %v graph"
	}
	said := map[*topo.Graph]bool{}
	for _, m := range members {
		for _, g := range m.Graphs {
			if g != nil && g.Simple && !said[g] {
				said[g] = true
				fmt.Fprintf(w, "nccl-run: node of rank %d: "+why+", so one channel takes the GPUs as they come\n", m.Ranks[0], g.ID)
			}
		}
	}
}

// sayBetter says which graphs are not NCCL's, once for nodes that are equal.
func sayBetter(w io.Writer, members []topo.Member) {
	said := map[*topo.Graphs]bool{}
	for _, m := range members {
		var list []string
		for _, g := range m.Graphs {
			if g != nil && g.Instead > 0 {
				list = append(list, fmt.Sprintf("%vs of %.4g GB/s instead of %.4g", g.ID, g.BW(), g.Instead))
			}
		}
		if list != nil && !said[m.Graphs] {
			said[m.Graphs] = true
			fmt.Fprintf(w, "nccl-run: node of rank %d: %s; --set NCCLGO_BETTER_CHANNELS=0 keeps NCCL's\n", m.Ranks[0], strings.Join(list, ", "))
		}
	}
}

// refuseInput refuses what is wrong with a file or a number that was given.
func refuseInput(err error) error {
	var file *topo.FileError
	if errors.As(err, &file) || errors.Is(err, nccl.ErrInvalidArgument) {
		return refused{err}
	}
	return err
}

// maxTextNodes bounds the nodes of a host that are shown for people.
const maxTextNodes = 16

// graphText writes everything for people: the machine, then what each node of the
// first host sees and found, as hosts are equal, then what all nodes agree on.
func graphText(w io.Writer, system *topo.System, o *graphOptions, settings *nccl.GraphSettings, l *topo.Layout) error {
	var b strings.Builder
	b.WriteString(system.String() + "\n")
	params, hosts := settings.Hosts.Params, settings.Hosts.Hosts
	params.NRanks = l.NRanks()
	if l.NNodes() > hosts {
		fmt.Fprintf(&b, "%d nodes to a host: GPUs that reach one another best by network are on different nodes\n\n", l.NNodes()/hosts)
	}
	nodes := l.NNodes() / hosts
	for node := range min(nodes, maxTextNodes) {
		params.Rank = l.NodeRanks(node)[0]
		view, err := system.View(params)
		if err != nil {
			return err
		}
		b.WriteString("paths, GB/s\n" + view.Matrix() + "\n" + l.NodeString(node) + "\n")
		if o.bound {
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
func drawRings(w io.Writer, system *topo.System, settings *nccl.GraphSettings, found *topo.Graphs, l *topo.Layout) error {
	params := settings.Hosts.Params
	params.NRanks = l.NRanks()
	view, err := system.View(params)
	if err != nil {
		return err
	}
	return picture.Channels(w, view, found[topo.GraphRing])
}

// boundText writes what rings and trees carry beside what they could at most.
func boundText(view *topo.System, graphs *topo.Graphs) string {
	var b strings.Builder
	b.WriteString("rings and trees, GB/s: found, at most\n")
	bounds := bound.Of(view)
	for id, most := range []float64{topo.GraphRing: bounds.Ring, topo.GraphTree: bounds.Tree} {
		found := float64(graphs[id].BW())
		if math.IsInf(most, 1) {
			fmt.Fprintf(&b, "  %-4v  %8.4g  nothing limits a single GPU\n", topo.GraphID(id), found)
			continue
		}
		fmt.Fprintf(&b, "  %-4v  %8.4g  %8.4g  %3.0f%%\n", topo.GraphID(id), found, most, 100*found/most)
	}
	return b.String()
}
