package litmus

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/device/sim"
)

//go:embed tests/*.ptx
var sources embed.FS

// Test is kernels that run side by side, and what may come of it.
type Test struct {
	Name string
	// File names the kernels' module: tests/File.ptx.
	File     string
	Launches []Launch
	// X, Y and Z are where the three locations that every kernel gets lie. The
	// zero value is GPU 0.
	X, Y, Z Place
	// Sees names the words that are observed, in order: those of the first
	// launch's output, of the second's, and so on, then those of Final.
	Sees []string
	// Final lists locations whose first word is observed after all kernels, as
	// the host sees it: "x", "y" or "z".
	Final []string
	// Before is what the host writes before the launches.
	Before []Store
	// During is what the host stores while the kernels run. Kernels of such a
	// test wait for it.
	During []Store
	// PCIe is set if the GPUs reach each other over PCIe instead of NVLink.
	PCIe  bool
	Rules []Rule
}

// Launch is a kernel launch of a test: one CTA.
type Launch struct {
	Kernel  string
	GPU     int
	Threads int // 0 means 1
	Words   int // observed words of its output
	// Swap gives the kernel x and y in each other's place.
	Swap bool
	// After orders it behind the launch before it.
	After Order
}

// Order is how a launch is ordered behind the one before it.
type Order int

const (
	// Unordered launches have a stream each.
	Unordered Order = iota
	// SameStream puts both into one stream.
	SameStream
	// ByEvent makes the stream of the later launch wait for an event that is
	// recorded behind the earlier one.
	ByEvent
)

// Place is where a location lies.
type Place int

// Host is pinned host memory; other places are the memory of the GPU of that
// number.
const Host Place = -1

// Store is the store of one word by the host, to a location in pinned memory.
type Store struct {
	To    string // "x", "y" or "z"
	Value uint32
}

// Rule is what may come of a test under some settings of the hardware facts.
type Rule struct {
	Facts []sim.Facts
	Lines []Line
}

// Line says of some outcomes whether they are allowed, and why.
type Line struct {
	Allowed bool
	// Outcome has one field for each word of Test.Sees: a value, ? for either of 0
	// and 1, or, in lines that forbid, * for any value. Or it is the kind of a
	// fault ("race").
	Outcome string
	Why     string
}

// allow says that outcomes may be seen. Exploring looks for each of them.
func allow(outcome, why string) Line { return Line{true, outcome, why} }

// forbid says that outcomes must not be seen. What no line allows is forbidden
// too: these lines are there to say why, and to take outcomes out of a pattern
// with ? in a later line.
func forbid(outcome, why string) Line { return Line{false, outcome, why} }

// always is the rule of tests whose outcome depends on no hardware fact. They
// are explored with none and with all of them.
func always(lines ...Line) []Rule {
	return []Rule{{[]sim.Facts{0, sim.AllFacts}, lines}}
}

// matches reports whether the line speaks of an outcome.
func (l *Line) matches(outcome string) bool {
	if l.Outcome == outcome {
		return true
	}
	pattern, values := strings.Fields(l.Outcome), strings.Fields(outcome)
	if len(pattern) != len(values) {
		return false
	}
	for i, p := range pattern {
		switch {
		case p == values[i], p == "*":
		case p == "?" && (values[i] == "0" || values[i] == "1"):
		default:
			return false
		}
	}
	return true
}

// outcomes returns the outcomes that a line speaks of, none for one with *.
func (l *Line) outcomes() []string {
	at := strings.IndexByte(l.Outcome, '?')
	switch {
	case strings.Contains(l.Outcome, "*"):
		return nil
	case at < 0:
		return []string{l.Outcome}
	}
	var all []string
	for _, v := range []string{"0", "1"} {
		rest := Line{Outcome: l.Outcome[:at] + v + l.Outcome[at+1:]}
		all = append(all, rest.outcomes()...)
	}
	return all
}

// Source returns the PTX of the test's kernels.
func (t *Test) Source() []byte {
	text, err := sources.ReadFile("tests/" + t.File + ".ptx")
	if err != nil {
		panic(fmt.Sprintf("litmus: BUG: %s: %v", t.Name, err))
	}
	return text
}

// module returns the source with only the kernels that the test launches, each
// at its line: the others are not worth reading for every run.
func (t *Test) module() []byte {
	var b strings.Builder
	skip := false
	for line := range strings.Lines(string(t.Source())) {
		if rest, ok := strings.CutPrefix(line, entryDirective); ok {
			skip = !slices.ContainsFunc(t.Launches, func(l Launch) bool { return strings.HasPrefix(rest, l.Kernel+"(") })
		}
		if skip {
			line = "\n"
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

// entryDirective begins the line on which a kernel begins.
const entryDirective = ".visible .entry "

// gpus is how many GPUs the test needs.
func (t *Test) gpus() int {
	n := 0
	for _, l := range t.Launches {
		n = max(n, l.GPU)
	}
	for _, p := range []Place{t.X, t.Y, t.Z} {
		n = max(n, int(p))
	}
	return n + 1
}

// Case is a test with a setting of the hardware facts.
type Case struct {
	*Test
	Facts sim.Facts
	Lines []Line
}

// Tests returns every test, in the order of the tables.
func Tests() []*Test {
	var all []*Test
	for _, table := range [][]Test{orderTests, causeTests, blockTests, widthTests, streamTests} {
		for i := range table {
			all = append(all, &table[i])
		}
	}
	return all
}

// Cases returns the cases of a test.
func (t *Test) Cases() []Case {
	var all []Case
	for _, r := range t.Rules {
		for _, f := range r.Facts {
			all = append(all, Case{t, f, r.Lines})
		}
	}
	return all
}

// judge returns the line that speaks of an outcome, nil if none does.
func (c *Case) judge(outcome string) *Line {
	for i := range c.Lines {
		if l := &c.Lines[i]; l.matches(outcome) {
			return l
		}
	}
	return nil
}

// expected returns the allowed outcomes, in the order of the lines.
func (c *Case) expected() []string {
	var all []string
	for i := range c.Lines {
		l := &c.Lines[i]
		if !l.Allowed {
			continue
		}
		for _, o := range l.outcomes() {
			if c.judge(o) == l {
				all = append(all, o)
			}
		}
	}
	return all
}

// Text writes an outcome with the names of what was observed: "flag=1 data=0",
// or a fault's kind.
func (t *Test) Text(outcome string) string {
	values := strings.Fields(outcome)
	if len(values) != len(t.Sees) || !isValue(values[0]) {
		return outcome
	}
	for i := range values {
		values[i] = t.Sees[i] + "=" + values[i]
	}
	return strings.Join(values, " ")
}

// isValue tells an observed word, or a pattern of one, from a word of a fault's
// kind.
func isValue(s string) bool { return s[0] >= '0' && s[0] <= '9' || s == "?" || s == "*" }
