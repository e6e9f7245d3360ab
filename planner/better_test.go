package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// TestBetterChannels: with channels that take the place of NCCL's no operation of any
// size is predicted to take longer, by any algorithm, on one host or several, with all
// GPUs or some. Broadcast and Reduce are left out: NCCL counts a hop only once for
// them if all channels have one order, as its single channels do, so short ones seem
// slower over channels that differ.
func TestBetterChannels(t *testing.T) {
	machines := topo.Builtins()
	t.Run("reference", func(t *testing.T) {
		if testing.Short() {
			t.Skip("skipped: compares with all reference data; not in -short")
		}
		files, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference/machines"), "*.xml"))
		require.NoError(t, err)
		machines = append(machines, files...)
	})
	better := 0
	for _, name := range machines {
		whole, err := topo.Load(name, os.ReadFile)
		require.NoError(t, err)
		for _, c := range []struct{ hosts, gpus int }{{1, 0}, {2, 0}, {3, 0}, {8, 0}, {1, 5}, {2, 3}, {4, 2}} {
			if c.gpus > whole.NRanks() {
				continue
			}
			s := whole
			if c.gpus > 0 {
				s, err = whole.FirstGPUs(c.gpus)
				require.NoError(t, err)
			}
			if requireNoSlower(t, s, c.hosts, fmt.Sprintf("%s, %+v", name, c)) {
				better++
			}
		}
	}
	require.Greater(t, better, 2)
}

// requireNoSlower fails if hosts are slower with better channels than NCCL's, and reports
// whether there are any.
func requireNoSlower(t *testing.T, s *topo.System, hosts int, name string) bool {
	search := topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true}
	nccl, _ := hostsModel(t, s, hosts, search)
	search.Better = true
	ours, graphs := hostsModel(t, s, hosts, search)
	if graphs[topo.GraphTree].Instead == 0 {
		return false
	}
	for f := range coll.Func(coll.NumFuncs) {
		if !f.HasAlgo() || f.Rooted() {
			continue
		}
		for a := range coll.Algo(coll.NumAlgos) {
			for n := int64(8); n <= 8<<30; n *= 2 {
				require.LessOrEqual(t, algoTime(ours, f, a, n), algoTime(nccl, f, a, n), "%s: %v by %v of %d bytes", name, f, a, n)
			}
		}
		if graphs[topo.GraphRing].Instead > 0 {
			require.Less(t, algoTime(ours, f, coll.Ring, 1<<30), algoTime(nccl, f, coll.Ring, 1<<30)/1.04, "%s: %v", name, f)
		}
	}
	return true
}

// hostsModel returns the model of hosts like s in which everything is built, and the
// graphs of the first.
func hostsModel(t *testing.T, s *topo.System, hosts int, search topo.SearchParams) (*Model, *topo.Graphs) {
	members, err := topo.Members(s, topo.HostParams{Hosts: hosts, Search: search})
	require.NoError(t, err)
	l, err := topo.Connect(members, topo.LayoutParams{})
	require.NoError(t, err)
	return model(t, &Config{Facts: FactsOf(l), Kernel: allKernels, Limits: DefaultLimits(), AsNCCL: true}), l.Graphs(0)
}

// algoTime returns the µs that n bytes take by an algorithm with the best protocol, -1
// if it is not to be had.
func algoTime(m *Model, f coll.Func, a coll.Algo, n int64) float32 {
	least := float32(-1)
	for p := range coll.Proto(coll.NumProtos) {
		if m.costs[f][a][p].bw == 0 {
			continue
		}
		if us := timeOf(m, f, a, p, n); least < 0 || us < least {
			least = us
		}
	}
	return least
}
