package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ncclgo/ncclgo/device/litmus"
	"github.com/ncclgo/ncclgo/internal/jsondoc"
)

// LitmusVersion is the version of the JSON document of nccl-run litmus.
const LitmusVersion = 1

const litmusFormat = "ncclgo litmus"

// Litmus is what nccl-run litmus found, in the form of the JSON document of
// docs/FORMATS.md.
type Litmus struct {
	Format  string       `json:"format"` // always litmusFormat
	Version int          `json:"version"`
	Seed    uint64       `json:"seed"`  // of the first run of each case
	Runs    int          `json:"runs"`  // least runs of a case
	Limit   int          `json:"limit"` // most runs of a case
	Cases   []LitmusCase `json:"cases"`
	Wrong   int          `json:"wrong"` // cases
}

// LitmusCase is a litmus test with a setting of the hardware facts.
type LitmusCase struct {
	Name     string          `json:"name"`
	Facts    string          `json:"facts"` // "H1+H2+H3", "none"
	Runs     int             `json:"runs"`
	Right    bool            `json:"right"`
	Outcomes []LitmusOutcome `json:"outcomes"`
}

// LitmusOutcome is an outcome of a litmus test.
type LitmusOutcome struct {
	Outcome string `json:"outcome"` // "flag=1 data=0", "race"
	Allowed bool   `json:"allowed"`
	Seen    int    `json:"seen"`            // runs
	Seed    uint64 `json:"seed,omitempty"`  // of the first of them
	Fault   string `json:"fault,omitempty"` // of the first of them
	Why     string `json:"why"`
}

// NewLitmus makes a document without cases.
func NewLitmus(e litmus.Effort) *Litmus {
	return &Litmus{Format: litmusFormat, Version: LitmusVersion, Seed: e.Seed, Runs: e.Least, Limit: e.Most, Cases: []LitmusCase{}}
}

// Add adds a case.
func (d *Litmus) Add(r *litmus.Result) {
	c := LitmusCase{Name: r.Name, Facts: r.Facts.String(), Runs: r.Runs, Right: r.Wrong() == nil}
	for _, n := range r.Counts {
		o := LitmusOutcome{Outcome: r.Text(n.Outcome), Allowed: n.Allowed, Seen: n.Seen, Seed: n.Seed, Why: n.Why}
		if n.Fault != nil {
			o.Fault = n.Fault.Error()
		}
		c.Outcomes = append(c.Outcomes, o)
	}
	if !c.Right {
		d.Wrong++
	}
	d.Cases = append(d.Cases, c)
}

// Write writes the document and a newline.
func (d *Litmus) Write(w io.Writer) error { return json.NewEncoder(w).Encode(d) }

// DecodeLitmus reads a document and refuses one of another format or version, or
// with fields that this version does not have.
func DecodeLitmus(r io.Reader) (*Litmus, error) {
	d := new(Litmus)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, litmusFormat, LitmusVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run litmus: %w", err)
	}
	return d, nil
}

// LitmusTable prints what nccl-run litmus found. Each case is written at once; End
// reports the first error of writing.
type LitmusTable struct {
	w     *bufio.Writer
	cases int
	runs  int
	wrong []string // of every case that is, with how to see it again
}

// litmusRow is the columns: test, facts, runs, outcome, seen, verdict.
const litmusRow = "%-32s %-9s %6s  %-26s %6s  %s\n"

// NewLitmusTable prints the heading of a table on w.
func NewLitmusTable(w io.Writer, e litmus.Effort) *LitmusTable {
	t := &LitmusTable{w: bufio.NewWriter(w)}
	fmt.Fprintf(t.w, "# PTX machine, weak memory, seeds from %d: %s a case, up to %d until every allowed outcome was seen\n",
		e.Seed, counted(e.Least, "run"), e.Most)
	fmt.Fprintf(t.w, litmusRow, "# test", "facts", "runs", "outcome", "seen", "verdict")
	// bufio keeps the error; End reports it.
	_ = t.w.Flush()
	return t
}

// counted returns a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Row prints a case.
func (t *LitmusTable) Row(r *litmus.Result) {
	t.cases++
	t.runs += r.Runs
	name, facts, runs := r.Name, r.Facts.String(), fmt.Sprint(r.Runs)
	for i := range r.Counts {
		n := &r.Counts[i]
		fmt.Fprintf(t.w, litmusRow, name, facts, runs, r.Text(n.Outcome), fmt.Sprint(n.Seen), verdict(n))
		name, facts, runs = "", "", ""
		if n.Wrong() {
			t.wrong = append(t.wrong, complaint(r, n))
		}
	}
	_ = t.w.Flush()
}

// verdict says what an outcome is and, if that is not what was seen, what is
// wrong.
func verdict(n *litmus.Count) string {
	switch {
	case n.Allowed && n.Wrong():
		return "allowed, NOT SEEN"
	case n.Allowed:
		return "allowed"
	case n.Wrong():
		return "forbidden, SEEN"
	}
	return "forbidden"
}

// complaint says what is wrong with an outcome, and how to see it again.
func complaint(r *litmus.Result, n *litmus.Count) string {
	text := fmt.Sprintf("%s, %v: %s: %s: %s", r.Name, r.Facts, r.Text(n.Outcome), verdict(n), n.Why)
	if n.Seen > 0 {
		text += fmt.Sprintf("; again: nccl-run litmus --run '%s' --facts %v --seed %d --runs 1 --limit 1", r.Name, r.Facts, n.Seed)
	}
	if n.Fault != nil {
		text += "\n" + n.Fault.Error()
	}
	return text
}

// End prints what is wrong, and a last line. It returns the first error of
// writing.
func (t *LitmusTable) End() error {
	for _, text := range t.wrong {
		fmt.Fprintf(t.w, "# %s\n", strings.ReplaceAll(text, "\n", "\n# "))
	}
	what := "no forbidden outcome was seen, and every allowed one was"
	switch len(t.wrong) {
	case 0:
	case 1:
		what = "1 outcome is wrong"
	default:
		what = fmt.Sprintf("%d outcomes are wrong", len(t.wrong))
	}
	fmt.Fprintf(t.w, "# %s, %s: %s\n", counted(t.cases, "case"), counted(t.runs, "run"), what)
	return t.w.Flush()
}
