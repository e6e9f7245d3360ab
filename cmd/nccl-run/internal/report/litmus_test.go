package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/litmus"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/internal/golden"
)

// litmusEffort is what litmusResults were found with.
var litmusEffort = litmus.Effort{Seed: 7, Least: 500, Most: 20_000}

// litmusResults has a case that is right and one with everything that can be
// wrong.
func litmusResults() []*litmus.Result {
	test := &litmus.Test{Name: "mp", Sees: []string{"flag", "data"}}
	return []*litmus.Result{
		{Case: litmus.Case{Test: test}, Runs: 500, Counts: []litmus.Count{
			{Outcome: "1 1", Allowed: true, Seen: 500, Seed: 7, Why: "the reader was behind the writer"},
			{Outcome: "1 0", Why: "a release"},
		}},
		{Case: litmus.Case{Test: test, Facts: sim.AllFacts}, Runs: 20_000, Counts: []litmus.Count{
			{Outcome: "1 1", Allowed: true, Why: "the reader was behind the writer"},
			{Outcome: "1 0", Seen: 3, Seed: 12, Why: "a release"},
			{Outcome: "race", Seen: 19_997, Seed: 7, Why: "no rule allows it", Fault: &device.Fault{
				Kind: device.Race, Kernel: "get", File: "mp.ptx", Line: 4, Text: "ld.global.u32 v, [x]",
				Others: []*device.Fault{{Kernel: "put", File: "mp.ptx", Line: 2, Text: "st.global.u32 [x], 1"}},
			}},
		}},
	}
}

func TestLitmusTable(t *testing.T) {
	var out bytes.Buffer
	table := NewLitmusTable(&out, litmusEffort)
	for _, r := range litmusResults() {
		table.Row(r)
	}
	require.NoError(t, table.End())
	golden.Check(t, "nccl-run/litmus.txt", out.Bytes())
}

func TestLitmusDocument(t *testing.T) {
	d := NewLitmus(litmusEffort)
	for _, r := range litmusResults() {
		d.Add(r)
	}
	var out bytes.Buffer
	require.NoError(t, d.Write(&out))
	text := out.String()
	back, err := DecodeLitmus(&out)
	require.NoError(t, err)
	require.Equal(t, d, back)
	require.Equal(t, 1, back.Wrong)
	require.Equal(t, LitmusOutcome{Outcome: "flag=1 data=0", Seen: 3, Seed: 12, Why: "a release"}, back.Cases[1].Outcomes[1])

	edit := func(old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	tests := map[string]struct{ text, want string }{
		"empty":         {"", "document of nccl-run litmus: it is empty"},
		"other format":  {edit("ncclgo litmus", "ncclgo doctor"), `it is "ncclgo doctor", version 1; "ncclgo litmus", version 1 is read`},
		"other version": {edit(`"version":1`, `"version":2`), `it is "ncclgo litmus", version 2; "ncclgo litmus", version 1 is read`},
		"unknown field": {edit(`"runs"`, `"rums"`), "rums"},
		"two":           {text + text, "something follows the JSON object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeLitmus(strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}
