package coll

import (
	"fmt"
	"slices"
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

// parse finds the enum value below n whose String is s after folding. Names that
// it also accepts come first among the allowed ones.
func parse[E interface {
	~uint8
	String() string
}](what, s string, n int, also ...string) (E, error) {
	folded := fold(s)
	names := also
	for i := range n {
		name := E(i).String()
		if fold(name) == folded {
			return E(i), nil
		}
		if !slices.Contains(also, name) {
			names = append(names, name)
		}
	}
	return 0, &ParseError{What: what, Given: s, Allowed: names, Nearest: Nearest(s, names)}
}

// fold maps the spellings of one name onto one string: lower case, without
// underscores and hyphens.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// shortName is the length up to which a name must begin as another does to be
// taken for it: of four letters one is a quarter, and gcc is no nvcc.
const shortName = 4

// Nearest returns the name that s is plausibly a slip of, or "" if there is none:
// the one at the smallest distance, of at most a third of the characters, and
// with the same first letter if it is short. Ties go to the first.
func Nearest(s string, names []string) string {
	best, at := "", 0
	given := fold(s)
	for _, name := range names {
		meant := fold(name)
		if given == "" || meant == "" {
			continue
		}
		length := max(len(given), len(meant))
		d := distance(given, meant)
		if d > max(1, length/3) || length <= shortName && given[0] != meant[0] {
			continue
		}
		if best == "" || d < at {
			best, at = name, d
		}
	}
	return best
}

// otherDigit is what a digit in place of another costs in a short name: who
// writes another number there means another thing, sm_80 is not sm_70.
const otherDigit = 2

// distance counts the slips that make b of a: a character too many, too few or
// in place of another, and two that changed places.
func distance(a, b string) int {
	// rows[i][j] is the distance of the first i characters of a and j of b.
	rows := make([][]int, len(a)+1)
	short := max(len(a), len(b)) <= shortName
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			switch {
			case a[i-1] == b[j-1]:
				cost = 0
			case short && isDigit(a[i-1]) && isDigit(b[j-1]):
				cost = otherDigit
			}
			d := min(rows[i-1][j-1]+cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
