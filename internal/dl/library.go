package dl

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable is the error of [Open] when no library of the given names can
// be loaded.
var ErrUnavailable = errors.New("library not available")

// Library is a loaded shared library.
type Library struct {
	name   string
	handle uintptr
}

// Name returns the name that the library was loaded by.
func (l *Library) Name() string { return l.name }

// Open loads the first of the named libraries that can be loaded. Its error is
// ErrUnavailable and says of each name why not.
func Open(names ...string) (*Library, error) {
	var reasons []string
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return &Library{name, handle}, nil
		}
		reasons = append(reasons, err.Error())
	}
	return nil, fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(reasons, "; "))
}

// Symbol is a row of a bind table.
type Symbol struct {
	Name     string
	Proc     *Proc
	Optional bool   // its absence is no error: Proc stays 0
	Since    string // the release that brought it, for the error
}

// MissingError lists the required symbols that a library lacks.
type MissingError struct {
	Library string
	Symbols []Symbol
}

// Error names every missing symbol and the release that brought it.
func (e *MissingError) Error() string {
	names := make([]string, len(e.Symbols))
	for i, s := range e.Symbols {
		names[i] = s.Name
		if s.Since != "" {
			names[i] += " (since " + s.Since + ")"
		}
	}
	return e.Library + " lacks " + strings.Join(names, ", ")
}

// Bind looks up every symbol of a table. If required ones are missing it sets
// nothing and returns a MissingError with all of them.
func (l *Library) Bind(table []Symbol) error {
	addresses := make([]uintptr, len(table))
	missing := &MissingError{Library: l.name}
	for i, s := range table {
		address, err := lookUp(l.handle, s.Name)
		if err != nil && !s.Optional {
			missing.Symbols = append(missing.Symbols, s)
		}
		addresses[i] = address
	}
	if len(missing.Symbols) > 0 {
		return missing
	}
	for i, s := range table {
		*s.Proc = Proc(addresses[i])
	}
	return nil
}

// Proc is the address of a C function that takes and returns integers and
// pointers; 0 if it is not bound.
type Proc uintptr

// Bound reports whether p can be called.
func (p Proc) Bound() bool { return p != 0 }
