package bound_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/bound"
)

func TestOf(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		machine    string
		gpus       int
		hosts      int
		ring, tree float64
	}{
		// 18 NVLinks of 20.6 GB/s; a chain of 8 leaves 7.
		{"dgx-h100", 8, 1, 370.8, 370.8 * 8 / 7},
		{"dgx-h100", 2, 1, 370.8, 370.8 * 2},
		{"dgx-h100", 1, 1, inf, inf},
		// 8 ports of 50 GB/s behind PCIe of 48; a chain leaves a GPU by both.
		{"dgx-h100", 8, 2, 384, 418.8 * 8 / 7},
		{"dgx-h100", 1, 2, 48, 96},
		// A port of 1.25 GB/s.
		{"h200x2", 2, 2, 1.25, 2.5},
		{"dgx-a100", 8, 1, 240, 240 * 8. / 7},
		{"dgx-a100", 8, 4, 192, 264 * 8. / 7},
	} {
		s, err := topo.Builtin(c.machine)
		require.NoError(t, err)
		s, err = s.FirstGPUs(c.gpus)
		require.NoError(t, err)
		v, err := s.View(topo.Params{NRanks: c.hosts * c.gpus})
		require.NoError(t, err)
		b := bound.Of(v)
		require.InDelta(t, c.ring, b.Ring, .001, "%+v", c)
		require.InDelta(t, c.tree, b.Tree, .001, "%+v", c)
		require.Equal(t, b, bound.Of(v))
	}
}
