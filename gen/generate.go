package gen

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// Summary says what was generated.
type Summary struct {
	Kernels      int
	Compiled     int
	PTXBytes     int
	ArchiveBytes int
	Changed      []string // files written or removed
	// Slowest are the kernels that took longest to compile, the slowest first, at
	// most ten.
	Slowest []Timing
}

// Timing is what compiling one kernel took.
type Timing struct {
	Name     string // of the unit
	Took     time.Duration
	PTXBytes int
}

// Generate brings generated/ up to date. It compiles what changed, or what
// Options name, verifies every kernel and writes only if all is well; a full run
// also removes what is no longer generated.
func Generate(ctx context.Context, o Options) (*Summary, error) {
	units, err := o.units()
	if err != nil {
		return nil, err
	}
	root := os.DirFS(o.Root)
	src, err := readSources(root)
	if err != nil {
		return nil, err
	}
	stored, err := readStored(root)
	if err != nil {
		if o.partial() {
			return nil, &UsageError{fmt.Errorf("%w; the kernels to leave as they are cannot be read: run nccl-gen without -only and -arch", err)}
		}
		o.note("compiling everything: %v", err)
	}
	compiler, err := NewCompiler(ctx, o.Compiler, o.Verbose)
	if err != nil {
		return nil, &UsageError{err}
	}

	jobs := make([]*job, len(units))
	var todo []*job
	for i, u := range units {
		if jobs[i], err = newJob(u, src, compiler); err != nil {
			return nil, err
		}
		if old := stored[u.Name()]; o.Only == nil && old != nil && jobs[i].same(old) {
			jobs[i].ptx = old.ptx
		} else {
			todo = append(todo, jobs[i])
		}
	}
	if err := o.compileAll(ctx, compiler, src, todo); err != nil {
		return nil, err
	}

	p, err := verifyAll(jobs, compiler)
	if err != nil {
		return nil, err
	}
	if o.partial() {
		kept, err := keep(stored, p)
		if err != nil {
			return nil, err
		}
		p = append(p, kept...)
	}
	p.sort()
	files, err := p.emit(src)
	if err != nil {
		return nil, err
	}
	changed, err := writeFiles(o.Root, files, !o.partial())
	return &Summary{len(p), len(todo), p.ptxBytes(), len(files[archiveFile]), changed, slowest(todo)}, err
}

// slowest returns the ten jobs that took longest.
func slowest(jobs []*job) []Timing {
	all := make([]Timing, len(jobs))
	for i, j := range jobs {
		all[i] = Timing{j.unit.Name(), j.took, len(j.ptx)}
	}
	slices.SortStableFunc(all, func(a, b Timing) int { return cmp.Compare(b.Took, a.Took) })
	return all[:min(10, len(all))]
}

// verifyAll checks every kernel, also those that were not compiled now: the
// checks may be new.
func verifyAll(jobs []*job, c Compiler) (product, error) {
	var p product
	var errs ErrorList
	for _, j := range jobs {
		facts, bad := verify(j.unit, j.ptx, c.PinsPTX())
		errs = append(errs, bad...)
		p = append(p, &made{j.unit.Variant, j.build, j.hash, j.ptx, facts})
	}
	return p, errs.err()
}

// keep returns the stored kernels that are not among p, with their facts.
func keep(stored map[string]*made, p product) (product, error) {
	var kept product
	var errs ErrorList
	for _, m := range stored {
		if slices.ContainsFunc(p, func(n *made) bool { return n.name() == m.name() }) {
			continue
		}
		t := Target{SM: m.build.SM, PTX: m.build.PTX}
		var bad ErrorList
		m.facts, bad = verify(Unit{Variant: m.variant, Target: t}, m.ptx, false)
		errs = append(errs, bad...)
		kept = append(kept, m)
	}
	return kept, errs.err()
}
