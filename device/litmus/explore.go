package litmus

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/device"
)

// Effort bounds how long a case is explored.
type Effort struct {
	// Seed is the first run's; each later one has the next number.
	Seed uint64
	// Least is how many runs look for forbidden outcomes, at least 1.
	Least int
	// Most is the number of runs after which an allowed outcome that was not seen
	// is given up; at least Least.
	Most int
}

// DefaultEffort looks for forbidden outcomes in 500 runs, and for allowed ones
// in up to 20,000.
func DefaultEffort() Effort { return Effort{Seed: 1, Least: 500, Most: 20_000} }

// validate refuses numbers that make no sense.
func (e Effort) validate() error {
	if e.Least < 1 || e.Most < e.Least {
		return fmt.Errorf("litmus: Effort.Least is %d and Effort.Most %d; give 1 or more, and no less for Most than for Least", e.Least, e.Most)
	}
	return nil
}

// Count is how often an outcome was seen.
type Count struct {
	Outcome string // as [Line] has it
	Seen    int    // runs
	Seed    uint64 // of the first of them
	Allowed bool
	Why     string
	// Fault is the first of them, if the outcome is one.
	Fault *device.Fault
}

// Wrong reports whether the outcome is forbidden and was seen, or allowed and
// was not.
func (c *Count) Wrong() bool { return c.Allowed != (c.Seen > 0) }

// Result is what exploring a case found.
type Result struct {
	Case
	Runs int
	// Counts has the allowed outcomes, then the forbidden ones that the case names,
	// in the order of its lines, then all others that were seen.
	Counts []Count
}

// Wrong returns the outcomes that are.
func (r *Result) Wrong() []*Count {
	var wrong []*Count
	for i := range r.Counts {
		if c := &r.Counts[i]; c.Wrong() {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// notInTable is why an outcome is forbidden that no line of a case speaks of.
const notInTable = "no rule allows it"

// Explore runs the case with one seed after the other: e.Least times, and on,
// up to e.Most times, while an allowed outcome was not seen. It ends early with
// ctx's error.
func (c Case) Explore(ctx context.Context, e Effort) (*Result, error) {
	if err := e.validate(); err != nil {
		return nil, err
	}
	r := &Result{Case: c}
	for _, o := range c.expected() {
		r.Counts = append(r.Counts, Count{Outcome: o, Allowed: true, Why: c.judge(o).Why})
	}
	missing := len(r.Counts)
	for i := range c.Lines {
		if l := &c.Lines[i]; !l.Allowed {
			r.Counts = append(r.Counts, Count{Outcome: l.Outcome, Why: l.Why})
		}
	}
	for r.Runs < e.Least || r.Runs < e.Most && missing > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		seed := e.Seed + uint64(r.Runs)
		outcome, fault, err := c.Run(ctx, seed)
		if err != nil {
			return nil, err
		}
		r.Runs++
		n := r.count(outcome)
		if n.Seen == 0 {
			n.Seed, n.Fault = seed, fault
			if n.Allowed {
				missing--
			}
		}
		n.Seen++
	}
	return r, nil
}

// count returns where an outcome is counted: on its own if it is allowed, with
// the line that forbids it, or behind all others.
func (r *Result) count(outcome string) *Count {
	why := notInTable
	name := outcome
	if l := r.judge(outcome); l != nil {
		why = l.Why
		if !l.Allowed {
			name = l.Outcome
		}
	}
	for i := range r.Counts {
		if c := &r.Counts[i]; c.Outcome == name {
			return c
		}
	}
	r.Counts = append(r.Counts, Count{Outcome: name, Why: why})
	return &r.Counts[len(r.Counts)-1]
}

// ExploreAll explores cases, as many at once as there are processors, and calls
// found with each result, in the order of the cases. It returns the first error,
// found's included, and explores no further then.
func ExploreAll(ctx context.Context, cases []Case, e Effort, found func(*Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		result *Result
		err    error
	}
	answers := make([]chan answer, len(cases))
	for i := range answers {
		answers[i] = make(chan answer, 1)
	}
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(cases) {
					return
				}
				r, err := cases[i].Explore(ctx, e)
				answers[i] <- answer{r, err}
			}
		}()
	}
	for _, c := range answers {
		a := <-c
		if a.err != nil {
			return a.err
		}
		if err := found(a.result); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the tests whose names match a pattern with *, ? and [sets], as
// [path.Match] has them.
func Find(pattern string) ([]*Test, error) {
	var found []*Test
	var names []string
	for _, t := range Tests() {
		match, err := path.Match(pattern, t.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; a pattern has names, *, ? and [sets]", pattern, err)
		}
		names = append(names, t.Name)
		if match {
			found = append(found, t)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s: no litmus test has such a name; there are %s", pattern, strings.Join(names, " "))
	}
	return found, nil
}
