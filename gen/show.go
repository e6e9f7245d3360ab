package gen

import (
	"context"
	"fmt"
	"os"

	"github.com/ncclgo/ncclgo/coll"
)

// Shown is a kernel as -show prints it.
type Shown struct {
	Unit  Unit
	Text  []byte   // the rendered unit
	Files []string // headers it includes
	PTX   []byte
	// Compiler made PTX, with its version.
	Compiler string
	// Archived: PTX is what generated/ has. Otherwise it was compiled now.
	Archived bool
	// Stale: the sources, as they are now, give something else than PTX.
	Stale bool
}

// ShowArchived returns the kernel that serves v, which is valid, as generated/
// has it; no compiler is needed. It returns nil if v has no sources or generated/
// has no kernel of it.
func ShowArchived(o Options, v coll.Variant) (*Shown, error) {
	unit, ok := unitOf(Canonical(v))
	if !ok {
		return nil, nil
	}
	root := os.DirFS(o.Root)
	stored, err := readStored(root)
	if err != nil {
		return nil, &UsageError{fmt.Errorf("%w; -compiler %s shows what the sources give", err, o.Compiler)}
	}
	m := stored[unit.Name()]
	if m == nil {
		return nil, nil
	}
	src, err := readSources(root)
	if err != nil {
		return nil, err
	}
	text, err := src.render(unit)
	if err != nil {
		return nil, err
	}
	j := &job{unit: unit, text: text, hash: src.hash(text), build: buildOf(m.build.Compiler, m.build.Version, unit.Target)}
	return &Shown{unit, text, src.closure(text), m.ptx, compilerOf(j), true, !j.same(m)}, nil
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
	return &Shown{unit, j.text, src.closure(j.text), j.ptx, compilerOf(j), false, false}, nil
}

// compilerOf names the compiler of a job with its version.
func compilerOf(j *job) string { return j.build.Compiler + " " + j.build.Version }

// unitOf returns the kernel of a canonical variant for its lowest target.
func unitOf(v coll.Variant) (Unit, bool) {
	for _, u := range Units() {
		if u.Variant == v {
			return u, true
		}
	}
	return Unit{}, false
}
