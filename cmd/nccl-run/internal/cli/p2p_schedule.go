package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/planner"
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

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

// maxScheduled is the most ranks whose whole schedule is shown: a few gigabytes.
const maxScheduled = 16384

// p2pScheduleOptions is what the command line of nccl-run p2p-schedule says.
type p2pScheduleOptions struct {
	nodes     []int // ranks of each
	groupSize int
	json      bool
}

func newP2PSchedule(p *Process) *cobra.Command {
	o := &p2pScheduleOptions{nodes: []int{8}}
	flags := &flagSet{}
	add := flags.section("Ranks")
	add("nodes", "", nodeSizes(&o.nodes), "ranks of each node: 8,4,8 (default 8)")
	add("group-size", "", integer(&o.groupSize, 1, maxScheduled),
		fmt.Sprintf("ranks of a group between nodes, or what divides this and the ranks of each node (default %d)", planner.P2PBatch))
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
		for _, word := range strings.Split(text, ",") {
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

// p2pSchedule makes the schedule and writes it.
func p2pSchedule(p *Process, o *p2pScheduleOptions) error {
	nodes := make([][]int, len(o.nodes))
	rank := 0
	for i, n := range o.nodes {
		for range n {
			nodes[i] = append(nodes[i], rank)
			rank++
		}
	}
	s, err := planner.NewP2PSchedule(nodes, o.groupSize)
	if err != nil {
		return refuseInput(err)
	}
	write := report.P2PScheduleText
	if o.json {
		write = report.WriteP2PSchedule
	}
	if err := write(p.Stdout, o.nodes, s); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
