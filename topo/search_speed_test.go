//go:build unix

package topo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// BenchmarkSearch searches for rings, trees and NVLS on every reference machine,
// one of it and two, and reports the CPU time beside NCCL's own.
func BenchmarkSearch(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(testenv.Shared(b, "reference/nccl-2.30.7"), "search_ms.json"))
	require.NoError(b, err)
	var nccl map[string]float64 // ms
	require.NoError(b, json.Unmarshal(data, &nccl))
	ours, theirs, worst, worstRatio := 0.0, 0.0, 0.0, 0.0
	for _, r := range parity.Runs(b) {
		name := r.Machine + " " + strconv.Itoa(r.Hosts)
		if r.Option != "" || nccl[name] == 0 {
			continue
		}
		v, sp := viewOf(b, r)
		var ms float64
		b.Run(name, func(b *testing.B) {
			begin := cpuTime(b)
			for b.Loop() {
				topo.Search(v, sp)
			}
			ms = (cpuTime(b) - begin).Seconds() * 1e3 / float64(b.N)
			b.ReportMetric(nccl[name], "NCCL-ms/op")
			b.ReportMetric(ms/nccl[name], "of-NCCL's")
		})
		ours, theirs = ours+ms, theirs+nccl[name]
		worst, worstRatio = max(worst, ms), max(worstRatio, ms/nccl[name])
	}
	b.Logf("all: %.0f ms, NCCL's %.0f ms; the longest %.0f ms, the most beside NCCL's %.2f", ours, theirs, worst, worstRatio)
}

// cpuTime returns the time the process has computed for.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSearchBetter searches for better rings and trees than NCCL's on the same
// machines, and reports the CPU time of all and of the longest search.
func BenchmarkSearchBetter(b *testing.B) {
	var all, longest float64
	for range b.N {
		all, longest = 0, 0
		for _, r := range parity.Runs(b) {
			if r.Option != "" || r.Hosts > 2 {
				continue
			}
			v, p := viewOf(b, r)
			p.Better = true
			begin := cpuTime(b)
			topo.Search(v, p)
			ms := float64((cpuTime(b) - begin).Microseconds()) / 1000
			all, longest = all+ms, max(longest, ms)
		}
	}
	b.ReportMetric(all, "ms/all")
	b.ReportMetric(longest, "ms/longest")
}
