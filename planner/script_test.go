package planner

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/golden"
)

// TestScript runs the commands of golden/planner/*.txt: "choose" prints the
// choice for a sum of f32 of each size, "explain" everything one was made from,
// "plan" what a group of such sums launches. After the machine and the ranks
// come sizes in bytes and options: proto=LL channels=3.
func TestScript(t *testing.T) {
	for _, file := range []string{"planner/choices.txt", "planner/plans.txt"} {
		golden.Script(t, file, func(input string) string { return runCommand(t, input) })
	}
}

func runCommand(t *testing.T, input string) string {
	words := strings.Fields(input)
	require.Greater(t, len(words), 3, "%q", input)
	ranks, err := strconv.Atoi(words[2])
	require.NoError(t, err)
	m := model(t, config(t, words[1], ranks, firstKernels))

	var calls []Call
	var o Options
	for _, word := range words[3:] {
		name, value, isOption := strings.Cut(word, "=")
		switch {
		case !isOption:
			calls = append(calls, sum(parseSize(t, word)/4))
		case name == "proto":
			p, err := coll.ParseProto(value)
			require.NoError(t, err)
			o.Protos = Protos(p)
		case name == "channels":
			o.Channels, err = strconv.Atoi(value)
			require.NoError(t, err)
		default:
			t.Fatalf("unknown option %q", word)
		}
	}
	var out strings.Builder
	var tasks []Task
	for _, c := range calls {
		e, err := m.Explain(c, o)
		if err != nil {
			return err.Error()
		}
		tasks = append(tasks, Task{c, e.Choice})
		switch words[0] {
		case "choose":
			out.WriteString(strconv.FormatInt(e.Choice.Bytes, 10) + ": " + e.Choice.String() + "\n")
		case "explain":
			out.WriteString(e.String())
		}
	}
	if words[0] == "plan" {
		p := m.Plan(tasks)
		return p.String()
	}
	return out.String()
}

// parseSize reads a size with nccl-tests' suffixes.
func parseSize(t *testing.T, s string) int64 {
	unit := int64(1)
	if i := strings.IndexAny(s, "KMG"); i >= 0 {
		unit = map[byte]int64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[s[i]]
		s = s[:i]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n * unit
}
