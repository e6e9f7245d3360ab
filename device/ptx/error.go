package ptx

import (
	"fmt"
	"strings"
)

// Error is one fault of a PTX text.
type Error struct {
	File string
	Line int
	Text string // the offending statement; empty if there is none
	Msg  string
}

// Error returns "file:line: message: text".
func (e *Error) Error() string {
	msg := fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	if e.Text != "" {
		msg += ": " + e.Text
	}
	return msg
}

// ErrorList is every fault found in a PTX text, in the order of the text.
// errors.As finds its first [*Error].
type ErrorList []*Error

// maxErrors is how many errors Parse collects before it gives up.
const maxErrors = 20

// Error returns the errors, one a line.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors one by one.
func (l ErrorList) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// nearest returns the name that shares the longest beginning and end with s,
// or "" if none shares half of it.
func nearest(s string, names []string) string {
	best, most := "", 0
	for _, name := range names {
		n := min(len(s), len(name))
		i := 0
		for i < n && s[i] == name[i] {
			i++
		}
		j := 0
		for j < n-i && s[len(s)-1-j] == name[len(name)-1-j] {
			j++
		}
		shared := 2*(i+j) - max(len(s), len(name))
		if shared >= 0 && (best == "" || shared > most) {
			best, most = name, shared
		}
	}
	return best
}
