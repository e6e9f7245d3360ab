package parity

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Tally counts comparisons by kind of figure.
type Tally struct {
	kinds  []string // in order of their first comparison
	counts map[string]*count
}

type count struct {
	equal, total int
	unequal      []string
}

// Compare counts one comparison of a kind ("ring channels"): whether got is
// deeply equal to want, which NCCL computed in the run of that name.
func (t *Tally) Compare(kind, run string, want, got any) bool {
	if t.counts == nil {
		t.counts = map[string]*count{}
	}
	c := t.counts[kind]
	if c == nil {
		c = &count{}
		t.counts[kind] = c
		t.kinds = append(t.kinds, kind)
	}
	c.total++
	equal := reflect.DeepEqual(want, got)
	if equal {
		c.equal++
	} else {
		c.unequal = append(c.unequal, fmt.Sprintf("%s: NCCL has %s, here is %s", run, short(want), short(got)))
	}
	return equal
}

// Kinds returns the kinds in the order of their first comparison.
func (t *Tally) Kinds() []string { return t.kinds }

// Unequal returns the comparisons of a kind that failed, one string each.
func (t *Tally) Unequal(kind string) []string {
	if c := t.counts[kind]; c != nil {
		return c.unequal
	}
	return nil
}

// maxListed bounds the unequal comparisons of a kind that Log shows.
const maxListed = 12

// Log logs equal and total for each kind, then what is unequal.
func (t *Tally) Log(tb testing.TB) {
	tb.Helper()
	var b strings.Builder
	for _, kind := range t.kinds {
		c := t.counts[kind]
		fmt.Fprintf(&b, "%-28s %5d of %5d equal\n", kind, c.equal, c.total)
	}
	for _, kind := range t.kinds {
		for i, line := range t.counts[kind].unequal {
			if i == maxListed {
				fmt.Fprintf(&b, "%s: and %d more\n", kind, len(t.counts[kind].unequal)-i)
				break
			}
			fmt.Fprintf(&b, "%s: %s\n", kind, line)
		}
	}
	tb.Log("\n" + b.String())
}

// maxShown bounds the bytes of a value that a line shows.
const maxShown = 240

func short(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return s
}
