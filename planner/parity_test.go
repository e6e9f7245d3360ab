package planner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// reference is what the tests read of NCCL's own results for one node.
type reference struct {
	NvlDomains int                              `json:"nvlDomains"`
	NRanks     int                              `json:"nRanks"`
	NChannels  int                              `json:"nChannels"`
	MinSM      int                              `json:"minCompCap"`
	MaxSM      int                              `json:"maxCompCap"`
	Latencies  map[string]map[string][3]float32 `json:"latencies"`
	Bandwidths map[string]map[string][3]float32 `json:"bandwidths"`
	Graphs     map[string]struct {
		Channels     int     `json:"nChannels"`
		BW           float32 `json:"bwIntra"`
		Type         string  `json:"typeIntra"`
		SameChannels int     `json:"sameChannels"`
	} `json:"graphs_final"`
}

// choices are NCCL's choices: rows by function.
type choices struct {
	Choice map[string][]struct {
		Bytes    int64                 `json:"bytes"`
		Algo     string                `json:"algo"`
		Proto    string                `json:"proto"`
		Channels int                   `json:"nMaxChannels"`
		Warps    int                   `json:"nWarps"`
		Table    map[string][3]float32 `json:"table"`
	} `json:"choice"`
}

func readJSON(t *testing.T, file string, v any) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

// TestReferenceCosts compares the model of rings with NCCL's: latencies,
// bandwidths and predicted times to the last bit, channels and threads.
func TestReferenceCosts(t *testing.T) {
	dir := testenv.Shared(t, "reference/nccl-2.30.7")
	files, err := filepath.Glob(filepath.Join(dir, "*.1nodes*.tuning.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	times, sizes := 0, map[coll.Proto]int{}
	for _, file := range files {
		var ref reference
		readJSON(t, file, &ref)
		ring := ref.Graphs["ring"]
		if ref.NvlDomains != 1 || ref.NRanks < 2 {
			continue
		}
		hop, err := topo.ParsePathType(ring.Type)
		require.NoError(t, err)
		g := &topo.Graph{
			NRanks: ref.NRanks, Channels: make([]topo.Channel, ring.Channels), BWIntra: ring.BW, TypeIntra: hop,
			SameChannels: ring.SameChannels != 0, MinSM: ref.MinSM, MaxSM: ref.MaxSM, RanksPerGPU: 1,
		}
		limits := DefaultLimits()
		limits.MinChannels, limits.MaxChannels = 1, ref.NChannels
		m := model(t, &Config{Ring: g, NumSMs: 1000, CTAsPerSM: 1, Kernel: allKernels, Limits: limits})

		for f, algos := range ref.Bandwidths {
			fn, err := coll.ParseFunc(f)
			require.NoError(t, err)
			for p := range coll.Proto(coll.NumProtos) {
				c, at := m.costs[fn][coll.Ring][p], fmt.Sprintf("%s %s %s", filepath.Base(file), f, p)
				bw := c.bw
				if c.unsafe != "" {
					bw = 0
				}
				require.Equal(t, algos["Ring"][p], bw, at)
				require.Equal(t, ref.Latencies[f]["Ring"][p], c.latency, at)
			}
		}
		var chosen choices
		readJSON(t, strings.Replace(file, "tuning", "choice", 1), &chosen)
		for f, rows := range chosen.Choice {
			fn, err := coll.ParseFunc(f)
			require.NoError(t, err)
			for _, row := range rows {
				at := fmt.Sprintf("%s %s %d bytes", filepath.Base(file), f, row.Bytes)
				for p := range coll.Proto(coll.NumProtos) {
					if want := row.Table["Ring"][p]; want >= 0 {
						require.Equal(t, want, m.costs[fn][coll.Ring][p].time(row.Bytes), at)
						times++
					}
				}
				if row.Algo != "Ring" || ref.NChannels != m.Channels() {
					continue
				}
				c := Call{Func: fn, Type: coll.Uint8, Count: row.Bytes}
				if fn == coll.AllGather || fn == coll.ReduceScatter {
					c.Count /= int64(ref.NRanks)
				}
				choice, err := m.Choose(c, Options{})
				require.NoError(t, err)
				proto := choice.Variant.Proto
				require.Equal(t, row.Proto, proto.String(), at)
				// By the row's size, which need not be one of whole elements on each rank.
				channels, threads := m.size(proto, row.Bytes, Options{})
				require.Equal(t, row.Channels, channels, at)
				if proto == coll.Simple {
					threads += warpSize // NCCL's warp for the flags
				}
				require.Equal(t, row.Warps, threads/warpSize, at)
				sizes[proto]++
			}
		}
	}
	require.Positive(t, times)
	require.Len(t, sizes, coll.NumProtos, "NCCL chose rings with every protocol")
	t.Logf("equal to NCCL's: %d times; protocol, channels and threads of %v calls", times, sizes)
}
