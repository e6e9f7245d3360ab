package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
)

func sample() *Run {
	return &Run{
		Program: "all_reduce_perf", Threads: 1, GPUs: 2, MinBytes: 1024, MaxBytes: 4096, Step: 4, ByFactor: true,
		Warmup: 1, Iters: 20, Agg: 1, Check: 1, Blocking: 3,
		Devices: []Device{
			{Rank: 0, PID: 4242, Host: "box", Ordinal: 0, BusID: "0000:1b:00.0", Name: "NVIDIA H100 80GB HBM3"},
			{Rank: 1, PID: 4242, Host: "box", Ordinal: 1, Name: "sm_90"},
		},
	}
}

func sampleRows() []Row {
	return []Row{
		{1024, 256, "float", "sum", -1, Measurement{14.25, 0.07, 0.13, true, 0}, Measurement{1234567.8, 12.345, 23.456, true, 17}, nil},
		{4096, 512, "double", "mulsum", -1, Measurement{0.004, 1234.5, 98765.4, false, 0}, Measurement{12345678.9, 1e7, 1.5e8, true, 1234567}, contested()},
	}
}

// contested is a row that was measured beside NCCL.
func contested() *Versus {
	return &Versus{
		Out: Contest{Ours: Spread{9.5, 10, 10.5}, Theirs: Spread{11.25, 12.5, 14}, AlgBW: 0.33, BusBW: 0.66, Checked: true},
		In:  Contest{Ours: Spread{1, 2, 3}, Theirs: Spread{1, 1, 1}, AlgBW: 4, BusBW: 8},
	}
}

// The expectation is what nccl-tests 2.19.6's printf formats give for these
// values (src/util.cu).
func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out)
	table.Header(sample())
	for _, row := range sampleRows() {
		table.Row(row)
	}
	table.Footer(sample(), Summary{OutOfBounds: 2, BusBW: 0.0001234567})
	require.NoError(t, table.Close())
	golden.Check(t, "nccl-run/table.txt", out.Bytes())
}

func TestFooterNamesTheError(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out)
	table.Footer(sample(), Summary{Err: "rank 1: stuck"})
	require.True(t, strings.HasSuffix(out.String(), "#\n# error: rank 1: stuck\n"), out.String())
	require.Contains(t, out.String(), "# Out of bounds values : 0 OK\n")
}

// Parsers take the columns of a row by position.
func TestRowColumns(t *testing.T) {
	for _, row := range sampleRows() {
		var out bytes.Buffer
		NewTable(&out).Row(row)
		require.Len(t, strings.Fields(out.String()), 13, out.String())
	}
}

func TestFit(t *testing.T) {
	tests := []struct {
		v     float64
		width int
		want  string
	}{
		{0, 7, "   0.00"},
		{9999.99, 7, "9999.99"},
		{10000, 7, "10000.0"},
		{99999.96, 7, " 100000"},
		{1234567.8, 7, "1234568"},
		{12345678.9, 7, "1.2e+07"},
		{999.99, 6, "999.99"},
		{98765.4, 6, " 98765"},
		{1234567, 6, " 1e+06"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, fit(tt.v, tt.width), "%v in %d", tt.v, tt.width)
	}
}

func TestSixDigits(t *testing.T) {
	tests := map[float64]string{
		0: "0", 1: "1", 999999: "999999", 1e6: "1e+06", 1234567: "1.23457e+06", 0.5: "0.5", 0.0001234567: "0.000123457",
		0.00001: "1e-05", 42.5: "42.5", 123.4567: "123.457",
	}
	for v, want := range tests {
		require.Equal(t, want, sixDigits(v))
	}
}

func sampleDocument() *Document {
	start := time.Date(2026, 11, 30, 8, 1, 2, 0, time.UTC)
	d := NewDocument(sample(), []string{"nccl-run", "all-reduce"}, []string{"NCCL_DEBUG=WARN"}, start, &Extension{
		Device: "sim", DeviceNote: "PTX machine", Topology: "h200x2", RanksPerGPU: 1, Seed: 1, Schedules: 1, TimeSource: "host",
		Startup: []Phase{{Name: "driver", Milliseconds: 500.5, Note: "cuInit"}, {Name: "load", Milliseconds: 1}},
		Rival:   &Rival{Path: "libnccl.so.2", Version: 22809, Rounds: 21},
		Skipped: []Skipped{{Type: "bfloat16", Op: "sum", Reason: "not in this build"}},
	})
	for _, row := range sampleRows() {
		d.Add(row, &Decision{Algo: "Ring", Proto: "LL", Channels: 2, Kernel: "AllReduce_Sum_f32_RING_LL"})
	}
	d.Finish(Summary{OutOfBounds: 2, BusBW: 0.25, Err: "stopped"}, start.Add(3*time.Second))
	return d
}

func TestDocument(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, sampleDocument().Write(&out))
	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, out.Bytes(), "", "  "))
	golden.Check(t, "nccl-run/report.json", pretty.Bytes())

	back, err := Decode(&out)
	require.NoError(t, err)
	require.Equal(t, sampleDocument(), back)
}

func TestDecodeRefuses(t *testing.T) {
	var good bytes.Buffer
	require.NoError(t, sampleDocument().Write(&good))
	edit := func(old, new string) string {
		require.Contains(t, good.String(), old)
		return strings.Replace(good.String(), old, new, 1)
	}
	tests := map[string]struct{ text, want string }{
		"empty":             {"", "not a report"},
		"other version":     {edit(`"version":3`, `"version":4`), "report version 4, want 3"},
		"other extension":   {edit(`"version":3,"device"`, `"version":2,"device"`), "ncclgo object of version 3"},
		"of nccl-tests":     {`{"version":3}`, "without an ncclgo object"},
		"unknown field":     {edit(`"size"`, `"sizes"`), "sizes"},
		"boolean as number": {edit(`"okay":"false"`, `"okay":0`), "okay"},
		"bad boolean":       {edit(`"okay":"false"`, `"okay":"maybe"`), "maybe"},
		"two":               {good.String() + good.String(), "something follows"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestVersusLines(t *testing.T) {
	require.Equal(t, []string{
		"vs         4096  out-of-place  ncclgo 10.00 us (9.50..10.50)  NCCL 12.50 us (11.25..14.00), busbw 0.66, #wrong 0  ratio 1.250",
		"vs         4096  in-place      ncclgo 2.00 us (1.00..3.00)  NCCL 1.00 us (1.00..1.00), busbw 8.00, #wrong N/A  ratio 0.500",
	}, contested().Lines(4096))
}

func TestPhaseLine(t *testing.T) {
	require.Equal(t, "startup load               1.50 ms", Phase{Name: "load", Milliseconds: 1.5}.Line())
	require.Equal(t, "startup driver           500.00 ms  cuInit", Phase{Name: "driver", Milliseconds: 500, Note: "cuInit"}.Line())
}

func TestNaN(t *testing.T) {
	p, err := json.Marshal(fixed(math.NaN()))
	require.NoError(t, err)
	require.Equal(t, `"nan"`, string(p))
	var v fixed
	require.NoError(t, json.Unmarshal(p, &v))
	require.True(t, math.IsNaN(float64(v)))
}

// What may be empty is an empty list, not null.
func TestListsAreLists(t *testing.T) {
	var out bytes.Buffer
	d := NewDocument(&Run{}, nil, nil, time.Now(), &Extension{})
	require.NoError(t, d.Write(&out))
	for _, list := range []string{`"env":[]`, `"results":[]`, `"errors":[]`, `"skipped":[]`} {
		require.Contains(t, strings.NewReplacer(" ", "", "\n", "").Replace(out.String()), list)
	}
}
