package gen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// Compiler turns a unit into PTX.
type Compiler interface {
	// Name is "clang" or "nvcc".
	Name() string
	// Version is the compiler's version, such as "19.1.7".
	Version() string
	// PinsPTX reports whether the PTX version of the output is the target's,
	// rather than the compiler's own.
	PinsPTX() bool
	// Compile returns the PTX of a unit. dir holds the headers; nothing of its
	// name reaches the PTX. Compile may be called concurrently.
	Compile(ctx context.Context, dir string, unit []byte, t Target) ([]byte, error)
}

// compilers are the names that NewCompiler takes.
var compilers = []string{"clang", "nvcc"}

// CheckCompiler returns an error that lists the compilers if name is none.
func CheckCompiler(name string) error {
	if slices.Contains(compilers, name) {
		return nil
	}
	return &coll.ParseError{What: "compiler", Given: name, Allowed: compilers, Nearest: coll.Nearest(name, compilers)}
}

// NewCompiler returns the named compiler, or an error that says what is missing
// and how to get it. verbose, if not nil, is called with each command line.
func NewCompiler(ctx context.Context, name string, verbose func(string)) (Compiler, error) {
	if verbose == nil {
		verbose = func(string) {}
	}
	switch name {
	case "clang":
		return newClang(ctx, verbose)
	case "nvcc":
		return newNVCC(ctx, verbose)
	}
	return nil, CheckCompiler(name)
}

// flag is an argument of a compiler with the reason for it.
type flag struct{ arg, why string }

// clangMajor is the one major version of clang that is used: another would give
// other PTX for every kernel.
const clangMajor = 19

// clangFlags are the arguments for every target.
var clangFlags = []flag{
	{"--no-default-config", "what a distribution adds for host programs has no place here"},
	{"-xcuda", "the unit comes on standard input, so no suffix says what it is"},
	{"--cuda-device-only", "no host half"},
	{"-nocudainc", "no CUDA installation: device.cuh declares what the language lacks"},
	{"-nocudalib", "no libdevice: dtype.cuh defines all arithmetic"},
	{"-nostdinc", "no headers of the host: the result may not depend on its libc"},
	{"-nostdinc++", "nor on its C++ library"},
	{"-std=c++17", "the language of the headers"},
	{"-O3", "unrolled copy loops keep 16-byte accesses in flight"},
	{"-ffp-contract=off", "a multiply and an add stay two roundings: the same sum on every GPU"},
	{"-Wall", "the headers are free of warnings"},
	{"-Werror", "and stay so"},
	{"-fno-ident", "no compiler name in the output: the manifest has it"},
	{"-S", "PTX, not a cubin: the driver assembles"},
}

// flagsOf returns the arguments of the named compiler that shape its output for
// t, in order. Folders of headers are relative to the one it runs in.
func flagsOf(compiler string, t Target) []string {
	var args []string
	add := func(flags []flag) {
		for _, f := range flags {
			args = append(args, f.arg)
		}
	}
	switch compiler {
	case "clang":
		add(clangFlags)
		// The PTX version is pinned: a newer compiler may not raise the least
		// driver.
		args = append(args, "--cuda-gpu-arch="+t.String(), fmt.Sprintf("--cuda-feature=+ptx%d", t.PTX))
	case "nvcc":
		add(nvccFlags)
		args = append(args, fmt.Sprintf("-arch=compute_%d", t.SM))
	}
	for _, dir := range includePath {
		args = append(args, "-I"+dir)
	}
	return args
}

type clang struct {
	path    string
	version string
	verbose func(string)
}

// versionNumber is what follows "version " or "V" in the compilers' answers to
// --version.
var (
	clangVersion = regexp.MustCompile(`clang version (\d+)(\.[0-9.]+)`)
	nvccVersion  = regexp.MustCompile(`release [0-9.]+, V([0-9.]+)`)
)

// newClang finds clang by the name with its major version, then by the plain
// one.
func newClang(ctx context.Context, verbose func(string)) (*clang, error) {
	want := fmt.Sprintf("clang-%d", clangMajor)
	for _, name := range []string{want, "clang"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("%s --version: %w", name, err)
		}
		match := clangVersion.FindSubmatch(out)
		if match == nil {
			return nil, fmt.Errorf("%s --version names no clang version: %q", name, firstLine(out))
		}
		if major := string(match[1]); major != strconv.Itoa(clangMajor) {
			return nil, fmt.Errorf("%s is clang %s; kernels are compiled with clang %d only, since another version "+
				"changes them all: install %s (Debian: apt-get install %s)", name, major, clangMajor, want, want)
		}
		return &clang{path: path, version: string(match[1]) + string(match[2]), verbose: verbose}, nil
	}
	return nil, fmt.Errorf("%s: %w; install it (Debian: apt-get install %s)", want, exec.ErrNotFound, want)
}

func (c *clang) Name() string    { return "clang" }
func (c *clang) Version() string { return c.version }
func (c *clang) PinsPTX() bool   { return true }

// Compile pipes the unit through clang, so that there is no file whose name
// could end up anywhere.
func (c *clang) Compile(ctx context.Context, dir string, unit []byte, t Target) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.path, append(flagsOf("clang", t), "-o", "-", "-")...)
	cmd.Dir = dir
	// No variable reaches clang: CPATH and the like change what is compiled.
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Stdin = bytes.NewReader(unit)
	return output(cmd, c.verbose)
}

// output runs cmd and returns what it printed; what it complained of is the
// error.
func output(cmd *exec.Cmd, verbose func(string)) ([]byte, error) {
	verbose(cmd.String())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if complaint := bytes.TrimSpace(stderr.Bytes()); len(complaint) > 0 {
			return nil, errors.New(string(complaint))
		}
		return nil, fmt.Errorf("%s: %w", cmd.Path, err)
	}
	return stdout.Bytes(), nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
