package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TestsVersion is the release of nccl-tests whose output is reproduced.
const TestsVersion = "2.19.6"

// LibraryVersion is the NCCL whose behaviour and ABI the library has, as
// ncclGetVersion encodes it: 10000 * major + 100 * minor + patch.
const LibraryVersion = 23007

// Table writes a run as nccl-tests prints it. Lines are written as soon as they
// are complete. The first write error is kept and returned by Close.
type Table struct {
	w *bufio.Writer
}

// NewTable returns a Table that writes to w.
func NewTable(w io.Writer) *Table { return &Table{bufio.NewWriter(w)} }

// blocking holds the header's line for each value of -z; the texts are those
// that scripts written for nccl-tests find.
var blocking = []string{
	1: "# Blocking Enabled: wait and barrier after each inner iteration (-m) ",
	2: "# Blocking Enabled: wait after each inner iteration (-m), no barrier ",
	3: "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier ",
}

// Header writes everything above the first row.
func (t *Table) Header(r *Run) {
	t.linef("# nccl-tests version %s nccl-headers=%d nccl-library=%d", TestsVersion, LibraryVersion, LibraryVersion)
	t.linef("# Collective test starting: %s", r.Program)
	unit := "bytes"
	if r.ByFactor {
		unit = "factor"
	}
	t.linef("# nThread %d nGpus %d minBytes %d maxBytes %d step: %d(%s) warmup iters: %d iters: %d agg iters: %d "+
		"validation: %d graph: %d unalign: %d", r.Threads, r.GPUs, r.MinBytes, r.MaxBytes, r.Step, unit,
		r.Warmup, r.Iters, r.Agg, r.Check, r.Graphs, r.Unalign)
	if r.Blocking > 0 {
		t.linef("%s", blocking[r.Blocking])
	}
	for _, note := range r.Notes {
		t.Comment(note)
	}
	t.linef("#")
	t.linef("# Using devices")
	for _, d := range r.Devices {
		t.linef("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s",
			d.Rank, d.Group, d.PID, d.Host, d.Ordinal, d.location(), d.Name)
	}
	t.linef("#")
	const columns = "# %10s  %12s  %8s  %6s  %6s"
	const measured = "  %7s  %6s  %6s  %6s"
	t.linef(columns+"           out-of-place                       in-place          ", "", "", "", "", "")
	t.linef(columns+measured+measured+" ", "size", "count", "type", "redop", "root",
		"time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
	t.linef(columns+measured+measured+" ", "(B)", "(elements)", "", "", "",
		"(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "")
}

// Comment writes a line that parsers of the table skip.
func (t *Table) Comment(text string) { t.linef("# %s", text) }

// Row writes the line of one size.
func (t *Table) Row(r Row) {
	t.linef("%12d  %12d  %8s  %6s  %6d%s%s", r.Bytes, r.Count, r.Type, r.Op, r.Root, r.Out.columns(), r.In.columns())
}

func (m Measurement) columns() string {
	// nccl-tests' N/A is one character narrower than its counts.
	wrong := "    N/A"
	if m.Checked {
		wrong = fmt.Sprintf("  %6s", sixDigits(float64(m.Wrong)))
	}
	return fmt.Sprintf("  %7s  %6s  %6s", fit(m.Time, 7), fit(m.AlgBW, 6), fit(m.BusBW, 6)) + wrong
}

// Footer writes everything below the last row.
func (t *Table) Footer(r *Run, s Summary) {
	verdict := "OK"
	if s.OutOfBounds > 0 {
		verdict = "FAILED"
	}
	t.linef("# %-20s : %d %s", "Out of bounds values", s.OutOfBounds, verdict)
	t.linef("# %-20s : %s ", "Avg bus bandwidth", sixDigits(s.BusBW))
	t.linef("#")
	t.linef("# Collective test concluded: %s", r.Program)
	t.linef("#")
	if s.Err != "" {
		t.Comment("error: " + s.Err)
	} else {
		t.linef("")
	}
}

// Close returns the first error of writing.
func (t *Table) Close() error { return t.w.Flush() }

func (t *Table) linef(format string, args ...any) {
	fmt.Fprintf(t.w, format+"\n", args...)
	// bufio keeps the error; Close reports it.
	_ = t.w.Flush()
}

// fit formats v right-aligned in width characters with as many decimals, two at
// most, as there is room for.
func fit(v float64, width int) string {
	for decimals := 2; decimals >= 0; decimals-- {
		if s := fmt.Sprintf("%*.*f", width, decimals, v); len(s) <= width {
			return s
		}
	}
	decimals := 0
	if width >= 7 {
		decimals = 1
	}
	return fmt.Sprintf("%*.*e", width, decimals, v)
}

// sixDigits formats v as C's %g does.
func sixDigits(v float64) string {
	return strings.ToLower(strconv.FormatFloat(v, 'g', 6, 64))
}
