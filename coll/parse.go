package coll

import (
	"fmt"
	"strings"
)

// ParseError says that a name is none of a vocabulary's.
type ParseError struct {
	What    string   // what was expected: "type", "algorithm"
	Given   string   // what was given
	Allowed []string // every name, in order
	Nearest string   // the allowed name closest to Given; empty if none is close
}

func (e *ParseError) Error() string {
	msg := fmt.Sprintf("unknown %s %q", e.What, e.Given)
	if e.Nearest != "" {
		msg += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return msg + " (allowed: " + strings.Join(e.Allowed, " ") + ")"
}

// parse finds the enum value below n whose String is s after folding.
func parse[E interface {
	~uint8
	String() string
}](what, s string, n int, others ...string) (E, error) {
	folded := fold(s)
	names := make([]string, n)
	for i := range n {
		names[i] = E(i).String()
		if fold(names[i]) == folded {
			return E(i), nil
		}
	}
	return 0, &ParseError{What: what, Given: s, Allowed: names, Nearest: Nearest(s, append(names, others...))}
}

// fold maps the spellings of one name onto one string: lower case, without
// underscores and hyphens.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// Nearest returns the name at the smallest edit distance from s, or "" if all
// differ from it in more than half of their characters. Ties go to the first.
func Nearest(s string, names []string) string {
	best, at := "", 0
	for _, name := range names {
		d := editDistance(fold(s), fold(name))
		if 2*d > max(len(s), len(name)) {
			continue
		}
		if best == "" || d < at {
			best, at = name, d
		}
	}
	return best
}

// editDistance is Levenshtein's: insertions, deletions and substitutions.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
