package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/device/litmus"
	"github.com/ncclgo/ncclgo/device/sim"
)

const litmusIntro = `nccl-run litmus runs the litmus tests of the PTX machine's weak memory: small
kernels side by side, under many seeds. For each it prints what their registers
held at the end, how often, and whether the memory model allows it.

Usage:
  nccl-run litmus [flags]
`

const litmusNotes = `
A case is a test with a setting of the hardware facts that go beyond the PTX ISA:
H1, one lane's aligned 16 bytes are one access; H2, eight lanes' stores that fill
an aligned 128-byte line with one instruction become visible together, but over
PCIe; H3, a vote orders the loads behind it after those that it depends on.

Exit status: 0 no forbidden outcome was seen, and every allowed one was; 1 one is
wrong; 2 the request was refused and nothing ran.
`

// litmusOptions is what the command line of nccl-run litmus says.
type litmusOptions struct {
	litmus.Effort
	pattern string
	facts   string // empty: every setting
	show    string
	json    string // file, "-" for standard output, empty for none
}

func newLitmus(p *Process) *cobra.Command {
	o := &litmusOptions{Effort: litmus.DefaultEffort(), pattern: "*"}
	flags := &flagSet{}
	add := flags.section("What is run")
	add("run", "", text(&o.pattern, "pattern"), "tests by name, with * and ? as in a shell: 'mp*' (default *)")
	add("facts", "", text(&o.facts, "facts"), "only cases with exactly these hardware facts: H1+H2+H3, none (default: every case)")
	add("seed", "", seed(&o.Seed), "seed of the first run of each case; each later run has the next (default 1)")
	add("runs", "", integer(&o.Least, 1, anyCount), "runs of each case (default 500)")
	add("limit", "", integer(&o.Most, 1, anyCount), "most runs of a case, as long as an allowed outcome was not seen (default 20000, or --runs if that is more)")
	add = flags.section("Output")
	add("json", "", text(&o.json, "file"), "write a JSON document; - or nothing: to standard output, instead of the table")
	add("output_file", "J", text(&o.json, "file"), "the same")
	add("show", "", text(&o.show, "test"), "print the PTX of a test and run nothing")
	flags.sections[1].flags.Lookup("json").NoOptDefVal = "-"
	cmd := newCommand("litmus", flags.help(litmusIntro, litmusNotes), func(cmd *cobra.Command) error {
		if o.show != "" {
			return showLitmus(p, o.show)
		}
		if !cmd.Flags().Changed("limit") {
			o.Most = max(o.Most, o.Least)
		}
		return runLitmus(cmd.Context(), p, o)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// showLitmus prints the kernels of a test.
func showLitmus(p *Process, name string) error {
	var names []string
	for _, t := range litmus.Tests() {
		if t.Name == name {
			_, err := p.Stdout.Write(t.Source())
			return err
		}
		names = append(names, t.Name)
	}
	return refusef("--show: %w", unknown("test", name, names))
}

// cases returns what the options select.
func (o *litmusOptions) cases() ([]litmus.Case, error) {
	tests, err := litmus.Find(o.pattern)
	if err != nil {
		return nil, refusef("--run %w", err)
	}
	var cases []litmus.Case
	for _, t := range tests {
		cases = append(cases, t.Cases()...)
	}
	if o.facts == "" {
		return cases, nil
	}
	facts, err := o.setting()
	if err != nil {
		return nil, refusef("--facts: %w", err)
	}
	cases = slices.DeleteFunc(cases, func(c litmus.Case) bool { return c.Facts != facts })
	if len(cases) == 0 {
		return nil, refusef("--facts %v: no case of --run %s has exactly these; leave --facts out to see which there are", facts, o.pattern)
	}
	return cases, nil
}

// setting reads hardware facts as they are printed.
func (o *litmusOptions) setting() (sim.Facts, error) {
	var names []string
	for f := range sim.AllFacts + 1 {
		if f.String() == o.facts {
			return f, nil
		}
		names = append(names, f.String())
	}
	return 0, unknown("facts", o.facts, names)
}

// runLitmus explores the cases and says what was found.
func runLitmus(ctx context.Context, p *Process, o *litmusOptions) error {
	if o.Most < o.Least {
		return refusef("--limit %d is below --runs %d", o.Most, o.Least)
	}
	cases, err := o.cases()
	if err != nil {
		return err
	}
	var out *file
	if o.json != "" && o.json != "-" {
		if out, err = openFile(o.json); err != nil {
			return err
		}
	}
	document := report.NewLitmus(o.Effort)
	var table *report.LitmusTable
	if o.json != "-" {
		table = report.NewLitmusTable(p.Stdout, o.Effort)
	}
	progress := newProgress(p.Stderr)
	err = litmus.ExploreAll(ctx, cases, o.Effort, func(r *litmus.Result) error {
		document.Add(r)
		progress.clear()
		if table != nil {
			table.Row(r)
		}
		progress.show(len(document.Cases), len(cases), r.Name)
		return nil
	})
	progress.clear()
	if err != nil {
		// What was there stays: half a document is none. The first error says more.
		_ = out.discard()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	if table != nil {
		if err = table.End(); err != nil {
			err = fmt.Errorf("standard output: %w", err)
		}
	}
	switch {
	case o.json == "-":
		err = document.Write(p.Stdout)
	case out != nil:
		err = cmp.Or(err, out.replace(document.Write))
	}
	if err == nil && document.Wrong > 0 {
		err = errWrong
	}
	return err
}
