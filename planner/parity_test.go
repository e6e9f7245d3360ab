package planner_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/planner"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// layoutOf goes from the topology of a reference run to its channels, with the
// settings that its variables say.
func layoutOf(t testing.TB, r *parity.Run) *topo.Layout {
	s, err := topo.Load(r.TopoFile(), os.ReadFile)
	require.NoError(t, err)
	settings, err := nccl.ReadGraphSettings(r.Lookup)
	require.NoError(t, err, r.Name)
	settings.Hosts.Search.Better = false
	settings.Hosts.Hosts = r.NRanks / s.NRanks()
	members, err := topo.Members(s, settings.Hosts)
	require.NoError(t, err, r.Name)
	l, err := topo.Connect(members, settings.Layout)
	require.NoError(t, err, r.Name)
	return l
}

// modelOf returns the model of a reference run, as NCCL decides.
func modelOf(t testing.TB, r *parity.Run) *planner.Model {
	settings, err := nccl.ReadPlanSettings(r.Lookup)
	require.NoError(t, err, r.Name)
	settings.Limits.MinChannels = 1 // of an operation
	m, err := planner.New(&planner.Config{
		Facts: planner.FactsOf(layoutOf(t, r)), Settings: settings.Settings, Limits: settings.Limits, AsNCCL: true,
		Kernel: func(coll.Variant) error { return nil },
	})
	require.NoError(t, err, r.Name)
	return m
}

// TestParityModel compares what NCCL made of graphs, all the way from topologies:
// costs, threads, and for each size the predicted times, to the last bit, and the
// choice.
func TestParityModel(t *testing.T) {
	var tally parity.Tally
	ulps := map[int]int{} // of times that differ
	for _, r := range parity.Runs(t) {
		m := modelOf(t, r)
		compareModel(&tally, r, m)
		choices, err := r.Choices()
		require.NoError(t, err)
		for f := range coll.Func(coll.NumFuncs) {
			for _, want := range choices[f.String()] {
				compareChoice(t, &tally, ulps, r, m, f, want)
			}
		}
	}
	tally.Log(t)
	t.Logf("times that differ, by units in the last place: %v", ulps)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

func compareModel(tally *parity.Tally, r *parity.Run, m *planner.Model) {
	for a := range coll.Algo(coll.NumNCCLAlgos) {
		var threads, thresholds [3]int64
		for p := range coll.Proto(coll.NumProtos) {
			threads[p], thresholds[p] = int64(m.MaxThreads(a, p)), m.Threshold(a, p)
		}
		at := r.Name + " " + a.String()
		tally.Compare("threads", at, r.MaxThreads[a.String()], threads)
		tally.Compare("thresholds", at, r.Thresholds[a.String()], thresholds)
		for f := range coll.Func(coll.NumFuncs) {
			latencies, ok := r.Latencies[f.String()]
			if !ok {
				continue
			}
			var latency, bandwidth [3]float32
			for p := range coll.Proto(coll.NumProtos) {
				latency[p], bandwidth[p] = m.Latency(f, a, p), m.Bandwidth(f, a, p)
			}
			at := fmt.Sprintf("%s %s %s", r.Name, f, a)
			tally.Compare("latencies", at, latencies[a.String()], latency)
			tally.Compare("bandwidths", at, r.Bandwidths[f.String()][a.String()], bandwidth)
		}
	}
}

// chosen is what is compared of a choice.
type chosen struct {
	algo, proto     string
	channels, warps int
	time            float32
}

func compareChoice(t *testing.T, tally *parity.Tally, ulps map[int]int, r *parity.Run, m *planner.Model, f coll.Func, want parity.Choice) {
	call := planner.Call{Func: f, Op: coll.Sum, Type: coll.Float32, Count: want.Bytes / 4}
	if f == coll.AllGather || f == coll.ReduceScatter {
		call.Count /= int64(r.NRanks)
	}
	at := fmt.Sprintf("%s %s %d bytes", r.Name, f, want.Bytes)
	// Sizes that ranks cannot share equally are NCCL's as well.
	e, err := m.ExplainBytes(call, want.Bytes, planner.Options{})
	require.NoError(t, err, at)
	c, v := &e.Choice, e.Choice.Variant
	tally.Compare("choices", at, chosen{want.Algo, want.Proto, want.Channels, want.Warps, want.Time},
		chosen{v.Algo.String(), v.Proto.String(), c.Channels, c.Warps, c.Time})
	for _, alt := range e.Alternatives {
		times, ok := want.Table[alt.Algo.String()]
		if !ok {
			continue
		}
		w := times[alt.Proto]
		if !tally.Compare("times", fmt.Sprintf("%s %s %s", at, alt.Algo, alt.Proto), w, alt.Time) && w >= 0 && alt.Time >= 0 {
			ulps[int(math.Float32bits(alt.Time))-int(math.Float32bits(w))]++
		}
	}
}
