package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/coll"
)

func TestReplayCommand(t *testing.T) {
	flags := newFlags()
	given := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.addTo(given)
	require.NoError(t, given.Parse([]string{
		"-g", "3", "-d", "all", "--proto", "all", "--weak-memory", "--trace=false", "--schedules", "20", "--seed", "5",
		"--topo", "it's mine.xml", "--json", "-J", "out.json", "--device", "auto",
	}))
	env := newEnvironment([]string{"NCCL_NTHREADS=64", "NCCL_PROTO=LL", "NCCL_UNKNOWN=1", "HOME=/root", "NCCL_BUFFSIZE="}, given)
	for _, name := range []string{"NCCL_NTHREADS", "NCCL_PROTO", "NCCL_BUFFSIZE"} {
		env.lookup(name)
	}
	require.Equal(t,
		`NCCL_NTHREADS=64 nccl-run all-reduce --device sim --ngpus 3 --datatype all --weak-memory --trace=false --topo 'it'\''s mine.xml' --proto LL128 --seed 7`,
		replayCommand(given, env, bench.Replay{Seed: 7, Protos: []coll.Proto{coll.LL128}}))
}

// The command that a failed run prints fails in the same way: the same instruction
// of the same warps, whatever schedule the run was at.
func TestReplayRepeats(t *testing.T) {
	status, stdout, stderr := command("all-reduce", "--device", "sim", "-g", "3", "-b", "64", "-e", "256", "-f", "2",
		"--plant-hang", "1", "--weak-memory", "--proto", "all", "--seed", "9")
	require.Equal(t, StatusFailed, status)
	require.NotContains(t, stdout, "replay:")
	story, replay, found := strings.Cut(stderr[strings.Index(stderr, "nccl-run: seed 9: "):], "\n  replay: nccl-run ")
	require.True(t, found, stderr)
	require.Contains(t, story, "stuck")
	require.Contains(t, replay, "--proto LL --seed 9")
	status, _, again := command(strings.Fields(replay)...)
	require.Equal(t, StatusFailed, status)
	require.Contains(t, again, story)
	require.Contains(t, again, replay)
}

// Wrong results are followed by how to get them again, once for each pass.
func TestWrongResultsAreReplayable(t *testing.T) {
	flags := newFlags()
	given := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.addTo(given)
	var stdout strings.Builder
	out, err := newOutput(&Process{Stdout: &stdout, Stderr: io.Discard}, flags.o, &bench.Machine{Device: "sim"}, newEnvironment(nil, given), given)
	require.NoError(t, err)
	out.Wrong("one", bench.Replay{Seed: 1})
	out.Wrong("two", bench.Replay{Seed: 1})
	out.Wrong("three", bench.Replay{Seed: 2, Protos: []coll.Proto{coll.LL}})
	require.Equal(t, `# one
# replay: nccl-run all-reduce --device sim --seed 1
# two
# three
# replay: nccl-run all-reduce --device sim --proto LL --seed 2
`, stdout.String())

	// What a GPU does depends on more than a seed.
	stdout.Reset()
	out.m = &bench.Machine{Device: "cuda"}
	out.Wrong("four", bench.Replay{Seed: 3})
	require.Equal(t, "# four\n", stdout.String())
}
