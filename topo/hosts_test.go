package topo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/result"
)

func TestMembers(t *testing.T) {
	s, err := Builtin("dgx-h100")
	require.NoError(t, err)
	p := HostParams{Hosts: 3, Search: SearchParams{CrossNIC: CrossNICPairs, NVLS: true}}
	members, err := Members(s, p)
	require.NoError(t, err)
	require.Len(t, members, 3)
	require.Equal(t, []int{16, 17, 18, 19, 20, 21, 22, 23}, members[2].Ranks)
	require.Same(t, members[0].Graphs, members[2].Graphs)
	l, err := Connect(members, LayoutParams{})
	require.NoError(t, err)
	checkLayout(t, l)
	require.Equal(t, 24, l.NRanks())

	for _, hosts := range []int{-1, maxRanks} {
		_, err = Members(s, HostParams{Hosts: hosts})
		require.ErrorIs(t, err, result.ErrInvalidArgument)
	}
}

// TestGraphFile: graphs of a file are taken in place of a search, but for those
// that the file lacks or that CrossNIC forbids.
func TestGraphFile(t *testing.T) {
	s, err := Builtin("dgx-h100")
	require.NoError(t, err)
	v, err := s.View(Params{NRanks: 16})
	require.NoError(t, err)
	found := Search(v, SearchParams{CrossNIC: CrossNICPairs})
	given := Graphs{GraphRing: &Graph{
		ID: GraphRing, Pattern: PatternRing, CrossNIC: CrossNICAll, BWIntra: 7, BWInter: 6, TypeIntra: PathSYS, TypeInter: PathSYS,
		Channels: []Channel{{Ranks: []int{7, 5, 3, 1, 0, 2, 4, 6}, Nets: []int64{0, 1}}},
	}}
	var file bytes.Buffer
	require.NoError(t, WriteGraphs(&file, &given, v))

	p := HostParams{Hosts: 2, Search: SearchParams{CrossNIC: CrossNICPairs}, GraphFile: &GraphFile{"g.xml", file.Bytes()}}
	members, err := Members(s, p)
	require.NoError(t, err)
	l, err := Connect(members, LayoutParams{})
	require.NoError(t, err)
	require.Equal(t, 2, l.Channels)
	require.Equal(t, []int{7, 5, 3, 1, 0, 2, 4, 6, 15, 13, 11, 9, 8, 10, 12, 14}, l.Ring(1, 7))
	require.EqualValues(t, 7, l.Graphs(0)[GraphRing].BWIntra)
	require.Len(t, members[0].Graphs[GraphTree].Channels, 1)

	p.Search.CrossNIC = CrossNICNever
	members, err = Members(s, p)
	require.NoError(t, err)
	require.NotEqual(t, PathSYS, members[0].Graphs[GraphRing].TypeIntra)
	require.Len(t, members[0].Graphs[GraphRing].Channels, len(found[GraphRing].Channels))

	p.GraphFile.Data = []byte("<graphs>")
	_, err = Members(s, p)
	require.ErrorContains(t, err, "g.xml:1:1: <graphs> has no attribute version")
}
