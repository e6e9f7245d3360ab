//go:build !(linux && (amd64 || arm64)) || nodl

package dl

import "errors"

func open(name string) (uintptr, error) {
	return 0, errors.New(name + ": this build loads no dynamic libraries")
}

func lookUp(uintptr, string) (uintptr, error) { return 0, ErrUnavailable }

// Call returns 0: nothing can be bound in this build.
func (p Proc) Call(...uintptr) uintptr { return 0 }
