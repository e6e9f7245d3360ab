package planner

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// table returns the text of a tuning table with the given rows.
func table(rows ...string) string {
	return `{"format": "ncclgo tuning", "version": 1, "rows": [` + strings.Join(rows, ", ") + `]}`
}

func TestTuningRefusals(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "unexpected end of JSON input; it is a JSON object with format, version and rows"},
		{`{"format": `, "unexpected end of JSON input; it is a JSON object"},
		{`{"format": "ncclgo tuning"} "rows": []`, "invalid character '\"' after top-level value; it is a JSON object"},
		{`{"rows": [], "version": 1, "rows": []}`, `"rows" stands there twice; it is a JSON object`},
		{"[]", "not an object; it is a JSON object with format, version and rows"},
		{table() + "x", "after top-level value"},
		{`{"format": "ncclgo tuning", "version": 2, "rows": []}`, `format "ncclgo tuning", version 2; "ncclgo tuning", version 1 is allowed`},
		{`{"format": "ncclgo tuning", "version": 1, "row": []}`, `unknown field "row"; did you mean "rows"? (allowed: format version rows)`},
		{`{"format": "ncclgo tuning", "version": 1}`, `no rows; it has a format "ncclgo tuning", a version 1 and a list of rows`},
		{`{"format": "ncclgo tuning", "version": 1, "rows": null}`, `no rows; it has a format`},
		{`{"format": "ncclgo tuning", "version": "1", "rows": []}`, `version "1"; it has a format "ncclgo tuning", a version 1`},
		{table("3"), "row 1: not an object"},
		{table("null"), "row 1: not an object"},
		{table(`{"func": "AllReduce", "algo": "Ring", "func": "Reduce"}`), `row 1: "func" stands there twice`},
		{table(`{"func": "AllReduce", "algo": null}`), `row 1: algo: null is not a name in quotes`},
		{table(`{"func": "AllReduce", "channels": null}`), `row 1: channels: null is not a whole number`},
		{table(`{"func": "AllReduce", "chanels": 2}`), `row 1: unknown column "chanels"; did you mean "channels"? (allowed: algo channels func maxBytes minBytes nNodes nRanks proto threads)`},
		{table(`{"func": "allredcue", "channels": 2}`), `row 1: func: unknown function "allredcue"; did you mean "AllReduce"?`},
		{table(`{"func": "SendRecv", "channels": 2}`), `row 1: func: SendRecv has neither algorithms nor protocols`},
		{table(`{"func": "AllReduce", "algo": "rign"}`), `row 1: algo: unknown algorithm "rign"; did you mean "Ring"?`},
		{table(`{"func": "AllReduce", "proto": 3}`), `row 1: proto: 3 is not a name in quotes`},
		{table(`{"func": "AllReduce", "channels": 65}`), `row 1: channels: 65 is out of range; allowed are 1 to 64`},
		{table(`{"func": "AllReduce", "threads": 100}`), `row 1: threads: 100 is no multiple of 32`},
		{table(`{"func": "AllReduce", "minBytes": -1, "channels": 1}`), `row 1: minBytes: -1 is out of range; the smallest is 0`},
		{table(`{"func": "AllReduce", "maxBytes": 1.5, "channels": 1}`), `row 1: maxBytes: 1.5 is not a whole number`},
		{table(`{"channels": 1}`), `row 1: no func; a row says for which function it is`},
		{table(`{"func": "AllReduce", "maxBytes": 8}`), `row 1: says nothing; give at least one of algo, proto, channels and threads`},
		{table(`{"func": "AllReduce", "minBytes": 9, "maxBytes": 8, "channels": 1}`), `row 1: minBytes 9 is more than maxBytes 8`},
		{
			table(`{"func": "AllReduce", "maxBytes": 8, "channels": 1}`, `{"func": "Reduce", "channels": 1}`, `{"func": "AllReduce", "minBytes": 8, "nRanks": 4, "channels": 2}`),
			"rows 1 and 3 are both for AllReduce of 8 bytes; give each size to one of them",
		},
	} {
		_, err := ParseTuning("t.json", []byte(test.text))
		require.ErrorIs(t, err, result.ErrInvalidArgument, test.text)
		require.ErrorContains(t, err, "tuning table t.json: ")
		require.ErrorContains(t, err, test.want)
	}
}

// TestTuning looks at what goes before what: call options, settings, table, model.
func TestTuning(t *testing.T) {
	cfg := config(t, "dgx-h100", 8, allKernels)
	var err error
	cfg.Tuning, err = ParseTuning("t.json", []byte(table(
		`{"func": "AllReduce", "maxBytes": 1023, "algo": "Tree"}`,
		`{"func": "AllReduce", "minBytes": 1024, "maxBytes": 4095, "proto": "Simple", "channels": 3, "threads": 96}`,
		`{"func": "AllReduce", "minBytes": 4096, "nRanks": 4, "algo": "Ring"}`,
		`{"func": "AllReduce", "minBytes": 4096, "nRanks": 8, "nNodes": 1, "channels": 60}`,
		`{"func": "Broadcast", "nRanks": 4, "algo": "Tree"}`,
	)))
	require.NoError(t, err)
	plain := model(t, config(t, "dgx-h100", 8, allKernels))
	m := model(t, cfg)
	protos, err := ParseProtos("LL")
	require.NoError(t, err)
	restricted := *cfg
	restricted.Settings.Protos = protos
	r := model(t, &restricted)
	for _, test := range []struct {
		name     string
		m        *Model
		bytes    int64
		o        Options
		row      int
		variant  string
		channels int
		note     string
	}{
		{"algorithm", m, 512, Options{}, 1, "TREE_LL", 1, "row 1 of the tuning table: Tree"},
		{"algorithm with the call's protocol", m, 512, Options{Protos: Protos(coll.Simple)}, 1, "TREE_SIMPLE", 1, "row 1 of the tuning table: Tree"},
		{"algorithm with the settings' protocol", r, 512, Options{}, 1, "TREE_LL", 1, "row 1 of the tuning table: Tree"},
		{"the call's algorithm", m, 512, Options{Algos: Algos(coll.Ring)}, 0, "RING_LL", 1, "row 1 of the tuning table: Tree, which is out: not asked for"},
		{"protocol, channels, threads", m, 2048, Options{Algos: Algos(coll.Ring)}, 2, "RING_SIMPLE", 3, "row 2 of the tuning table: Simple, 3 channels, 96 threads"},
		{"the call's channels", m, 2048, Options{Algos: Algos(coll.Ring), Channels: 5}, 2, "RING_SIMPLE", 5, "row 2 of the tuning table: Simple, 3 channels, 96 threads"},
		{"the settings' protocol", r, 2048, Options{Algos: Algos(coll.Ring)}, 0, "RING_LL", 1, "row 2 of the tuning table: Simple, 3 channels, 96 threads, which is out: disabled by NCCL_PROTO"},
		{"more channels than there are", m, 4096, Options{Algos: Algos(coll.Ring)}, 4, "RING_LL", 24, "row 4 of the tuning table: 60 channels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := test.m.Explain(sum(test.bytes/4), test.o)
			require.NoError(t, err)
			require.Equal(t, test.row, e.Choice.Row)
			require.Equal(t, "AllReduce_Sum_f32_"+test.variant, e.Choice.Variant.String())
			require.Equal(t, test.channels, e.Choice.Channels)
			require.Equal(t, test.note, e.Note)
			if test.row == 2 {
				require.Equal(t, 96, e.Choice.Threads)
			}
		})
	}
	// What settings say of threads goes before the table, what a call says before both.
	narrow := *cfg
	narrow.Settings.Threads = 64
	n := model(t, &narrow)
	for _, threads := range []int{0, 128} {
		c, err := n.Choose(sum(512), Options{Algos: Algos(coll.Ring), Threads: threads})
		require.NoError(t, err)
		require.Equal(t, max(threads, 64), c.Threads)
	}
	// Those settings are of rings and trees.
	narrow.Tuning, err = ParseTuning("t.json", []byte(table(`{"func": "AllReduce", "algo": "NVLS", "threads": 320}`)))
	require.NoError(t, err)
	c, err := model(t, &narrow).Choose(sum(512), Options{})
	require.NoError(t, err)
	require.Equal(t, 320, c.Threads)
	// Functions without a row are as without the table.
	call := Call{Func: coll.AllGather, Type: coll.Float32, Count: 1 << 10}
	want, err := plain.Choose(call, Options{})
	require.NoError(t, err)
	got, err := m.Choose(call, Options{})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestImpossibleTuning: what a row names must be there if it is for the
// communicator.
func TestImpossibleTuning(t *testing.T) {
	for _, test := range []struct{ row, want string }{
		{`{"func": "Broadcast", "algo": "Tree"}`, "row 1: Broadcast with Tree and any protocol: not defined for Broadcast; correct the row, or say by nNodes and nRanks which communicators it is for"},
		{`{"func": "AllReduce", "algo": "NVLSTree"}`, "row 1: AllReduce with NVLSTree and any protocol: needs two nodes; correct the row"},
		{`{"func": "AllReduce", "algo": "CollNetChain", "proto": "Simple", "nRanks": 8}`, "needs CollNet"},
		{`{"func": "AllReduce", "algo": "CollNetChain", "nRanks": 16}`, ""},
	} {
		cfg := config(t, "dgx-h100", 8, allKernels)
		var err error
		cfg.Tuning, err = ParseTuning("t.json", []byte(table(test.row)))
		require.NoError(t, err)
		_, err = New(cfg)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, result.ErrInvalidArgument)
		require.ErrorContains(t, err, test.want)
	}
}

// TestTuningBySetting: a row for what a setting rules out is for other settings, so
// it is left out, and the explanation says why.
func TestTuningBySetting(t *testing.T) {
	for _, test := range []struct {
		row    string
		change func(c *Config)
		f      coll.Func
		note   string
	}{
		{`{"func": "AllGather", "algo": "PAT"}`, func(c *Config) { c.Settings.PAT = PATOff }, coll.AllGather, "PAT, which is out: disabled by NCCL_PAT_ENABLE"},
		{`{"func": "AllGather", "algo": "PAT"}`, func(*Config) {}, coll.AllGather, "PAT, which is out: needs one rank a node, or NCCL_PAT_ENABLE=1"},
		{`{"func": "AllGather", "algo": "PAT"}`, func(c *Config) { c.Settings.PAT = PATOn }, coll.AllGather, "PAT"},
		{`{"func": "AllReduce", "algo": "NVLS"}`, func(c *Config) { c.Settings.NoNVLS = true }, coll.AllReduce, "NVLS, which is out: disabled by NCCL_NVLS_ENABLE"},
		{`{"func": "AllReduce", "algo": "OneShot"}`, func(c *Config) { c.AsNCCL = true }, coll.AllReduce, "OneShot, which is out: not one of NCCL's"},
		{`{"func": "AllReduce", "algo": "Tree"}`, func(c *Config) { c.Kernel = firstKernels }, coll.AllReduce, "Tree, which is out: not built"},
		{`{"func": "AllReduce", "algo": "Tree"}`, func(c *Config) {
			c.Kernel, c.Settings.Protos[coll.AllReduce] = firstKernels, Protos(coll.LL)
		}, coll.AllReduce, "Tree, which is out: not built"},
	} {
		c := config(t, "dgx-h100", 8, allKernels)
		test.change(c)
		var err error
		c.Tuning, err = ParseTuning("t.json", []byte(table(test.row)))
		require.NoError(t, err)
		e, err := model(t, c).Explain(Call{Func: test.f, Op: coll.Sum, Type: coll.Float32, Count: 1 << 10}, Options{})
		require.NoError(t, err)
		require.Equal(t, "row 1 of the tuning table: "+test.note, e.Note)
	}
}

func FuzzParseTuning(f *testing.F) {
	f.Add([]byte(table(`{"func": "AllReduce", "minBytes": 1, "maxBytes": 2, "algo": "Ring", "proto": "LL", "channels": 1, "threads": 64}`)))
	f.Add([]byte(table()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if table, err := ParseTuning("fuzz", data); err == nil {
			require.LessOrEqual(t, len(table.rows), maxTuningRows)
		}
	})
}
