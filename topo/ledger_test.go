package topo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLess compares less with the rounding it stands for, step by step.
func TestLess(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		a := float32(r.Float64() * math.Pow(10, float64(r.IntN(5))))
		b := float32(r.Float64() * math.Pow(10, float64(r.IntN(5))))
		thousandths := float32((a - b) * 1000)
		require.Equal(t, float32(math.Round(float64(thousandths)))/1000, less(a, b), "%v - %v", a, b)
	}
	// Halves go away from zero.
	require.Equal(t, float32(0.001), less(0.0005, 0))
	require.Equal(t, float32(-0.001), less(0, 0.0005))
	require.Equal(t, float32(12.188), less(12.1875, 0))
}

// TestTake: bandwidth is taken link by link up to the first that lacks it, and
// given back.
func TestTake(t *testing.T) {
	l := ledger{free: []float32{48, 24, 12, 48}}
	plain := &route{plain: true, steps: []step{{link: 0, back: 3}, {link: 1}, {link: 2}}}
	require.Equal(t, 2, l.take(plain, 3, 20))
	require.Equal(t, []float32{28, 4, 12, 48}, l.free)
	require.Equal(t, 2, l.take(plain, 2, -20))
	require.Equal(t, []float32{48, 24, 12, 48}, l.free)

	// Through an Intel CPU PCI links carry a fifth more.
	intel := &route{viaIntel: true, steps: []step{{link: 0, back: 3, pci: true}, {link: 1, back: -1}}}
	require.Equal(t, 2, l.take(intel, 2, 10))
	require.Equal(t, []float32{36, 14, 12, 48}, l.free)
	require.Equal(t, 2, l.take(intel, 2, -10))

	// An eighth or all of it comes back.
	old := &route{steps: []step{{link: 0, back: 3, eighth: true}, {link: 1, back: 2, full: true}}}
	require.Equal(t, 1, l.take(old, 2, 16), "link 2 has not as much")
	require.Equal(t, []float32{32, 24, 12, 46}, l.free)
	require.Equal(t, 1, l.take(old, 1, -16))
	require.Equal(t, 2, l.take(old, 2, 8))
	require.Equal(t, []float32{40, 16, 4, 47}, l.free)
}

// TestAmpleLinks: the search is the same if it keeps account of all links.
func TestAmpleLinks(t *testing.T) {
	names := []string{"dgx-h100", "power9", "dgx-1v", "dgx-a100", "gb200-tray", "a100-mixed-nics"}
	if testing.Short() {
		names = names[:2]
	}
	for _, name := range names {
		v, err := ownMachine(t, name).View(Params{NRanks: 64})
		require.NoError(t, err)
		ample := 0
		for _, a := range ampleLinks(v) {
			if a {
				ample++
			}
		}
		require.Equal(t, 2*len(v.Nodes[NodeGPU]), ample)
		graphs := Search(v, SearchParams{CrossNIC: CrossNICPairs})
		// With two ranks said to be on each GPU no link counts as ample.
		for _, dev := range v.Nodes[NodeDEV] {
			dev.GPU.Ranks = 2
		}
		require.NotContains(t, ampleLinks(v), true)
		again := Search(v, SearchParams{CrossNIC: CrossNICPairs})
		for id := range again {
			again[id].RanksPerGPU = graphs[id].RanksPerGPU
		}
		require.Equal(t, graphs, again, name)
	}
}
