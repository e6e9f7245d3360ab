package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// hostOptions is what a command line says of hosts whose channels are to be found.
type hostOptions struct {
	topology string
	hosts    int
	gpus     int
	set      map[string]string
}

func newHostOptions() hostOptions {
	return hostOptions{topology: simDefaults.topology, hosts: 1, set: map[string]string{}}
}

// addTo defines the flags, in the sections of the help text.
func (o *hostOptions) addTo(flags *flagSet) {
	add := flags.section("Machines")
	add("topo", "", text(&o.topology, "name|file"),
		"the machine: "+machineNames()+", or a topology file of NCCL (default dgx-h100)")
	add("nodes", "", integer(&o.hosts, 1, anyCount), "how many of it, joined by their network cards (default 1)")
	add("gpus", "", integer(&o.gpus, 1, anyCount), "only the first GPUs of each (default: all)")
	add = flags.section("Settings")
	add("set", "", assignment(o.set), "a variable of NCCL for this command: NCCL_CROSS_NIC=0; may be repeated")
}

// lookup is like os.LookupEnv, of what --set gave.
func (o *hostOptions) lookup(name string) (string, bool) {
	v, ok := o.set[name]
	return v, ok
}

// planSettings reads what variables that --set gave say of operations.
func (o *hostOptions) planSettings() (*nccl.PlanSettings, error) {
	settings, err := nccl.ReadPlanSettings(o.lookup)
	if err != nil {
		return nil, refusef("--set: %w", operand(err))
	}
	return settings, nil
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
		known := slices.Concat(nccl.GraphVariables(), nccl.P2PVariables(), nccl.Variables())
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

// betterChannels is the variable that says whether channels may be better than NCCL's.
const betterChannels = "NCCLGO_BETTER_CHANNELS"

// hosts are the hosts of a command line with what their ranks find.
type hosts struct {
	system   *topo.System
	settings *nccl.GraphSettings
	members  []topo.Member
	layout   *topo.Layout
}

// search says what channels of hosts are searched for.
type search struct {
	// noNet: ranks of a host do not reach one another by network, as those of this
	// process do not.
	noNet bool
	// better: where there are better channels than NCCL's they are taken, unless --set
	// says something else.
	better bool
}

// connect finds the channels of the hosts. What is odd goes to standard error.
func (o *hostOptions) connect(p *Process, by search) (*hosts, error) {
	system, err := loadTopology(o.topology)
	if err != nil {
		return nil, err
	}
	writeNotes(p.Stderr, system)
	if o.gpus > 0 {
		if system, err = system.FirstGPUs(o.gpus); err != nil {
			return nil, refusef("--gpus: %w", err)
		}
	}
	settings, err := nccl.ReadGraphSettings(o.lookup)
	if err != nil {
		return nil, refusef("--set: %w", operand(err))
	}
	settings.Hosts.Params.NoIntraNet = settings.Hosts.Params.NoIntraNet || by.noNet
	if _, set := o.set[betterChannels]; !set {
		settings.Hosts.Search.Better = by.better
	}
	if file := settings.GraphFile; file != "" {
		data, err := readInput(file)
		if err != nil {
			return nil, refusef("--set NCCL_GRAPH_FILE: %w", err)
		}
		settings.Hosts.GraphFile = &topo.GraphFile{Name: file, Data: data}
	}
	settings.Hosts.Hosts = o.hosts
	if settings.Fabric {
		if system, err = system.Fabric(o.hosts); err != nil {
			return nil, refusef("--set NCCL_MNNVL_ENABLE: %w", err)
		}
		settings.Hosts.Hosts = 1
	}
	h := &hosts{system: system, settings: settings}
	h.members, err = topo.Members(system, settings.Hosts)
	var invalid *nccl.Error
	switch {
	case errors.As(err, &invalid):
		return nil, refusef("--nodes: %w", invalid.Err)
	case err != nil:
		return nil, refuseInput(err)
	}
	warnSimple(p.Stderr, h.members, len(h.members) > 1 && len(system.Nodes[topo.NodeNET]) == 0)
	sayBetter(p.Stderr, h.members)
	if h.layout, err = topo.Connect(h.members, settings.Layout); err != nil {
		return nil, refuseInput(err)
	}
	return h, nil
}

// view returns what the first rank of a node sees.
func (h *hosts) view(node int) (*topo.System, error) {
	params := h.settings.Hosts.Params
	params.NRanks, params.Rank = h.layout.NRanks(), h.layout.NodeRanks(node)[0]
	return h.system.View(params)
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
			fmt.Fprintf(w, "nccl-run: node of rank %d: %s; --set "+betterChannels+"=0 keeps NCCL's\n", m.Ranks[0], strings.Join(list, ", "))
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

// operand returns what an error says without the operation of a program that it
// names.
func operand(err error) error {
	var invalid *nccl.Error
	if errors.As(err, &invalid) {
		return invalid.Err
	}
	return err
}
