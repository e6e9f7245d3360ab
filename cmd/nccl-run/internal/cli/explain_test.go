package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// TestChoosingPage: what docs/choosing.md shows of nccl-run explain is what it
// prints.
func TestChoosingPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testenv.Root(), "docs", "choosing.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```\n\\$ nccl-run ([^\n]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, shown)
	for _, example := range shown {
		var out, err bytes.Buffer
		status := Main(context.Background(), &Process{Args: strings.Fields(example[1]), Stdout: &out, Stderr: &err})
		require.Equal(t, StatusRight, status, err.String())
		require.Equal(t, example[2], out.String())
	}
}

// TestParityExplain compares what the command says NCCL does with what NCCL's own
// code said, of some reference runs.
func TestParityExplain(t *testing.T) {
	var tally parity.Tally
	for i, r := range parity.Runs(t) {
		if i%17 != 0 || r.Option == "mnnvl" {
			continue
		}
		choices, err := r.Choices()
		require.NoError(t, err)
		for name, rows := range choices {
			var sizes []string
			for _, row := range rows {
				sizes = append(sizes, strconv.FormatInt(row.Bytes, 10))
			}
			args := []string{
				"explain", "--json", "--algos", "nccl", "--topo", r.TopoFile(), "--nodes", strconv.Itoa(r.HostNodes),
				"--func", name, "--sizes", strings.Join(sizes, ","),
			}
			for variable, value := range r.Set {
				args = append(args, "--set", variable+"="+value)
			}
			var out, complaints bytes.Buffer
			status := Main(context.Background(), &Process{Args: args, Stdout: &out, Stderr: &complaints})
			require.Equal(t, StatusRight, status, "%v: %s", args, complaints.String())
			said, err := report.DecodeExplain(&out)
			require.NoError(t, err)
			require.Len(t, said, len(rows))
			compareTables(&tally, r, name, said[0])
			for i, want := range rows {
				d := said[i]
				got := parity.Choice{
					Bytes: d.Bytes, Algo: d.Algo, Proto: d.Proto, Time: float32(d.Time), Channels: d.Channels, Warps: d.Warps,
					Table: map[string][3]float32{},
				}
				for algo := range want.Table {
					var times [3]float32
					for p, time := range d.Table[algo] {
						times[p] = float32(time)
					}
					got.Table[algo] = times
				}
				tally.Compare("explained choices", r.Name+" "+name+" "+sizes[i], want, got)
			}
		}
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

// compareTables compares what times are made from.
func compareTables(tally *parity.Tally, r *parity.Run, name string, d *report.Explain) {
	for algo, want := range r.Latencies[name] {
		var latency, bandwidth [3]float32
		var threads, thresholds [3]int64
		for p := range latency {
			latency[p], bandwidth[p] = float32(d.Latencies[algo][p]), float32(d.Bandwidths[algo][p])
			threads[p], thresholds[p] = int64(d.MaxThreads[algo][p]), d.Thresholds[algo][p]
		}
		at := r.Name + " " + name + " " + algo
		tally.Compare("explained latencies", at, want, latency)
		tally.Compare("explained bandwidths", at, r.Bandwidths[name][algo], bandwidth)
		tally.Compare("explained threads", at, [2][3]int64{r.MaxThreads[algo], r.Thresholds[algo]}, [2][3]int64{threads, thresholds})
	}
}

// BenchmarkExplain is the whole command for one node and for 16,384 ranks.
func BenchmarkExplain(b *testing.B) {
	for _, nodes := range []string{"1", "2048"} {
		b.Run(nodes, func(b *testing.B) {
			for b.Loop() {
				status := Main(context.Background(), &Process{
					Args:   []string{"explain", "--nodes", nodes, "--why", "--algos", "nccl"},
					Stdout: io.Discard, Stderr: io.Discard,
				})
				require.Equal(b, StatusRight, status)
			}
		})
	}
}
