package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/gen"
)

const usage = `nccl-gen writes generated/: every kernel that has sources, compiled, verified and
archived, and the Go tables by which a program finds it. It recompiles what
changed since the last run. Run it anywhere in the module, or by go generate.

  nccl-gen [-only PATTERN] [-arch LIST] [-compiler NAME] [-j N] [-v]
  nccl-gen -check [-only PATTERN] [-v]
  nccl-gen -list [-built] [-only PATTERN]
  nccl-gen -show VARIANT [-arch TARGET] [-compiler NAME] [-v]

  -only PATTERN    compile these kernels, changed or not, and leave the rest as
                   they are. A pattern is words for function, operator, type,
                   algorithm and protocol: names, a|b, or * for all
                   ('AllReduce Sum f32 * *', 'Broadcast RING LL|Simple')
  -arch LIST       only for these targets: sm_70, sm_90, or both with a comma
  -compiler NAME   clang (the default; version 19) or nvcc
  -check           write nothing; fail if generated/ is not what the sources
                   give. Compares bytes where the compiler is the very version
                   that made the kernels, source hashes everywhere
  -list            print the variant space: NCCL's rows first, in its order
  -built           with -list: only variants that a kernel serves
  -show VARIANT    print the PTX of a variant's kernel (AllReduce_Sum_f32_RING_LL),
                   whose lines have the numbers that faults give, and its unit;
                   as programs carry it, with -arch or -compiler compiled now
  -j N             compile N kernels at once (default: the processors)
  -v               print each compiler command, and which kernels took longest
  -h               print this

Exit status: 0 right; 1 kernels do not compile, fail verification or are stale;
2 refused request.
`

// request is what the command line asks for.
type request struct {
	help    bool
	list    bool
	built   bool
	check   bool
	show    string
	verbose bool
	compile bool // with show: what the sources give, not what is archived
	options gen.Options
}

// without lists the flags that would change nothing of an action: who gives them
// expects something else.
var without = map[string][]string{"list": {"arch", "compiler"}, "check": {"compiler"}, "show": {"only"}}

// parse reads the command line. Compiler commands go to stderr with -v.
func parse(args []string, stderr io.Writer) (*request, error) {
	var r request
	var only, arch string
	fs := flag.NewFlagSet("nccl-gen", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&r.list, "list", false, "")
	fs.BoolVar(&r.built, "built", false, "")
	fs.BoolVar(&r.check, "check", false, "")
	fs.StringVar(&r.show, "show", "", "")
	fs.StringVar(&only, "only", "", "")
	fs.StringVar(&arch, "arch", "", "")
	fs.StringVar(&r.options.Compiler, "compiler", "clang", "")
	fs.IntVar(&r.options.Workers, "j", runtime.GOMAXPROCS(0), "")
	fs.BoolVar(&r.verbose, "v", false, "")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			r.help = true
			return &r, nil
		}
		return nil, explain(fs, err)
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })

	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; a pattern of several words is one argument in quotes", fs.Arg(0))
	case count(r.list, r.check, given["show"]) > 1:
		return nil, errors.New("-list, -check and -show exclude one another")
	case r.built && !r.list:
		return nil, errors.New("-built goes with -list")
	case given["show"] && r.show == "":
		return nil, errors.New("-show: no variant given; a variant reads like AllReduce_Sum_f32_RING_LL")
	case r.options.Workers < 1:
		return nil, fmt.Errorf("-j %d: at least one kernel must be compiled at a time", r.options.Workers)
	}
	for action, flags := range without {
		for _, name := range flags {
			if given[action] && given[name] {
				return nil, fmt.Errorf("-%s says nothing to -%s; leave it out", name, action)
			}
		}
	}
	r.compile = given["arch"] || given["compiler"]
	var err error
	if given["only"] {
		if r.options.Only, err = gen.ParsePattern(only); err != nil {
			return nil, fmt.Errorf("-only: %w", err)
		}
	}
	if given["arch"] {
		if r.options.Targets, err = gen.ParseTargets(arch); err != nil {
			return nil, fmt.Errorf("-arch: %w", err)
		}
	}
	if given["show"] && len(r.options.Targets) > 1 {
		return nil, fmt.Errorf("-arch %s: -show compiles for one target", arch)
	}
	if err := gen.CheckCompiler(r.options.Compiler); err != nil {
		return nil, fmt.Errorf("-compiler: %w", err)
	}
	if r.verbose {
		var mu sync.Mutex // of stderr: compilers run concurrently
		r.options.Verbose = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(stderr, line)
		}
	}
	return &r, nil
}

func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// unknownFlag is how package flag says that there is no such flag.
var unknownFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)

// explain turns an error of package flag into one that says what to do.
func explain(fs *flag.FlagSet, err error) error {
	match := unknownFlag.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Errorf("%w (nccl-gen -h explains the flags)", err)
	}
	names := []string{"h"}
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	hint := ""
	if near := coll.Nearest(match[1], names); near != "" {
		hint = fmt.Sprintf("; did you mean -%s?", near)
	}
	return fmt.Errorf("unknown flag -%s%s (flags: -%s)", match[1], hint, strings.Join(names, " -"))
}

// moduleLine is the line of go.mod by which the module is recognised.
var moduleLine = regexp.MustCompile(`(?m)^module github\.com/ncclgo/ncclgo\s*$`)

// findRoot returns the folder of the module that the working directory is in.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && moduleLine.Match(text) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is not in the module github.com/ncclgo/ncclgo, whose kernels nccl-gen writes: change into it")
		}
	}
}
