package sim_test

import (
	"fmt"
	"testing"

	"github.com/ncclgo/ncclgo/device/sim"
)

// The ring kernels need none of the facts beyond the PTX ISA, whatever the order.
func TestShippedRingNeedsNoFacts(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for _, symbol := range []string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f32_RING_SIMPLE"} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/seed %d", symbol, seed), func(t *testing.T) {
				// Slots so small that each is used several times.
				ranks, count := 2+int(seed%2), 1200+int(seed*37%900)
				r := newRing(t, setup{symbol, ranks, count, 64, 512, seed, &sim.Weak{}})
				r.run(t)
				r.check(t)
				r.run(t)
				r.check(t)
			})
		}
	}
}
