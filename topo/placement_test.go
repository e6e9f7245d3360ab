package topo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlace(t *testing.T) {
	s, err := Builtin("dgx-h100")
	require.NoError(t, err)
	bus := func(rank int) BusID { return s.RankGPU(rank).GPU.BusID }

	for _, test := range []struct {
		name  string
		buses []BusID
	}{
		{"one", []BusID{bus(5)}},
		{"reversed", []BusID{bus(2), bus(1), bus(0)}},
		{"two on a GPU", []BusID{bus(1), bus(0), bus(1)}},
		{"all on a GPU", []BusID{bus(7), bus(7), bus(7), bus(7)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := s.Place(test.buses)
			require.NoError(t, err)
			require.Equal(t, len(test.buses), p.NRanks())
			sharing := map[BusID]int{}
			for rank, b := range test.buses {
				require.Equal(t, b, p.RankGPU(rank).GPU.BusID)
				sharing[b]++
			}
			require.Len(t, p.Nodes[NodeDEV], len(sharing))
			most := 0
			for _, n := range p.Nodes[NodeDEV] {
				require.Equal(t, sharing[n.GPU.BusID], n.GPU.Ranks)
				most = max(most, n.GPU.Ranks)
			}
			g, err := SearchRing(p)
			require.NoError(t, err)
			require.Equal(t, most, g.RanksPerGPU)
			again, err := p.Place(test.buses)
			require.NoError(t, err)
			require.Same(t, p, again)
		})
	}
	require.Equal(t, 8, s.NRanks(), "the system itself is unchanged")

	_, err = s.Place([]BusID{bus(0), 0xff})
	require.ErrorContains(t, err, "dgx-h100 has no GPU at 0000:00:0f.f for rank 1; it has GPUs at 0000:1b:00.0 ")
}
