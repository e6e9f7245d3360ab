package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/topo"
)

// TestExplainDocument writes what was explained and reads it.
func TestExplainDocument(t *testing.T) {
	e := Explained{
		Explanation: &planner.Explanation{
			Call: planner.Call{Func: coll.AllGather, Type: coll.Float16, Count: 4}, NRanks: 2, NNodes: 1,
			Choice: planner.Choice{
				Variant:  coll.Variant{Func: coll.AllGather, Algo: coll.Ring, Proto: coll.LL},
				Channels: 3, Threads: 96, ChunkBytes: 16, Bytes: 16, Time: 1.2,
			},
			Alternatives: []planner.Alternative{
				{Algo: coll.Ring, Proto: coll.LL, Time: 1.2},
				{Algo: coll.Ring, Proto: coll.Simple, Time: -1, Reason: "not built"},
			},
			Note: "row 1 of the tuning table: Ring",
		},
		Warps: 3, Built: true,
		Plan: &planner.Plan{
			Tasks:    []planner.Task{{Call: planner.Call{Func: coll.AllGather, Type: coll.Float16, Count: 4}}},
			Launches: []planner.Launch{{Works: []planner.Work{{CountLo: 4, ChunkBytes: 16}}}},
		},
	}
	model, err := planner.New(&planner.Config{
		Facts: planner.Facts{
			NRanks: 2, NNodes: 1, MinLocalRanks: 2, MaxLocalRanks: 2, MinSM: 90, MaxSM: 90, Channels: 2,
			Graphs: [topo.NumGraphs]topo.Agreed{topo.GraphRing: {Channels: 1, BWIntra: 20, TypeIntra: topo.PathNVL}},
		},
		Kernel: func(coll.Variant) error { return nil }, Limits: planner.DefaultLimits(),
	})
	require.NoError(t, err)
	head := ExplainHead{"h200x2", 1, model}
	var b bytes.Buffer
	require.NoError(t, WriteExplain(&b, head, []Explained{e, e}))
	require.Equal(t, 2, strings.Count(b.String(), "\n"))
	require.Contains(t, b.String(), `"timeUs":1.20000005,`)
	text := b.String()
	all, err := DecodeExplain(&b)
	require.NoError(t, err)
	require.Equal(t, []*Explain{all[0], all[0]}, all)
	require.Equal(t, &Explain{
		Format: "ncclgo explain", Version: 1, Topology: "h200x2", Hosts: 1, Nodes: 1, NRanks: 2,
		Func: "AllGather", Type: "f16", Bytes: 16, Algo: "Ring", Proto: "LL", Time: 1.2, BusBW: nineDigits(e.BusBW()),
		Channels: 3, Warps: 3, Threads: 96, ChunkBytes: 16, Kernel: "AllGather_RING_LL", Built: true,
		Table:   map[string][3]nineDigits{"Ring": {1.2, 0, -1}},
		Reasons: map[string][3]string{"Ring": {"", "", "not built"}},
		// A ring's step of LL costs 0.6 µs after 6.6 µs; half of a channel's 20 GB/s are
		// flags, and of the bytes gathered one rank has half already.
		Latencies:  map[string][3]nineDigits{"Ring": {7.2, 0, 11.799999}},
		Bandwidths: map[string][3]nineDigits{"Ring": {20, 0, 40}},
		MaxThreads: map[string][3]int{"Ring": {512, 0, 512}},
		Thresholds: map[string][3]int64{"Ring": {16, 0, 64}},
		Tuning:     "row 1 of the tuning table: Ring",
		Plan:       []ChannelPart{{0, 0, 8, 16}},
	}, all[0])

	for _, odd := range []string{
		strings.Replace(text, `"version":1`, `"version":2`, 1),
		strings.Replace(text, `"version"`, `"versions"`, 1),
		text + "x",
	} {
		_, err := DecodeExplain(strings.NewReader(odd))
		require.Error(t, err)
	}

	b.Reset()
	require.NoError(t, ExplainText(&b, head, []Explained{e}, true))
	require.Contains(t, b.String(), "AllGather of f16 on 1 x h200x2: 2 ranks on 1 node\n")
	require.Contains(t, b.String(), "          16  Ring          LL              3     3         16         1.20      0.01\n")
	require.Contains(t, b.String(), "  Ring          Simple           not built\n")
	require.Contains(t, b.String(), "  row 1 of the tuning table: Ring\n")
}
