package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nccl-gen": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What cannot be written is a failure, however little it is.
func TestStandardOutputFails(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-list", "-built"}, {"-list", "-built", "-only", "AllReduce Sum f32 RING LL"}} {
		var stderr bytes.Buffer
		require.Equal(t, exitWrong, run(t.Context(), args, full{}, &stderr), args)
		require.Equal(t, "nccl-gen: no space left\n", stderr.String(), args)
	}
}

// TestScripts runs what needs no compiler.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: commands, Setup: layModule})
}

// TestCompileScripts runs what needs clang.
func TestCompileScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: compiles kernels, which -short has no time for")
	}
	testenv.Clang(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/compile", Cmds: commands, Setup: layModule})
}

var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits": exits, "append": appendFile, "archived": archived, "real": realFolder,
}

// exits runs a command and checks its exit status: exits 2 nccl-gen -x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// appendFile adds a file's text to another: append FILE TEXT.
func appendFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(file, []byte(ts.ReadFile(args[0])+ts.ReadFile(args[1])), 0o644))
}

// archived checks that an output begins with the PTX that programs have of a
// kernel: archived stdout SYMBOL.
func archived(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: archived stdout SYMBOL")
	}
	v, err := coll.ParseVariant(args[1])
	ts.Check(err)
	k, err := generated.Lookup(v, 70)
	ts.Check(err)
	text, err := k.PTX()
	ts.Check(err)
	if !strings.HasPrefix(ts.ReadFile(args[0]), string(text)) {
		ts.Fatalf("%s does not begin with the PTX of %s", args[0], args[1])
	}
}

// realFolder puts the files of a folder of the real module into the script's: real
// FOLDER.
func realFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: real FOLDER")
	}
	ts.Check(lay(filepath.Join(ts.Getenv("WORK"), "module"), path.Join(args[0], "*")))
}

// layModule puts a copy of what kernels are made of into $WORK/module, which the
// scripts may change. $TESTBIN is the folder of nccl-gen alone, $ROOT that of the
// real module.
func layModule(env *testscript.Env) error {
	env.Setenv("TESTBIN", filepath.SplitList(env.Getenv("PATH"))[0])
	env.Setenv("ROOT", testenv.Root())
	return lay(filepath.Join(env.WorkDir, "module"), "go.mod", "templates/cuda/*.cuh", "templates/cuda/*.tmpl", "internal/abi/*.go")
}

// lay copies files of the real module to another.
func lay(module string, patterns ...string) error {
	root := testenv.Root()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			to := filepath.Join(module, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(to, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
