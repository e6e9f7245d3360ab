package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// Fact is something that is said of the machine.
type Fact struct {
	Subject string // what it is about: "GPU 0000:1b:00.0", "NUMA node 0", "port eth0"
	Name    string // attribute of the topology file, or what it stands for: "link_speed", "NVLinks"
	Value   string // "" if nothing is said
	// From is where it was read: "sysfs", "NVML", "CUDA", "environment", or the name of
	// a file; "" if it was not.
	From string
	// Why says why it was not read, or what is odd about it.
	Why string
}

// Assumed reports whether nobody told the fact.
func (f *Fact) Assumed() bool { return f.From == "" }

// Places that facts come from.
const (
	fromSysfs = "sysfs"
	fromProc  = "/" + cpuFile
	fromNVML  = "NVML"
	fromCUDA  = "CUDA"

	fromEnvironment = "environment"
)

// ledger collects facts, each once.
type ledger struct {
	facts []Fact
	seen  map[Fact]bool
}

func (l *ledger) add(f Fact) {
	if l.seen == nil {
		l.seen = map[Fact]bool{}
	}
	if !l.seen[f] {
		l.seen[f] = true
		l.facts = append(l.facts, f)
	}
}

func (l *ledger) measured(subject, name, value, from string) {
	l.add(Fact{Subject: subject, Name: name, Value: value, From: from})
}

func (l *ledger) assumed(subject, name, value, why string) {
	l.add(Fact{Subject: subject, Name: name, Value: value, Why: why})
}

// odd is a fact that was measured and should not be so, unless why is "".
func (l *ledger) odd(subject, name, value, from, why string) {
	l.add(Fact{subject, name, value, from, why})
}

// notes says each assumption, and each odd fact, once, with all that it is about.
func (l *ledger) notes() []topo.Note {
	type claim struct{ name, value, from, why string }
	var order []claim
	subjects := map[claim][]string{}
	for _, f := range l.facts {
		if f.Why == "" {
			continue
		}
		a := claim{f.Name, f.Value, f.From, f.Why}
		if subjects[a] == nil {
			order = append(order, a)
		}
		if !slices.Contains(subjects[a], f.Subject) {
			subjects[a] = append(subjects[a], f.Subject)
		}
	}
	var notes []topo.Note
	for _, a := range order {
		what := a.name
		if a.value != "" {
			what += " " + a.value
		}
		notes = append(notes, topo.Note{Text: fmt.Sprintf("%s: %s: %s; %s", cmp.Or(a.from, "assumed"), joined(subjects[a]), what, a.why)})
	}
	return notes
}

// joined lists subjects, saying once what those of one kind are.
func joined(subjects []string) string {
	var b strings.Builder
	before := ""
	for i, s := range subjects {
		kind, name, named := strings.Cut(s, " ")
		switch {
		case i == 0:
			b.WriteString(s)
		case named && kind == before:
			b.WriteString(", " + name)
		default:
			b.WriteString(", " + s)
		}
		before = kind
	}
	return b.String()
}
