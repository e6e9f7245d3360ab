package planner

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
)

// layoutOf goes from the topology of a reference run to its channels.
func layoutOf(t testing.TB, r *parity.Run) *topo.Layout {
	s, err := topo.Load(r.TopoFile(), os.ReadFile)
	require.NoError(t, err)
	p := topo.HostParams{
		Hosts:  r.NRanks / s.NRanks(),
		Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, CollNet: r.CollNetAsked != 0, NVLS: r.Option != "nvls0"},
	}
	layout := topo.LayoutParams{CollNet: r.CollNetAsked != 0}
	level := func(l topo.PathType) *topo.PathType { return &l }
	switch r.Option {
	case "crossnic0":
		p.Search.CrossNIC = topo.CrossNICNever
	case "p2plevelSYS":
		p.Params.P2PLevel = level(topo.PathSYS)
	case "p2pdisable":
		p.Params.P2PLevel = level(topo.PathLOC)
	case "gdrlevelSYS":
		p.Params.GDRLevel = level(topo.PathSYS)
	case "pxndisable":
		p.Params.NoPXN = true
	case "nvbdisable":
		p.Params.NoNVB = true
	case "shmdisable":
		p.Params.NoSHM = true
	case "netdevsALL":
		p.Params.NetDevs.All = true
	case "min32ch":
		layout.MinChannels = 32
	}
	members, err := topo.Members(s, p)
	require.NoError(t, err, r.Name)
	l, err := topo.Connect(members, layout)
	require.NoError(t, err, r.Name)
	return l
}

// settingsOf returns the settings of a run.
func settingsOf(t testing.TB, r *parity.Run) Settings {
	var s Settings
	var err error
	for name, value := range r.Set() {
		switch name {
		case "NCCL_ALGO":
			s.Algos, err = ParseAlgos(value)
		case "NCCL_PROTO":
			s.Protos, err = ParseProtos(value)
		}
		require.NoError(t, err)
	}
	return s
}

// TestParityModel compares what NCCL made of graphs, all the way from topologies:
// costs, threads, and for each size the predicted times, to the last bit, and the
// choice.
func TestParityModel(t *testing.T) {
	var tally parity.Tally
	ulps := map[int]int{} // of times that differ
	for _, r := range parity.Runs(t) {
		m := model(t, &Config{
			Facts: FactsOf(layoutOf(t, r)), Settings: settingsOf(t, r), Kernel: allKernels, Limits: DefaultLimits(), AsNCCL: true,
		})
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

func compareModel(tally *parity.Tally, r *parity.Run, m *Model) {
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

func compareChoice(t *testing.T, tally *parity.Tally, ulps map[int]int, r *parity.Run, m *Model, f coll.Func, want parity.Choice) {
	call := Call{Func: f, Op: coll.Sum, Type: coll.Float32, Count: want.Bytes / 4}
	if f == coll.AllGather || f == coll.ReduceScatter {
		call.Count /= int64(m.NRanks())
	}
	at := fmt.Sprintf("%s %s %d bytes", r.Name, f, want.Bytes)
	// Sizes that ranks cannot share equally are NCCL's as well.
	got := Choice{Bytes: want.Bytes}
	require.NoError(t, m.decide(&got, call, 1, Options{}), at)
	v := got.Variant
	tally.Compare("choices", at, chosen{want.Algo, want.Proto, want.Channels, want.Warps, want.Time},
		chosen{v.Algo.String(), v.Proto.String(), got.Channels, got.Warps, got.Time})
	for a := range coll.Algo(coll.NumNCCLAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			time := float32(-1)
			if slices.Contains(m.ways[f], newWay(a, p)) && m.usable(call, Options{}, a, p) {
				time = m.callTime(call, a, p, want.Bytes, 1)
			}
			if w := want.Table[a.String()][p]; !tally.Compare("times", fmt.Sprintf("%s %s %s", at, a, p), w, time) && w >= 0 && time >= 0 {
				ulps[int(math.Float32bits(time))-int(math.Float32bits(w))]++
			}
		}
	}
}
