package parity

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRuns(t *testing.T) {
	for _, r := range Runs(t) {
		require.FileExists(t, r.TopoFile())
		require.FileExists(t, r.MachineFile())
		require.Equal(t, r.NRanks, len(r.RankToNode), r.Name)
		require.Equal(t, r.Nodes, len(r.NodeRanks()), r.Name)
		require.Len(t, r.Rings, r.Channels, r.Name)
		if set := r.Option == "collnet" || r.Option == "nvls0" || strings.Contains(r.Name, "/"); set {
			require.NotEmpty(t, r.Set, r.Name)
		} else {
			require.Empty(t, r.Set, r.Name)
		}
		graphs, err := r.Graphs()
		require.NoError(t, err, r.Name)
		require.Len(t, graphs[0].Channels, r.Searched["ring"].NChannels, r.Name)
		if file, ok := r.GraphFile(); ok {
			_, err := os.Stat(file)
			require.NoError(t, err)
		}
	}
}

func TestTally(t *testing.T) {
	var tally Tally
	require.True(t, tally.Compare("rings", "a", []int{0, 1}, []int{0, 1}))
	require.False(t, tally.Compare("rings", "b", []int{0, 1}, []int{1, 0}))
	require.Equal(t, []string{"b: NCCL has [0 1], here is [1 0]"}, tally.Unequal("rings"))
	require.Empty(t, tally.Unequal("trees"))
	tally.Log(t)
}
