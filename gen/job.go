package gen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/ncclgo/ncclgo/internal/kernel"
)

// job is one kernel on its way from source to PTX.
type job struct {
	unit  Unit
	text  []byte
	hash  string
	build kernel.Build
	ptx   []byte
	took  time.Duration // to compile it
}

func newJob(u Unit, src *sources, c Compiler) (*job, error) {
	text, err := src.render(u)
	if err != nil {
		return nil, err
	}
	return &job{unit: u, text: text, hash: src.hash(text), build: buildOf(c.Name(), c.Version(), u.Target)}, nil
}

// buildOf describes how a compiler makes kernels for t.
func buildOf(compiler, version string, t Target) kernel.Build {
	return kernel.Build{Compiler: compiler, Version: version, SM: t.SM, PTX: t.PTX, Flags: flagsOf(compiler, t)}
}

// same reports whether compiling j would give what old has.
func (j *job) same(old *made) bool { return old.source == j.hash && sameBuild(old.build, j.build) }

// compileAll compiles jobs, several at once, in a scratch copy of the sources.
func (o *Options) compileAll(ctx context.Context, c Compiler, src *sources, jobs []*job) error {
	if len(jobs) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "nccl-gen-")
	if err != nil {
		return fmt.Errorf("make a folder for the compiler (TMPDIR): %w", err)
	}
	defer os.RemoveAll(dir)
	if err := src.lay(dir); err != nil {
		return err
	}

	errs := make([]error, len(jobs))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range max(1, min(o.Workers, len(jobs))) {
		workers.Go(func() {
			for i := range queue {
				start := time.Now()
				jobs[i].ptx, errs[i] = c.Compile(ctx, dir, jobs[i].text, jobs[i].unit.Target)
				jobs[i].took = time.Since(start)
			}
		})
	}
	for i := range jobs {
		queue <- i
	}
	close(queue)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted, nothing was written: %w", err)
	}
	return compileErrors(jobs, errs)
}

// complaint is the first line of what a compiler says that names an error, as
// clang (file:line:column: error:) and nvcc (file(line): error:) write it.
var complaint = regexp.MustCompile(`(?m)^([^\s:(]+)(?::(\d+):\d+|\((\d+)\)): ((?:fatal )?error: .*)$`)

// compileErrors gathers what the compiler complained of. Kernels that share a
// header share its mistakes, so each complaint is reported for the first kernel
// only.
func compileErrors(jobs []*job, errs []error) error {
	var list ErrorList
	first := map[string]*Error{}
	also := map[*Error]int{}
	for i, err := range errs {
		if err == nil {
			continue
		}
		e := &Error{Key: jobs[i].unit.Variant.String(), Err: err}
		text := err.Error()
		if match := complaint.FindStringSubmatchIndex(text); match != nil {
			part := complaint.FindStringSubmatch(text)
			e.File = part[1]
			e.Line, _ = strconv.Atoi(part[2] + part[3])
			e.Err = errors.New(text[match[8]:]) // from "error:" on: the place is said
			text = part[0]
		}
		if known, ok := first[text]; ok {
			also[known]++
			continue
		}
		first[text] = e
		list = append(list, e)
	}
	for _, e := range list {
		if n := also[e]; n > 0 {
			e.Key += fmt.Sprintf(" and %d more", n)
		}
	}
	return list.err()
}
