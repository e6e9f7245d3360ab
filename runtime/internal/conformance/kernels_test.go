package conformance

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var proveAll = flag.Bool("prove", false, "run every case of every kernel, in both memory models (make prove)")

// shortPart: of so many faults one is planted under -short, and of so many kernels
// one is looked at where nothing runs.
const shortPart = 8

// mostCoreHours is what the whole suite may take.
const mostCoreHours = 2

// Every kernel in its share of the suite: one rank count each, which changes from
// commit to commit; with -prove, in all of it.
func TestKernels(t *testing.T) {
	kernels, err := Kernels()
	require.NoError(t, err)
	require.NotEmpty(t, kernels)
	if *proveAll {
		prove(t, kernels)
		return
	}
	n := 2
	if testing.Short() {
		n = 1
	}
	turn := currentTurn(t)
	var runs []Run
	for i := range kernels {
		cases := Cases(kernels[i].Variant)
		share := turn.Share(kernels[i].Variant, cases, n)
		require.NotEmpty(t, share, "%s has a case of its rank count", kernels[i].Name)
		for _, index := range share {
			for mode := range Mode(NumModes) {
				if testing.Short() && mode != Mode(i%NumModes) {
					continue
				}
				runs = append(runs, Run{&kernels[i], index, cases[index], mode, uint64(turn)})
			}
		}
	}
	all := doAll(runs)
	for _, err := range all.failures {
		t.Error(err)
	}
	t.Logf("turn %d: %d kernels, %d sequential and %d weak runs, %.1f million warp instructions, %.1f core-seconds",
		turn, len(kernels), all.runs[Sequential], all.runs[Weak], float64(all.instructions)/1e6, all.busy.Seconds())
}

// prove runs everything, and prints a line for each kernel.
func prove(t *testing.T, kernels []Kernel) {
	fmt.Printf("%-40s %10s %6s %14s %9s\n", "kernel", "sequential", "weak", "instructions", "core-s")
	line := func(name string, o outcome) {
		fmt.Printf("%-40s %10d %6d %14d %9.1f\n", name, o.runs[Sequential], o.runs[Weak], o.instructions, o.busy.Seconds())
	}
	var total outcome
	start := time.Now()
	for i := range kernels {
		var runs []Run
		for index, c := range Cases(kernels[i].Variant) {
			for mode := range Mode(NumModes) {
				runs = append(runs, Run{&kernels[i], index, c, mode, uint64(index)})
			}
		}
		one := doAll(runs)
		line(kernels[i].Name, one)
		for _, err := range one.failures {
			t.Error(err)
		}
		require.GreaterOrEqual(t, one.runs[Weak], 100)
		total.add(one)
	}
	line(fmt.Sprintf("all %d", len(kernels)), total)
	hours := total.busy.Hours()
	fmt.Printf("%d failed; %.2f core-hours of %d, in %.0f s\n", len(total.failures), hours, mostCoreHours, time.Since(start).Seconds())
}
