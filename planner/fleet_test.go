package planner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// fleet returns nodes of random machines, with the ranks mixed.
func fleet(r *rand.Rand, kinds []topo.Member) []topo.Member {
	var members []topo.Member
	total := 0
	for range 1 + r.IntN(6) {
		m := kinds[r.IntN(len(kinds))]
		total += len(m.Ranks)
		members = append(members, m)
	}
	ranks := r.Perm(total)
	for i := range members {
		n := len(members[i].Ranks)
		members[i].Ranks = slices.Clone(ranks[:n])
		slices.Sort(members[i].Ranks)
		ranks = ranks[n:]
	}
	return members
}

// kinds returns the built-in machines with some of their GPUs each, as they are in
// a communicator that is larger.
func kinds(t testing.TB) []topo.Member {
	var all []topo.Member
	for _, name := range topo.Builtins() {
		s, err := topo.Builtin(name)
		require.NoError(t, err)
		for _, n := range []int{1, 2, 3, s.NRanks()} {
			if n > s.NRanks() {
				continue
			}
			part, err := s.FirstGPUs(n)
			require.NoError(t, err)
			members, err := topo.Members(part, topo.HostParams{
				Hosts:  2,
				Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true, CollNet: true},
			})
			require.NoError(t, err)
			if len(members) == 2 {
				all = append(all, members[0])
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestFleetsAgree: of random fleets of different machines, every rank decides the
// same. Ranks know the same nodes, in the order in which they heard of them.
func TestFleetsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	all := kinds(t)
	mixed := 0
	for range 150 {
		members := fleet(r, all)
		layout := topo.LayoutParams{CollNet: r.IntN(2) == 0}
		settings := Settings{PAT: PAT(r.IntN(3)), NoLL128C2C: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			var err error
			settings.Protos, err = ParseProtos([]string{"^LL", "LL128", "Simple;allreduce:LL"}[r.IntN(3)])
			require.NoError(t, err)
		}
		asNCCL := r.IntN(2) == 0
		var first *Model
		for heard := range 4 {
			seen := make([]topo.Member, len(members))
			for i, at := range r.Perm(len(members)) {
				seen[i] = members[at]
				seen[i].Ranks = slices.Clone(members[at].Ranks)
			}
			l, err := topo.Connect(seen, layout)
			if err != nil {
				// A fleet whose nodes share no channel is refused by all.
				require.Zero(t, heard, err)
				break
			}
			m := model(t, &Config{
				Facts: FactsOf(l), Settings: settings, Kernel: allKernels, Limits: DefaultLimits(), AsNCCL: asNCCL,
			})
			if first == nil {
				first = m
				if m.facts.MinSM != m.facts.MaxSM {
					mixed++
				}
				continue
			}
			require.Equal(t, first.facts, m.facts)
			require.Equal(t, first.costs, m.costs)
			for range 50 {
				c := Call{
					Func: coll.Func(r.IntN(int(coll.SendRecv))), Op: coll.RedOp(r.IntN(coll.NumRedOps)),
					Type: coll.DataType(r.IntN(coll.NumDataTypes)), Count: r.Int64N(1 << r.IntN(34)),
				}
				want, err := first.Choose(c, Options{})
				got, other := m.Choose(c, Options{})
				require.Equal(t, err, other)
				require.Equal(t, want, got)
			}
		}
	}
	require.Greater(t, mixed, 50, "fleets must mix generations")
}
