package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/cli"
)

// deaf is a command that does not look at its context.
func deaf() {
	untilSignal()
	fmt.Println("ready")
	select {}
}

// started starts a command of this test binary and returns when it has printed a
// line that begins with mark.
func started(t *testing.T, mark string, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Args = args
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), mark) {
			break
		}
	}
	// A full pipe would keep the command waiting.
	go func() { _, _ = bufio.NewReader(out).WriteTo(&strings.Builder{}) }()
	return cmd, &stderr
}

// ended waits for a command, which must fail, and returns how long that took.
func ended(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	began := time.Now()
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, cli.StatusFailed, exit.ExitCode())
	return time.Since(began)
}

// slack is what a busy machine may add to grace.
const slack = 1500 * time.Millisecond

// A signal ends a run soon, whatever it is doing.
func TestSignalEndsTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: runs for seconds, which -short has no time for")
	}
	for _, phase := range []struct{ name, args string }{
		{"filling", "-g 1 -b 256M -e 256M"},
		{"enqueueing", "-g 2 -b 1K -e 1K -m 1000000"},
		{"running", "-g 8 -b 16M -e 16M"},
		{"checking", "-g 1 -b 256M -e 256M -c 1000"},
		{"iterating", "-g 2 -b 1K -e 1K -n 1000000"},
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%v", phase.name, signal), func(t *testing.T) {
				t.Parallel()
				cmd, stderr := started(t, "#        (B)", append([]string{"nccl-run", "all-reduce"}, strings.Fields(phase.args)...)...)
				time.Sleep(300 * time.Millisecond)
				require.NoError(t, cmd.Process.Signal(signal))
				require.Less(t, ended(t, cmd), grace+slack)
				require.Contains(t, stderr.String(), "nccl-run: interrupted")
			})
		}
	}
}

// A command that does not end on its own is ended: at once by a second signal,
// else after a moment.
func TestSignalEndsTheDeaf(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: waits for seconds, which -short has no time for")
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, stderr := started(t, "ready", "deaf")
		require.NoError(t, cmd.Process.Signal(signal))
		took := ended(t, cmd)
		require.GreaterOrEqual(t, took, grace/2)
		require.Less(t, took, grace+slack)
		require.Contains(t, stderr.String(), "did not end in time")

		cmd, stderr = started(t, "ready", "deaf")
		require.NoError(t, cmd.Process.Signal(signal))
		time.Sleep(50 * time.Millisecond) // two that are pending at once may be one
		require.NoError(t, cmd.Process.Signal(signal))
		require.Less(t, ended(t, cmd), grace/2)
		require.Empty(t, stderr.String())
	}
}
