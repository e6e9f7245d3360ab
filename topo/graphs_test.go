package topo

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
)

// TestGraphs runs the commands of golden/topo/graphs.txt: "graphs MACHINE HOSTS"
// prints the graphs of rank 0, all that the machine can have.
func TestGraphs(t *testing.T) {
	machines := map[string]bool{}
	golden.Script(t, "topo/graphs.txt", func(input string) string {
		words := strings.Fields(input)
		require.Len(t, words, 3, "%q", input)
		machines[words[1]] = true
		hosts, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		s := ownMachine(t, words[1])
		v, err := s.View(Params{NRanks: hosts * s.NRanks()})
		require.NoError(t, err)
		collNet := slices.ContainsFunc(v.Nodes[NodeNET], func(n *Node) bool { return n.Net.Coll })
		var b strings.Builder
		for _, g := range Search(v, SearchParams{CrossNIC: CrossNICPairs, NVLS: true, CollNet: v.Inter && collNet}) {
			checkGraph(t, v, g)
			if len(g.Channels) > 0 {
				b.WriteString(g.String())
			}
		}
		return b.String()
	})
	files, err := os.ReadDir(golden.Path("topo/machines"))
	require.NoError(t, err)
	require.Len(t, machines, len(files)+len(Builtins()), "machines without a case")
}

// ownMachine returns a machine of golden/topo/machines or a built-in one, in which
// nothing is odd.
func ownMachine(t *testing.T, name string) *System {
	s, err := scriptMachine(name)
	require.NoError(t, err)
	require.Empty(t, s.Notes, name)
	return s
}
