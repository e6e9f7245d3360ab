package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/topo"
)

func TestGraph(t *testing.T) {
	system, err := topo.Builtin("h200x2")
	require.NoError(t, err)
	members, err := topo.Members(system, topo.HostParams{Hosts: 2, Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true}})
	require.NoError(t, err)
	layout, err := topo.Connect(members, topo.LayoutParams{})
	require.NoError(t, err)
	d := NewGraph("h200x2", 2, members[0].Found(), layout)
	require.Equal(t, []int{0, 0, 1, 1}, d.RankToNode)
	require.Len(t, d.Trees[0], 4)
	require.Equal(t, len(d.Graphs["ring"].Channels), d.Graphs["ring"].NChannels)
	n := d.Graphs["ring"].NChannels
	require.Equal(t, SearchGraph{ID: 2, Pattern: 3, CollNet: 1, MinChannels: n, MaxChannels: n, TypeIntra: "LOC", TypeInter: "LOC"}, d.Graphs["collnetChain"])

	var b bytes.Buffer
	require.NoError(t, d.Write(&b))
	again, err := DecodeGraph(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, d, again)

	for _, text := range []string{
		"", "{}", strings.Replace(b.String(), `"version":1`, `"version":2`, 1), strings.Replace(b.String(), `"nRanks"`, `"ranks"`, 1), b.String() + "{}",
	} {
		_, err := DecodeGraph(strings.NewReader(text))
		require.Error(t, err)
	}
}

// TestNineDigits: numbers as NCCL's tools print them.
func TestNineDigits(t *testing.T) {
	for f, want := range map[float32]string{0: "0", 12: "12", 1.2: "1.20000005", 0.1875: "0.1875", 721.8: "721.799988"} {
		got, err := nineDigits(f).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}
