package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// largeHosts are the hosts of a communicator of 16,384 ranks.
const largeHosts = 2048

// BenchmarkLargeCommunicator measures planning a communicator of 16,384 ranks: from
// what its nodes found to a model, to choices of all sizes and their plans, to the
// rounds of a rank, and an all-to-all of it.
func BenchmarkLargeCommunicator(b *testing.B) {
	members := membersOf(b, "dgx-h100", largeHosts)
	limits := DefaultLimits()
	b.ReportAllocs()
	for b.Loop() {
		l, err := topo.Connect(members, topo.LayoutParams{})
		require.NoError(b, err)
		m, err := New(&Config{Facts: FactsOf(l), Kernel: allKernels, Limits: limits})
		require.NoError(b, err)
		for bytes := int64(8); bytes <= 8<<30; bytes *= 2 {
			call := Call{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Count: bytes / 4}
			choice, err := m.Choose(call, Options{})
			require.NoError(b, err)
			m.Plan([]Task{{call, choice}})
		}
		p, err := NewP2P(P2PConfigOf(l, &limits))
		require.NoError(b, err)
		n := p.Schedule().NRanks()
		plan, err := p.Plan(n/2, allToAll(n, 1<<20), allToAll(n, 1<<20))
		require.NoError(b, err)
		require.Len(b, plan.Exchanges, n)
	}
}

// BenchmarkChooseAndPlan measures a fresh plan of a call and of a group of 16 on a
// node of 8 ranks.
func BenchmarkChooseAndPlan(b *testing.B) {
	m := model(b, config(b, "dgx-h100", 8, firstKernels))
	calls := make([]Call, 16)
	for i := range calls {
		calls[i] = sum(1000 << i)
	}
	for name, group := range map[string][]Call{"call": calls[10:11], "group16": calls} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tasks, err := m.ChooseGroup(group, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if p := m.Plan(tasks); len(p.Launches) == 0 {
					b.Fatal("no launches")
				}
			}
		})
	}
}
