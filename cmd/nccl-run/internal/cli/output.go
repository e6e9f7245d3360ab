package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// output sends what a run finds to where the command line says: the table, the
// JSON document, the progress line. It implements bench.Sink.
type output struct {
	p        *Process
	o        *options
	m        *bench.Machine
	env      *environment
	given    *pflag.FlagSet // of the command line
	start    time.Time
	progress *progress

	table    *report.Table    // nil if standard output carries the document
	document *report.Document // nil until the run begins, or if nobody asked
	file     *file            // of the document; nil if it has none
	run      *report.Run
	wrong    int
	replays  []string // the commands that were printed
}

// newOutput opens what is to be written, so that it is refused before anything
// runs if it cannot be.
func newOutput(p *Process, o *options, m *bench.Machine, env *environment, given *pflag.FlagSet) (*output, error) {
	out := &output{p: p, o: o, m: m, env: env, given: given, start: time.Now(), progress: newProgress(p.Stderr)}
	if o.json == "-" {
		return out, nil
	}
	out.table = report.NewTable(p.Stdout)
	var err error
	if o.json != "" {
		out.file, err = openFile(o.json)
	}
	return out, err
}

// Begin implements bench.Sink.
func (out *output) Begin(r *report.Run, skipped []report.Skipped) {
	out.run = r
	gpus := r.Threads * r.GPUs
	fmt.Fprintf(out.p.Stderr, "nccl-run: device %s: %s: %s\n", out.m.Device, out.m.Why, out.m.Describe(gpus))
	for _, note := range out.env.notes() {
		fmt.Fprintf(out.p.Stderr, "nccl-run: %s\n", note)
	}
	if out.o.json != "" {
		out.document = report.NewDocument(r, append([]string{"nccl-run"}, out.p.Args...),
			ncclVariables(out.p.Environ), out.start, &report.Extension{
				Device: out.m.Device, DeviceNote: out.m.Describe(gpus) + "; " + out.m.Why,
				Topology: out.o.Topology, RanksPerGPU: out.o.RanksPerGPU, Seed: out.o.Seed, Schedules: out.o.Schedules,
				WeakMemory: out.o.WeakMemory,
				TimeSource: out.m.TimeSource, Skipped: skipped,
			})
	}
	if out.table != nil {
		out.table.Header(r)
	}
	if len(skipped) > 0 {
		text := report.SkippedText(skipped)
		fmt.Fprintf(out.p.Stderr, "nccl-run: %s\n", text)
		out.Comment(text)
	}
}

// ncclVariables returns the variables of NCCL, and those that the library reads
// besides. The rest of the environment is nobody's business.
func ncclVariables(environ []string) []string {
	read := nccl.Variables()
	var variables []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "NCCL_") || slices.Contains(read, name) {
			variables = append(variables, v)
		}
	}
	return variables
}

// Comment implements bench.Sink.
func (out *output) Comment(text string) {
	out.progress.clear()
	if out.table != nil {
		out.table.Comment(text)
	} else if out.o.Trace {
		fmt.Fprintf(out.p.Stderr, "# %s\n", text)
	}
}

// Row implements bench.Sink.
func (out *output) Row(r report.Row, d report.Decision) {
	out.progress.clear()
	if out.table != nil {
		out.table.Row(r)
		if r.Versus != nil {
			for _, line := range r.Versus.Lines(r.Bytes) {
				out.table.Comment(line)
			}
		}
	}
	if out.document != nil {
		out.document.Add(r, &d)
	}
}

// Progress implements bench.Sink.
func (out *output) Progress(done, total int, what string) { out.progress.show(done, total, what) }

// Loading implements bench.Sink.
func (out *output) Loading(done, total int) { out.progress.kernels(done, total) }

// Startup implements bench.Sink.
func (out *output) Startup(phases []report.Phase) {
	for _, p := range phases {
		out.Comment(p.Line())
	}
	if out.document != nil {
		out.document.Extension.Startup = phases
	}
}

// Wrong implements bench.Sink. How a pass is repeated is printed once.
func (out *output) Wrong(text string, in bench.Replay) {
	out.Comment(text)
	if out.m.Device != "sim" {
		return
	}
	if command := replayCommand(out.given, out.env, in); !slices.Contains(out.replays, command) {
		out.replays = append(out.replays, command)
		out.Comment("replay: " + command)
	}
}

// Versus implements bench.Sink.
func (out *output) Versus(r report.Rival) {
	out.Comment(r.Heading())
	if out.document != nil {
		out.document.Extension.Rival = &r
	}
}

// End implements bench.Sink.
func (out *output) End(s report.Summary) {
	out.progress.clear()
	out.wrong = s.OutOfBounds
	if out.table != nil {
		out.table.Footer(out.run, s)
	}
	if out.document != nil {
		out.document.Finish(s, time.Now())
	}
}

// close finishes what is written. failure is why the run ended early, or nil.
func (out *output) close(failure error) error {
	out.progress.clear()
	if out.run == nil {
		return out.file.discard()
	}
	var first, whole string
	if failure != nil {
		// A fault lists everyone concerned on lines of their own. The table has the
		// first line only: the rest is on standard error.
		whole = strings.ReplaceAll(failure.Error(), "\n  ", "; ")
		first, _, _ = strings.Cut(failure.Error(), "\n")
	}
	return cmp.Or(out.closeTable(first), out.closeDocument(whole))
}

func (out *output) closeTable(ended string) error {
	if out.table == nil {
		return nil
	}
	if ended != "" {
		out.table.Comment("error: " + ended)
	}
	if err := out.table.Close(); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

func (out *output) closeDocument(ended string) error {
	if out.document == nil {
		return nil
	}
	if ended != "" {
		out.document.Finish(report.Summary{Err: ended}, time.Now())
	}
	if out.o.json == "-" {
		return out.document.Write(out.p.Stdout)
	}
	return out.file.replace(out.document.Write)
}
