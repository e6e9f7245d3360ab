package gen

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// StaleError says that generated/ is not what the sources give.
type StaleError struct {
	Differences []string // one clause each
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s/ is not what the sources give:\n  %s\nto bring it up to date: go generate ./gen", outputDir,
		strings.Join(e.Differences, "\n  "))
}

// CheckResult says what was checked and found right.
type CheckResult struct {
	Kernels  int
	Compared bool   // the bytes of all kernels were compiled again and compared
	Compiler string // that made the kernels, with its version
	Why      string // why bytes were not compared
}

// String returns the result as one line.
func (r *CheckResult) String() string {
	if r.Compared {
		return fmt.Sprintf("checked %d kernels: source hashes, tables, and bytes with %s", r.Kernels, r.Compiler)
	}
	return fmt.Sprintf("checked %d kernels: source hashes and tables; not bytes, which %s made: %s", r.Kernels, r.Compiler, r.Why)
}

// Check proves that generated/ is what the sources give, without writing there:
// the hash of every kernel's sources, the tables and headers byte for byte, and,
// where the compiler of the manifest is at hand in its very version, every
// kernel byte for byte. Options.Compiler is ignored. What differs is a
// [*StaleError].
func Check(ctx context.Context, o Options) (*CheckResult, error) {
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
		return nil, &UsageError{fmt.Errorf("%w; run nccl-gen to write it anew", err)}
	}

	stale := &StaleError{}
	jobs, err := checkHashes(units, src, stored, stale)
	if err != nil {
		return nil, err
	}
	if !o.partial() {
		checkOrphans(units, stored, stale)
	}
	if len(stale.Differences) > 0 {
		return nil, stale
	}
	if err := checkTables(root, src, stored, stale); err != nil {
		return nil, err
	}
	result := &CheckResult{Kernels: len(units)}
	if err := o.checkBytes(ctx, jobs, src, stored, stale, result); err != nil {
		return nil, err
	}
	if len(stale.Differences) > 0 {
		return nil, stale
	}
	return result, nil
}

// checkHashes compares each unit's sources and flags with the manifest's, and
// returns the jobs that would make them again.
func checkHashes(units []Unit, src *sources, stored map[string]*made, stale *StaleError) ([]*job, error) {
	var jobs []*job
	for _, u := range units {
		old := stored[u.Name()]
		if old == nil {
			stale.Differences = append(stale.Differences, u.Name()+" has sources but no kernel")
			continue
		}
		text, err := src.render(u)
		if err != nil {
			return nil, err
		}
		j := &job{unit: u, text: text, hash: src.hash(text), build: buildOf(old.build.Compiler, old.build.Version, u.Target)}
		if !j.same(old) {
			what := "its sources"
			if j.hash == old.source {
				what = "the compiler's flags"
			}
			stale.Differences = append(stale.Differences, fmt.Sprintf("%s was made before %s changed", u.Name(), what))
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// checkOrphans finds kernels that have no sources any more.
func checkOrphans(units []Unit, stored map[string]*made, stale *StaleError) {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if !slices.ContainsFunc(units, func(u Unit) bool { return u.Name() == name }) {
			stale.Differences = append(stale.Differences, name+" has no sources any more")
		}
	}
}

// checkTables compares the files of generated/ with what the stored kernels
// give.
func checkTables(root fs.FS, src *sources, stored map[string]*made, stale *StaleError) error {
	p, err := keep(stored, nil)
	if err != nil {
		return err
	}
	p.sort()
	files, err := p.emit(src)
	if err != nil {
		return err
	}
	differ, err := sameFiles(root, files)
	for _, name := range differ {
		stale.Differences = append(stale.Differences, outputDir+"/"+name+" is not what nccl-gen writes")
	}
	return err
}

// checkBytes compiles again what compilers at hand have made and compares. The
// result says whether that was everything.
func (o *Options) checkBytes(ctx context.Context, jobs []*job, src *sources, stored map[string]*made, stale *StaleError, result *CheckResult) error {
	byCompiler := map[string][]*job{}
	for _, j := range jobs {
		made := j.build.Compiler + " " + j.build.Version
		byCompiler[made] = append(byCompiler[made], j)
	}
	names := slices.Sorted(maps.Keys(byCompiler))
	result.Compiler = strings.Join(names, " and ")
	result.Compared = true
	for _, name := range names {
		jobs := byCompiler[name]
		build := jobs[0].build
		compiler, err := NewCompiler(ctx, build.Compiler, o.Verbose)
		if err == nil && compiler.Version() != build.Version {
			err = fmt.Errorf("here is %s %s", compiler.Name(), compiler.Version())
		}
		if err != nil {
			result.Compared, result.Why = false, err.Error()
			continue
		}
		if err := o.compileAll(ctx, compiler, src, jobs); err != nil {
			return err
		}
		for _, j := range jobs {
			if !bytes.Equal(j.ptx, stored[j.unit.Name()].ptx) {
				stale.Differences = append(stale.Differences, fmt.Sprintf("%s has other bytes than %s makes of the same sources", j.unit.Name(), name))
			}
		}
	}
	return nil
}
