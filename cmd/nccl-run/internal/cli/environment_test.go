package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// Flags win over variables, and that is said once; so is what has no effect.
func TestFlagsWinOverVariables(t *testing.T) {
	const kernel = "kernel AllReduce_Sum_f32_RING_"
	for _, test := range []struct {
		name    string
		environ []string
		args    string
		runs    []string // kernels with their launches, in order
		says    string
	}{
		{
			name: "protocol", environ: []string{"NCCL_PROTO=Simple"}, args: "-b 1K -e 1K --proto all",
			runs: []string{"LL, 1 CTAs of 96", "LL128, 1 CTAs of 320", "SIMPLE, 1 CTAs of 64"},
			says: "nccl-run: flags win: --proto over NCCL_PROTO=Simple\n",
		},
		{
			name: "variable alone", environ: []string{"NCCL_PROTO=Simple"}, args: "-b 1K -e 1K",
			runs: []string{"SIMPLE, 1 CTAs of 64"},
		},
		{
			name: "channels", environ: []string{"NCCL_MIN_CTAS=2", "NCCL_MAX_NCHANNELS=2"}, args: "-b 64K -e 64K --channels 8 --proto LL",
			runs: []string{"LL, 8 CTAs of "},
			says: "nccl-run: flags win: --channels over NCCL_MIN_CTAS=2, --channels over NCCL_MAX_NCHANNELS=2\n",
		},
		{
			name: "algorithm", environ: []string{"NCCL_ALGO=Tree"}, args: "-b 1K -e 1K --algo auto",
			runs: []string{"LL, 1 CTAs of 96"},
			says: "nccl-run: flags win: --algo over NCCL_ALGO=Tree\n",
		},
		{
			name:    "not honoured",
			environ: []string{"NCCL_P2P_DISABLE=1", "NCCL_VERBOSE=1", "NCCL_VERSION=2.30", "NCCL_IB_HCA=", "NCCL_DEBUG=WARN", "HOME=/"},
			args:    "-b 1K -e 1K", runs: []string{"LL, 1 CTAs of 96"},
			says: "nccl-run: set, but not honoured here: NCCL_P2P_DISABLE NCCL_VERBOSE; docs/ENVIRONMENT.md lists what is\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, err bytes.Buffer
			status := Main(context.Background(), &Process{
				Args:    append([]string{"all-reduce", "-g", "2", "--trace"}, strings.Fields(test.args)...),
				Environ: test.environ, Stdout: &out, Stderr: &err,
			})
			require.Equal(t, StatusRight, status, err.String())
			var runs []string
			for _, line := range strings.Split(out.String(), "\n") {
				if _, what, ok := strings.Cut(line, kernel); ok {
					runs = append(runs, what)
				}
			}
			require.Len(t, runs, len(test.runs))
			for i, want := range test.runs {
				require.True(t, strings.HasPrefix(runs[i], want), runs[i])
			}
			_, notes, _ := strings.Cut(err.String(), "\n") // the device first
			notes, _, _ = strings.Cut(notes, "nccl-run: skipped")
			require.Equal(t, test.says, notes)
		})
	}
}

// docs/ENVIRONMENT.md has a row for every variable that the library asks for, and
// none besides.
func TestEnvironmentIsDocumented(t *testing.T) {
	var asked []string
	_, err := nccl.InitAll(t.Context(), nccl.Config{Getenv: func(name string) (string, bool) {
		asked = append(asked, name)
		return "", false
	}})
	require.ErrorContains(t, err, "Config.Devices", "all is read before anything is refused")

	programs, graph, p2p := documentedVariables(t)
	slices.Sort(asked)
	require.Equal(t, asked, programs)
	require.Equal(t, nccl.GraphVariables(), graph)
	require.Equal(t, nccl.P2PVariables(), p2p)

	for _, s := range speaking {
		for _, name := range s.variables {
			require.Contains(t, asked, name, "--%s wins over a variable that nobody reads", s.flag)
		}
	}
}

// documentedVariables returns the variables of the tables of docs/ENVIRONMENT.md,
// sorted: those of programs, of nccl-run graph and of nccl-run p2p-schedule.
func documentedVariables(t *testing.T) (programs, graph, p2p []string) {
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "docs", "ENVIRONMENT.md"))
	require.NoError(t, err)
	first, rest, found := strings.Cut(string(text), "\n## Variables of `nccl-run graph --set`\n")
	require.True(t, found)
	second, rest, found := strings.Cut(rest, "\n## Variables of `nccl-run p2p-schedule --set`\n")
	require.True(t, found)
	third, _, found := strings.Cut(rest, "\n## Tests\n")
	require.True(t, found)
	table := func(section string, columns int) (names []string) {
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) < 2 {
				continue
			}
			require.Len(t, cells, columns+2, line)
			names = append(names, regexp.MustCompile("NCCL(GO)?_[A-Z0-9_]+").FindAllString(cells[1], -1)...)
		}
		slices.Sort(names)
		return names
	}
	return table(first, 5), table(second, 4), table(third, 4)
}
