package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every two values of any two axes meet.
func TestPairwise(t *testing.T) {
	for _, sizes := range [][]int{{2, 2}, {1, 3, 4}, {7, 1, 2, 5}, axisSizes(1), axisSizes(4)} {
		for seed := range uint64(3) {
			rows := pairwise(sizes, seed)
			met := map[[4]int]bool{}
			for _, row := range rows {
				require.Len(t, row, len(sizes))
				for b := range row {
					require.Less(t, row[b], sizes[b])
					for a := range b {
						met[[4]int{a, b, row[a], row[b]}] = true
					}
				}
			}
			pairs, most := 0, 0
			for b := range sizes {
				for a := range b {
					pairs += sizes[a] * sizes[b]
					most = max(most, sizes[a]*sizes[b])
				}
			}
			require.Len(t, met, pairs, "%v", sizes)
			require.Less(t, len(rows), 2*most+8, "%v: not many more rows than needed", sizes)
			require.Equal(t, rows, pairwise(sizes, seed))
		}
	}
}

// Every type and operator that a kernel serves is in its cases, and every rank
// count.
func TestCases(t *testing.T) {
	kernels, err := Kernels()
	require.NoError(t, err)
	for i := range kernels {
		if testing.Short() && i%shortPart != 0 {
			continue
		}
		v := kernels[i].Variant
		kinds, ranks := map[served]bool{}, map[int]bool{}
		for _, c := range Cases(v) {
			kinds[served{c.Type, c.Op, c.OnDevice}] = true
			ranks[c.Ranks] = true
			require.Positive(t, c.Chunk)
			require.Zero(t, c.Chunk%16)
			require.LessOrEqual(t, c.Workers, c.Threads)
			require.Zero(t, c.Calls%c.Launches)
		}
		require.Len(t, kinds, len(serves(v)), kernels[i].Name)
		require.NotEmpty(t, kinds)
		for _, n := range append(rankCounts, longRingRanks) {
			require.True(t, ranks[n], "%s with %d ranks", kernels[i].Name, n)
		}
	}
}
