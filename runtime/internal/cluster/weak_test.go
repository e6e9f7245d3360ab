package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device/sim"
)

// LL128 is right with the three facts of the hardware that its header names, and
// needs each of them: with one missing it takes old words for new ones. LL and
// Simple need none.
func TestWeakMemory(t *testing.T) {
	runs := uint64(64)
	if testing.Short() {
		runs = 16
	}
	for _, test := range []struct {
		proto coll.Proto
		facts sim.Facts
		right bool
	}{
		{coll.LL, 0, true},
		{coll.Simple, 0, true},
		{coll.LL128, sim.AllFacts, true},
		{coll.LL128, sim.AllFacts &^ sim.WholePack, false},
		{coll.LL128, sim.AllFacts &^ sim.WholeLine, false},
		{coll.LL128, sim.AllFacts &^ sim.OrderedVote, false},
	} {
		t.Run(fmt.Sprintf("%v with %v", test.proto, test.facts), func(t *testing.T) {
			right := uint64(0)
			for seed := range runs {
				if weakRun(t, test.proto, &sim.Weak{Facts: test.facts}, seed) {
					right++
				}
			}
			t.Logf("%d of %d runs right", right, runs)
			require.Equal(t, test.right, right == runs, "%d of %d runs right", right, runs)
		})
	}
}

// With all facts LL128 is still not right over PCIe, where lines may be torn.
func TestWeakMemoryOverPCIe(t *testing.T) {
	weak := &sim.Weak{Facts: sim.AllFacts, PCIe: func(a, b int) bool { return a != b }}
	for seed := range uint64(16) {
		require.True(t, weakRun(t, coll.LL, weak, seed))
		require.True(t, weakRun(t, coll.Simple, weak, seed))
		if !weakRun(t, coll.LL128, weak, seed) {
			return
		}
	}
	require.Fail(t, "LL128 was right in every run")
}

// Protocols alternate in one communicator, from counters at the boundary of 32
// bits, on weak memory.
func TestWeakAlternatingProtocols(t *testing.T) {
	for seed := range uint64(8) {
		on := setup{
			ranks: 2 + int(seed%2), channels: 1, firstStep: []uint64{1<<31 - 16, 1<<32 - 16, 0}[seed%3], seed: seed,
			weak: &sim.Weak{Facts: sim.AllFacts},
		}
		c := newCluster(t, on)
		var pending []*Operands
		for i := range 9 {
			proto := protos[(i+int(seed))%len(protos)]
			r := weakShape(proto, c.slot, on.ranks, seed+uint64(i))
			pending = append(pending, c.allReduce(&r, seed<<8+uint64(i)))
		}
		require.NoError(t, c.wait(), "seed %d", seed)
		require.Zero(t, c.Machine.Stats().UnorderedStores, "seed %d", seed)
		for _, o := range pending {
			c.check(o)
		}
	}
}

// weakShape returns a run of some steps, with aligned or misaligned buffers and
// one warp or more, as n says.
func weakShape(proto coll.Proto, s slot, nranks int, n uint64) run {
	return run{
		proto: proto, op: coll.OpSum, dataType: coll.Uint32, threads: 32 << (n / 2 % 3), channels: []int{0, 0},
		count: 3*nranks*s.chunk(proto)/4 - 5*int(n%3), sendSkew: int(n % 2), recvSkew: int(n / 3 % 2), inPlace: n%5 == 4,
	}
}

// weakRun runs an all-reduce on a machine with weak memory, and returns whether
// every rank got the right result. The seed chooses the ranks, buffers and threads
// too.
func weakRun(t *testing.T, proto coll.Proto, weak *sim.Weak, seed uint64) bool {
	s := setup{ranks: 2 + int(seed/4%2), channels: 1, seed: seed, weak: weak}
	if seed%8 == 7 {
		s.slot = largeSlot
	}
	c := newCluster(t, s)
	r := weakShape(proto, c.slot, s.ranks, seed)
	o := c.allReduce(&r, seed)
	require.NoError(t, c.wait(), "seed %d", seed)
	require.Zero(t, c.Machine.Stats().UnorderedStores, "seed %d", seed)
	var wrong *Mismatch
	err := c.Check(o)
	if errors.As(err, &wrong) && wrong.What == Result {
		return false
	}
	require.NoError(t, err)
	return true
}
