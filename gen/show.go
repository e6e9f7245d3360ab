package gen

import (
	"context"
	"os"

	"github.com/ncclgo/ncclgo/coll"
)

// Shown is a kernel as -show prints it.
type Shown struct {
	Unit  Unit
	Text  []byte   // the rendered unit
	Files []string // headers it includes
	PTX   []byte
}

// Show renders the kernel that serves v, which is valid, and compiles it for the
// first of Options.Targets, or for its lowest target. It writes nothing. If v
// has no sources it returns nil.
func Show(ctx context.Context, o Options, v coll.Variant) (*Shown, error) {
	unit, ok := unitOf(Canonical(v))
	if !ok {
		return nil, nil
	}
	if len(o.Targets) > 0 {
		unit.Target = o.Targets[0]
	}
	src, err := readSources(os.DirFS(o.Root))
	if err != nil {
		return nil, err
	}
	compiler, err := NewCompiler(ctx, o.Compiler, o.Verbose)
	if err != nil {
		return nil, &UsageError{err}
	}
	j, err := newJob(unit, src, compiler)
	if err != nil {
		return nil, err
	}
	if err := o.compileAll(ctx, compiler, src, []*job{j}); err != nil {
		return nil, err
	}
	if _, bad := verify(unit, j.ptx, compiler.PinsPTX()); len(bad) > 0 {
		return nil, bad.err()
	}
	return &Shown{unit, j.text, src.closure(j.text), j.ptx}, nil
}

// unitOf returns the kernel of a canonical variant for its lowest target.
func unitOf(v coll.Variant) (Unit, bool) {
	for _, u := range Units() {
		if u.Variant == v {
			return u, true
		}
	}
	return Unit{}, false
}

// Built reports whether the kernel that serves v, which is valid, has sources.
func Built(v coll.Variant) bool {
	_, ok := unitOf(Canonical(v))
	return ok
}
