package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/planner"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

const p2pScheduleIntro = `nccl-run p2p-schedule shows in which order ranks send to and receive from one
another, as in an all-to-all: for each rank and round, the rank it sends to and the
rank it receives from. Nothing runs.

Usage:
  nccl-run p2p-schedule [flags]
`

const p2pScheduleNotes = `
Ranks are numbered node by node. Ranks of a node are divided into groups of one
size, which is the same on all nodes; rounds go from group to group.

With --bytes it shows what one rank does in an all-to-all: for each round the
channels, protocol and chunks, then which rounds each channel runs at once.

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

// maxScheduled is the most ranks whose whole schedule is shown: a few gigabytes.
const maxScheduled = 16384

// p2pScheduleOptions is what the command line of nccl-run p2p-schedule says.
type p2pScheduleOptions struct {
	hostOptions
	nodes     []int // ranks of each; with a topology how many of it
	groupSize int
	bytes     int64 // -1: show the whole schedule
	rank      int   // -1: nobody said
	json      bool
}

func newP2PSchedule(p *Process) *cobra.Command {
	o := &p2pScheduleOptions{hostOptions: newHostOptions(), bytes: -1, rank: -1}
	o.topology = ""
	flags := &flagSet{}
	add := flags.section("Ranks")
	add("nodes", "", nodeSizes(&o.nodes), "ranks of each node: 8,4,8 (default 8); with --topo how many of it (default 1)")
	add("group-size", "", integer(&o.groupSize, 1, maxScheduled),
		fmt.Sprintf("ranks of a group between nodes, or what divides this and the ranks of each node (default %d)", topo.P2PBatch))
	add("topo", "", text(&o.topology, "name|file"), "the nodes of a machine: "+machineNames()+", or a topology file of NCCL")
	add("gpus", "", integer(&o.gpus, 1, anyCount), "only the first GPUs of each (default: all)")
	add("set", "", assignment(o.set), "a variable of NCCL for this command: NCCL_NET_DISABLE_INTRA=1; may be repeated")
	add = flags.section("All-to-all")
	add("bytes", "", size(&o.bytes), "what a rank sends to each, in bytes, or with suffix K, M or G; needs --topo")
	add("rank", "", integer(&o.rank, 0, anyCount), "whose sends and receives are shown (default 0)")
	add = flags.section("Output")
	add("json", "", boolean(&o.json), "write a JSON document instead of text")
	flags.sections[len(flags.sections)-1].flags.Lookup("json").NoOptDefVal = "true"
	cmd := newCommand("p2p-schedule", flags.help(p2pScheduleIntro, p2pScheduleNotes), func(*cobra.Command) error {
		return p2pSchedule(p, o)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// nodeSizes reads how many ranks each node has, separated by commas.
func nodeSizes(p *[]int) *value {
	return &value{kind: "n,n...", parse: func(text string) error {
		*p = nil
		total := 0
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of ranks; a list reads like 8,4,8, each 1 or more", word)
			}
			if total += n; n > maxScheduled || total > maxScheduled {
				return fmt.Errorf("%s are too many ranks; %d together are allowed", text, maxScheduled)
			}
			*p = append(*p, n)
		}
		return nil
	}}
}

// p2pSchedule makes the schedule, or the plan of a rank, and writes it.
func p2pSchedule(p *Process, o *p2pScheduleOptions) error {
	c, err := o.config(p)
	if err != nil {
		return err
	}
	if o.bytes >= 0 {
		return o.plan(p, c)
	}
	if o.rank >= 0 {
		return refusef("--rank needs --bytes; without it all ranks are shown")
	}
	s, err := planner.NewP2PSchedule(c.Nodes, c.GroupSize)
	if err != nil {
		return refuseInput(err)
	}
	if s.NRanks() > maxScheduled {
		return refusef("--nodes: %d ranks are too many; %d together are allowed", s.NRanks(), maxScheduled)
	}
	localRanks := make([]int, len(c.Nodes))
	for i, ranks := range c.Nodes {
		localRanks[i] = len(ranks)
	}
	write := report.P2PScheduleText
	if o.json {
		write = report.WriteP2PSchedule
	}
	return written(write(p.Stdout, localRanks, s))
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// config returns the nodes and, with a topology, what sends depend on.
func (o *p2pScheduleOptions) config(p *Process) (*planner.P2PConfig, error) {
	if o.topology == "" {
		switch {
		case o.bytes >= 0:
			return nil, refusef("--bytes needs --topo: channels and chunks depend on the machine")
		case o.gpus > 0 || len(o.set) > 0:
			return nil, refusef("--gpus and --set need --topo")
		}
		if o.nodes == nil {
			o.nodes = []int{8}
		}
		c := &planner.P2PConfig{P2PLimits: planner.DefaultP2PLimits()}
		rank := 0
		for _, n := range o.nodes {
			var ranks []int
			for range n {
				ranks = append(ranks, rank)
				rank++
			}
			c.Nodes = append(c.Nodes, ranks)
		}
		o.limit(&c.P2PLimits)
		return c, nil
	}
	switch len(o.nodes) {
	case 0:
	case 1:
		o.hosts = o.nodes[0]
	default:
		return nil, refusef("--nodes: with --topo it is one number: how many of the machine")
	}
	h, err := o.connect(p, search{})
	if err != nil {
		return nil, err
	}
	settings, err := o.planSettings()
	if err != nil {
		return nil, err
	}
	c := planner.P2PConfigOf(h.layout, &settings.Limits)
	if c.P2PLimits, err = nccl.ReadP2PLimits(o.lookup); err != nil {
		return nil, refusef("--set: %w", operand(err))
	}
	o.limit(&c.P2PLimits)
	return c, nil
}

func (o *p2pScheduleOptions) limit(l *planner.P2PLimits) {
	if o.groupSize > 0 {
		l.GroupSize = o.groupSize
	}
}

// plan plans what a rank does in an all-to-all.
func (o *p2pScheduleOptions) plan(p *Process, c *planner.P2PConfig) error {
	sends, err := planner.NewP2P(c)
	if err != nil {
		return refuseInput(err)
	}
	n := sends.Schedule().NRanks()
	rank := max(0, o.rank)
	if rank >= n {
		return refusef("--rank: %d is out of range; allowed are 0 to %d", rank, n-1)
	}
	all := make([]planner.Transfer, n)
	for peer := range all {
		all[peer] = planner.Transfer{Peer: peer, Bytes: o.bytes}
	}
	plan, err := sends.Plan(rank, all, all)
	if err != nil {
		return refuseInput(err)
	}
	if o.json {
		return written(report.WriteP2PPlan(p.Stdout, rank, plan))
	}
	_, err = fmt.Fprint(p.Stdout, plan)
	return written(err)
}
