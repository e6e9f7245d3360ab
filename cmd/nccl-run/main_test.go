package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nccl-run": main})
}

// Each script runs the command as a user would and looks at what it prints.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status,
			"report": decodeReport,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "short" {
				return testing.Short(), nil
			}
			return false, errors.New("unknown condition " + cond)
		},
	})
}

// status runs a command that must end with the given exit status:
// status 2 nccl-run ...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status n command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// decodeReport reads a file that must be a report of nccl-run with the given
// number of results and nothing wrong: report file n.
func decodeReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: report file results")
	}
	d, err := report.Decode(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if got := strconv.Itoa(len(d.Results)); got != args[1] {
		ts.Fatalf("%s results, want %s", got, args[1])
	}
	if d.OutOfBounds.Count != 0 || len(d.Errors) != 0 {
		ts.Fatalf("out of bounds: %d, errors: %q", d.OutOfBounds.Count, d.Errors)
	}
	for _, r := range d.Results {
		if r.Out.Time <= 0 || r.In.Time <= 0 || r.Out.NWrong == nil || *r.Out.NWrong != 0 {
			ts.Fatalf("result %+v", r)
		}
		if r.Count > 0 && r.Decision.Kernel == "" {
			ts.Fatalf("no kernel for %+v", r)
		}
	}
}
