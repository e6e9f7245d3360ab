package topo_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
)

// TestParityGraphFile writes the graphs that NCCL found as NCCL writes them, and
// reads what it wrote. Files of runs in which rank 0's node is a part of its host
// are written only: the topology has GPUs that they lack.
func TestParityGraphFile(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		file, ok := r.GraphFile()
		if !ok {
			continue
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := topo.Load(r.TopoFile(), os.ReadFile)
		require.NoError(t, err)
		graphs, err := r.Graphs()
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, topo.WriteGraphs(&got, graphs, s))
		tally.Compare("graph file written", r.Name, string(want), got.String())

		if len(r.System.GPUs) != s.NRanks() {
			continue
		}
		read, err := topo.ParseGraphs(file, want, s)
		require.NoError(t, err)
		got.Reset()
		require.NoError(t, topo.WriteGraphs(&got, read, s))
		// A graph without channels is read as none, and written as one that was not
		// searched for.
		tally.Compare("graph file read and written", r.Name, string(want), got.String())
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}
