package gen

import (
	"errors"
	"fmt"
	"slices"
)

// Options say what to generate and how.
type Options struct {
	Root     string   // the module's folder
	Compiler string   // "clang" or "nvcc"
	Only     *Pattern // nil for all
	Targets  []Target // nil for all
	Workers  int      // compilers at once
	// Verbose, if not nil, is called with each command line and each note.
	// Calls may come from several goroutines.
	Verbose func(string)
}

func (o *Options) note(format string, args ...any) {
	if o.Verbose != nil {
		o.Verbose(fmt.Sprintf(format, args...))
	}
}

// partial reports whether only some kernels are concerned, so that the others
// are left as they are.
func (o *Options) partial() bool { return o.Only != nil || o.Targets != nil }

// units returns the kernels that o names, of those that have sources.
func (o *Options) units() ([]Unit, error) {
	var units []Unit
	for _, u := range Units() {
		if (o.Only == nil || o.Only.MatchUnit(u)) && (o.Targets == nil || slices.Contains(o.Targets, u.Target)) {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return nil, o.nothing()
	}
	return units, nil
}

// UsageError is a refused request: nothing was done.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// nothing says why no kernel with sources is named.
func (o *Options) nothing() error {
	named := func(u Unit) bool { return o.Only.MatchUnit(u) }
	if o.Only == nil || slices.ContainsFunc(Units(), named) {
		return &UsageError{fmt.Errorf("none of the variants that the pattern names has a source of its own for %s; targets are for variants whose source differs there", alternatives(o.Targets))}
	}
	valid, invalid := 0, 0
	var reason *Reason
	for _, row := range Space() {
		if !o.Only.Match(row.Variant) {
			continue
		}
		if row.Reason == nil {
			valid++
		} else {
			invalid++
			reason = row.Reason
		}
	}
	switch {
	case valid > 0:
		return &UsageError{fmt.Errorf("none of the %d valid variants that the pattern names has sources; nccl-gen -list -built lists those that have", valid)}
	case invalid == 1:
		return &UsageError{fmt.Errorf("the pattern names an invalid variant: %s", reason.Text)}
	case invalid > 1:
		return &UsageError{fmt.Errorf("all %d variants that the pattern names are invalid; the last because %s", invalid, reason.Text)}
	default:
		return &UsageError{errors.New("the pattern names no variant: a field that its function does not have is *")}
	}
}
