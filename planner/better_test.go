package planner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// TestBetterRings: with the rings that take the place of NCCL's no operation of any
// size is predicted to take longer by rings than with NCCL's. Broadcast and Reduce are
// left out: NCCL counts a hop only once for them if all channels have one order, as
// its single channels do, so short ones seem slower over channels that differ.
func TestBetterRings(t *testing.T) {
	machines := topo.Builtins()
	t.Run("reference", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference/machines"), "*.xml"))
		require.NoError(t, err)
		machines = append(machines, files...)
	})
	better := 0
	for _, name := range machines {
		s, err := topo.Load(name, os.ReadFile)
		require.NoError(t, err)
		l, err := topo.ConnectHost(s, true)
		require.NoError(t, err)
		if l.Graphs(0)[topo.GraphRing].Instead == 0 {
			continue
		}
		better++
		ours := hostModel(t, l)
		l, err = topo.ConnectHost(s, false)
		require.NoError(t, err)
		nccl := hostModel(t, l)
		for f := range coll.Func(coll.NumFuncs) {
			if !f.HasAlgo() || f.Rooted() {
				continue
			}
			for n := int64(8); n <= 8<<30; n *= 2 {
				require.LessOrEqual(t, ringTime(ours, f, n), ringTime(nccl, f, n), "%s: %v of %d bytes", name, f, n)
			}
			require.Less(t, ringTime(ours, f, 1<<30), ringTime(nccl, f, 1<<30)/1.04, "%s: %v", name, f)
		}
	}
	require.Positive(t, better)
}

// hostModel returns the model of a layout in which everything is built.
func hostModel(t *testing.T, l *topo.Layout) *Model {
	return model(t, &Config{Facts: FactsOf(l), Kernel: allKernels, Limits: DefaultLimits(), AsNCCL: true})
}

// ringTime returns the µs that n bytes take over rings with the best protocol.
func ringTime(m *Model, f coll.Func, n int64) float32 {
	least := float32(-1)
	for p := range coll.Proto(coll.NumProtos) {
		if m.costs[f][coll.Ring][p].bw == 0 {
			continue
		}
		if us := timeOf(m, f, coll.Ring, p, n); least < 0 || us < least {
			least = us
		}
	}
	return least
}
