package nccl

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device/sim"
)

// TestHammer has a goroutine for each rank of each of two communicators call as
// fast as it can, switching streams, while others look.
func TestHammer(t *testing.T) {
	const ranks, rounds = 3, 12
	_, cfg := machine(t, ranks, func(c *sim.Config) { c.StuckGrace = sim.DefaultStuckGrace })
	var wg, looking sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		comms := mustInit(t, cfg)
		jobs := make([]*job, rounds)
		for round := range jobs {
			jobs[round] = newJob(t, comms, streamsOf(t, comms), builtTypes[round%len(builtTypes)], builtOps[round%len(builtOps)], 37*round, round%2 == 0)
		}
		for rank, c := range comms {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(rank), 1))
				for _, j := range jobs {
					if err := c.AllReduce(j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.ops[rank], j.streams[rank]); err != nil {
						t.Error(err)
						return
					}
					if rng.IntN(3) == 0 {
						if err := j.streams[rank].Synchronize(context.Background()); err != nil {
							t.Error(err)
							return
						}
					}
				}
				if err := c.Finalize(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				for _, c := range comms {
					if err := c.AsyncError(); err != nil {
						t.Error(err)
					}
					_, _ = c.Explain(100, coll.Float32, coll.OpSum)
				}
			}
		})
		t.Cleanup(func() {
			for _, j := range jobs {
				j.check(t)
			}
		})
	}
	wg.Wait()
	close(done)
	looking.Wait()
	require.False(t, t.Failed())
}
