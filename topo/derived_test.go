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
			g, err := searchRing(p)
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

// TestFabric: hosts in one NVLink fabric reach one another's GPUs by it, and only
// their own network cards.
func TestFabric(t *testing.T) {
	one, err := parseSystem("f.xml", []byte(file(arm, card(0, 100, toSwitch, toCPU)+port(0))))
	require.NoError(t, err)
	s, err := one.Fabric(3)
	require.NoError(t, err)
	v, err := s.View(Params{})
	require.NoError(t, err)
	require.Len(t, v.Nodes[NodeGPU], 3)
	require.False(t, v.Inter)
	for i, gpu := range v.Nodes[NodeGPU] {
		require.Equal(t, i, gpu.Host)
		for j, other := range v.Nodes[NodeGPU] {
			if i != j {
				require.Equal(t, PathNVL, gpu.Path(other).Type)
				require.Equal(t, PathDIS, gpu.Path(v.Nodes[NodeNET][j]).Type)
			}
		}
		require.Equal(t, PathP2C, gpu.Path(v.Nodes[NodeNET][i]).Type)
		require.Equal(t, i, v.Nodes[NodeNET][i].Net.LocalGPU)
	}
	checkPaths(t, v)

	_, err = one.Fabric(0)
	require.Error(t, err)
	_, err = s.Fabric(2)
	require.ErrorContains(t, err, "3 hosts already")
	_, err = one.Fabric(maxHosts + 1)
	require.ErrorContains(t, err, "257 hosts; a fabric has at most 256")
	_, err = one.Fabric(MaxGPUs + 1)
	require.ErrorContains(t, err, "641 hosts of 1 GPUs; a fabric has at most 640 GPUs")
	alone, err := parseSystem("f.xml", []byte(oneGPU))
	require.NoError(t, err)
	alone, err = alone.Fabric(1)
	require.NoError(t, err)
	require.Equal(t, 1, alone.NRanks())
	plain, err := parseSystem("f.xml", []byte(file(arm, card(0, 100))))
	require.NoError(t, err)
	_, err = plain.Fabric(2)
	require.ErrorContains(t, err, "no NVSwitch")
}
