package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

const rootHelp = `nccl-run runs collectives on GPUs or on the PTX machine, checks every element of
the result, and prints what nccl-tests prints.

Usage:
  nccl-run all-reduce [flags]   run, check and measure
  nccl-run doctor [--json]      say what this machine has and lacks
  nccl-run explain [flags]      say how a collective is done, and why
  nccl-run graph [flags]        show the channels of a machine, or of many
  nccl-run litmus [flags]       show what the PTX machine's weak memory does
  nccl-run topo [flags]         show a machine: what is measured, what is assumed
  nccl-run p2p-schedule [flags] show in which order ranks send to one another
  nccl-run warm [flags]         assemble the kernels for this machine's GPUs

nccl-run all-reduce -h lists the flags.
`

const collectiveIntro = `nccl-run all-reduce runs AllReduce on real GPUs or on the PTX machine, checks
every element of the result, and prints what nccl-tests' all_reduce_perf prints.
Flags, sizes, types and operators are nccl-tests', with some more.

Usage:
  nccl-run all-reduce [flags]
`

const collectiveNotes = `
Defaults on GPUs are nccl-tests': -g 1 -b 32M -e 32M -n 20 -w 1.

Defaults on the PTX machine: -g 8 (fewer if the topology has fewer GPUs) -b 1K
-e 1M -f 4 -n 1 -w 0, with --weak-memory -e 16K. Times are then those of the host
that simulates, and say nothing about a GPU.

Exit status: 0 all results are right; 1 wrong results, or a run that failed;
2 the request was refused and nothing ran.
`

// helpWidth is the width of the help text, in characters.
const helpWidth = 96

// help returns a text of -h: intro, flags, notes.
func (f *flagSet) help(intro, notes string) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, s := range f.sections {
		b.WriteString("\n" + s.title + ":\n")
		b.WriteString(s.flags.FlagUsagesWrapped(helpWidth))
	}
	return b.String() + notes
}

// collectiveHelp returns the text of -h, which the README repeats.
func collectiveHelp(f *flagSet) string {
	notes := "\nFlags of nccl-tests that are not in this build; the value that asks for nothing is accepted:\n "
	f.lacking.VisitAll(func(flag *pflag.Flag) { notes += " -" + flag.Shorthand })
	return f.help(collectiveIntro, notes+"\n"+collectiveNotes)
}
