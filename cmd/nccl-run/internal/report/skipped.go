package report

import (
	"fmt"
	"slices"
	"strings"
)

// SkippedText says on one line what was left out and why. Types with the same
// operators left out share a clause.
func SkippedText(skipped []Skipped) string {
	type clause struct{ ops, types []string }
	var groups []string // "protocol, reason", in order of appearance
	clauses := map[string][]clause{}
	for lo := 0; lo < len(skipped); {
		first := skipped[lo]
		var ops []string
		hi := lo
		for ; hi < len(skipped) && skipped[hi].same(first); hi++ {
			ops = append(ops, skipped[hi].Op)
		}
		lo = hi
		group := first.Reason
		if first.Proto != "" {
			group = first.Proto + " " + group
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		i := slices.IndexFunc(clauses[group], func(c clause) bool { return slices.Equal(c.ops, ops) })
		if i < 0 {
			i = len(clauses[group])
			clauses[group] = append(clauses[group], clause{ops: ops})
		}
		clauses[group][i].types = append(clauses[group][i].types, first.Type)
	}
	parts := make([]string, len(groups))
	for i, group := range groups {
		var texts []string
		for _, c := range clauses[group] {
			texts = append(texts, fmt.Sprintf("%s of %s", strings.Join(c.ops, " "), strings.Join(c.types, " ")))
		}
		parts[i] = group + ": " + strings.Join(texts, ", ")
	}
	plural := "s"
	if len(skipped) == 1 {
		plural = ""
	}
	return fmt.Sprintf("skipped %d combination%s: %s", len(skipped), plural, strings.Join(parts, "; "))
}

// same reports whether two differ in the operator only.
func (s Skipped) same(other Skipped) bool {
	s.Op, other.Op = "", ""
	return s == other
}
