package planner

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// consecutive returns nodes of the given sizes, ranks in order.
func consecutive(sizes ...int) [][]int {
	var nodes [][]int
	rank := 0
	for _, size := range sizes {
		var node []int
		for range size {
			node = append(node, rank)
			rank++
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// pairs returns a whole schedule as NCCL's figures have it: [rank][round] is whom
// it sends to and receives from.
func pairs(s *P2PSchedule) [][][2]int {
	all := make([][][2]int, s.NRanks())
	for rank := range all {
		for round := range s.NRanks() {
			r := s.Round(rank, round)
			all[rank] = append(all[rank], [2]int{r.Send, r.Recv})
		}
	}
	return all
}

// TestParityP2PSchedule compares schedules with NCCL's: of many layouts of nodes,
// and of every reference run.
func TestParityP2PSchedule(t *testing.T) {
	file := filepath.Join(testenv.Shared(t, "reference/nccl-2.30.7"), "p2p_schedule.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var reference struct {
		Configs []struct {
			LocalRanks []int      `json:"localRanks"`
			GroupSize  int        `json:"groupSize"`
			Sched      [][][2]int `json:"sched"`
		} `json:"configs"`
	}
	require.NoError(t, json.Unmarshal(data, &reference))
	var tally parity.Tally
	for _, c := range reference.Configs {
		s, err := NewP2PSchedule(consecutive(c.LocalRanks...), 0)
		require.NoError(t, err)
		name, err := json.Marshal(c.LocalRanks)
		require.NoError(t, err)
		tally.Compare("group size of nodes", string(name), c.GroupSize, s.GroupSize())
		tally.Compare("schedule of nodes", string(name), c.Sched, pairs(s))
	}
	for _, r := range parity.Runs(t) {
		s, err := NewP2PSchedule(r.NodeRanks(), 0)
		require.NoError(t, err)
		tally.Compare("group size", r.Name, r.P2PGroupSize, s.GroupSize())
		tally.Compare("schedule", r.Name, r.P2PSchedule, pairs(s))
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

// TestP2PSchedules: of random nodes whose ranks are mixed, every rank sends to and
// receives from each rank once, in rounds that fit together.
func TestP2PSchedules(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		nodes := make([][]int, 1+r.IntN(9))
		nodes[r.IntN(len(nodes))] = []int{0}
		n := 1
		for i := range nodes {
			for range 1 + r.IntN(8) {
				nodes[i] = append(nodes[i], n)
				n++
			}
		}
		for rank, to := range r.Perm(n) {
			swap(nodes, rank, to)
		}
		s, err := NewP2PSchedule(nodes, r.IntN(12))
		require.NoError(t, err)
		for rank := range n {
			var sends, recvs []int
			for round := range n {
				at := s.Round(rank, round)
				sends, recvs = append(sends, at.Send), append(recvs, at.Recv)
				require.Equal(t, rank, s.Round(at.Send, round).Recv)
				require.Equal(t, round, s.SendRound(rank, at.Send))
				require.Equal(t, round, s.SendRound(at.Recv, rank))
			}
			require.Equal(t, rank, sends[0], "the first round is with oneself")
			slices.Sort(sends)
			slices.Sort(recvs)
			require.Equal(t, sends, recvs)
			require.Len(t, slices.Compact(sends), n)
		}
	}
}

// swap exchanges two ranks.
func swap(nodes [][]int, a, b int) {
	for _, node := range nodes {
		for i := range node {
			switch node[i] {
			case a:
				node[i] = b
			case b:
				node[i] = a
			}
		}
	}
}

func TestP2PScheduleRefusals(t *testing.T) {
	for _, test := range []struct {
		nodes [][]int
		group int
		want  string
	}{
		{nil, 0, "p2p schedule: no nodes; at least one is needed"},
		{[][]int{{0}, {}}, 0, "p2p schedule: node 1 has no ranks; each node has one or more"},
		{[][]int{{0, 1}, {1}}, 0, "p2p schedule: node 1 has rank 1; all nodes together have each of 0 to 2 once"},
		{[][]int{{0, 3}}, 0, "p2p schedule: node 0 has rank 3; all nodes together have each of 0 to 1 once"},
		{[][]int{{0}}, -1, "p2p schedule: groups of -1 ranks; 1 or more are allowed, 0 is 8"},
	} {
		_, err := NewP2PSchedule(test.nodes, test.group)
		require.ErrorContains(t, err, test.want)
	}
}

// TestLargeP2PSchedule makes the schedule of 16,384 ranks, and all rounds of some.
func TestLargeP2PSchedule(t *testing.T) {
	s, err := NewP2PSchedule(consecutive(slices.Repeat([]int{8}, 2048)...), 0)
	require.NoError(t, err)
	for _, rank := range []int{0, 1, 8191, 16383} {
		for round := range s.NRanks() {
			require.Equal(t, round, s.SendRound(rank, s.Round(rank, round).Send))
		}
	}
}
