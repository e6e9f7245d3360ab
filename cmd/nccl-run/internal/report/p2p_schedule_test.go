package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/planner"
)

func TestP2PSchedule(t *testing.T) {
	s, err := planner.NewP2PSchedule([][]int{{0, 1}, {2}}, 0)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteP2PSchedule(&b, []int{2, 1}, s))
	require.Equal(t, `{"format":"ncclgo p2p-schedule","version":1,"localRanks":[2,1],"groupSize":1,`+
		`"sched":[[[0,0],[1,2],[2,1]],[[1,1],[2,0],[0,2]],[[2,2],[0,1],[1,0]]]}`+"\n", b.String())
	text := b.String()
	d, err := DecodeP2PSchedule(&b)
	require.NoError(t, err)
	require.Equal(t, &P2PSchedule{
		Format: "ncclgo p2p-schedule", Version: 1, LocalRanks: []int{2, 1}, GroupSize: 1,
		Sched: [][][2]int{{{0, 0}, {1, 2}, {2, 1}}, {{1, 1}, {2, 0}, {0, 2}}, {{2, 2}, {0, 1}, {1, 0}}},
	}, d)

	for _, test := range []struct{ text, want string }{
		{strings.Replace(text, `"version":1`, `"version":2`, 1), "version 2"},
		{strings.Replace(text, `ncclgo p2p`, `p2p`, 1), `it is "p2p-schedule"`},
		{strings.Replace(text, `groupSize`, `group`, 1), "unknown field"},
		{text + "{}", "something follows"},
		{text[:20], "it is cut short"},
	} {
		_, err := DecodeP2PSchedule(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.want)
	}

	b.Reset()
	require.NoError(t, P2PScheduleText(&b, []int{2, 1}, s))
	require.Equal(t, `ranks: 3, nodes: 2, ranks of a group: 1
each round: sends to, receives from
rank 0: 0,0 1,2 2,1
rank 1: 1,1 2,0 0,2
rank 2: 2,2 0,1 1,0
`, b.String())
	for _, write := range []func(w *failing) error{
		func(w *failing) error { return WriteP2PSchedule(w, []int{2, 1}, s) },
		func(w *failing) error { return P2PScheduleText(w, []int{2, 1}, s) },
	} {
		require.ErrorContains(t, write(new(failing)), "no space left")
	}
}

// failing is a file on a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestP2PPlan(t *testing.T) {
	c := &planner.P2PConfig{
		Nodes: [][]int{{0, 1}}, Channels: 2, PerPeer: 1, NVLink: true, BufferBytes: planner.DefaultLimits().BufferBytes, NumSteps: 8,
		P2PLimits: planner.DefaultP2PLimits(),
	}
	p, err := planner.NewP2P(c)
	require.NoError(t, err)
	all := []planner.Transfer{{Peer: 0, Bytes: 8}, {Peer: 1, Bytes: 8}}
	plan, err := p.Plan(1, all, all)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteP2PPlan(&b, 1, plan))
	text := b.String()
	d, err := DecodeP2PPlan(&b)
	require.NoError(t, err)
	self := Half{Peer: 1, Bytes: 8, Channels: 1, Proto: "Simple", ChunkBytes: 512 << 10}
	other := Half{Peer: 0, Bytes: 8, Channels: 1, Proto: "LL", ChunkBytes: 32 << 10}
	require.Equal(t, &P2PPlan{
		Format: "ncclgo p2p-plan", Version: 1, Rank: 1, Kernel: "SendRecv", Channels: 2, Threads: 640,
		Exchanges: []Exchange{{0, 0, 0, self, self}, {0, 1, 1, other, other}},
		Batches:   [][][]int{{{0}}, {{1}}},
	}, d)
	for _, test := range []struct{ text, want string }{
		{strings.Replace(text, `"version":1`, `"version":2`, 1), "version 2"},
		{strings.Replace(text, `ncclgo p2p`, `p2p`, 1), `it is "p2p-plan"`},
		{strings.Replace(text, `threads`, `thread`, 1), "unknown field"},
		{text + "{}", "something follows"},
		{text[:20], "it is cut short"},
	} {
		_, err := DecodeP2PPlan(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.want)
	}
}
