package nccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
)

// TestStreamsComeAndGo has every operation take what the one before left, on
// streams that nothing else orders: on one, then another, then the first again,
// twice, which is closed as soon as it was used. Finalize waits for what is on
// closed streams.
func TestStreamsComeAndGo(t *testing.T) { onEngines(t, testStreamsComeAndGo) }

func testStreamsComeAndGo(t *testing.T, e engine) {
	const rounds = 4
	comms := mustInit(t, e.config(t, 2))
	kept := streamsOf(t, comms)
	j := newJob(t, comms, kept, coll.Int32, coll.OpSum, 300, true)
	for range rounds {
		passing := make([]device.Stream, len(comms))
		for i, c := range comms {
			var err error
			passing[i], err = c.Device().NewStream()
			require.NoError(t, err)
		}
		for _, streams := range [][]device.Stream{passing, kept, passing, passing} {
			j.streams = streams
			require.NoError(t, Group(j.enqueue))
		}
		for _, s := range passing {
			require.NoError(t, s.Close())
		}
	}
	for _, c := range comms {
		require.NoError(t, c.Finalize(soon(t)))
	}
	// In place, each of the 4 x rounds sums doubles the first.
	j.combine(func(x []int32) int32 { return (x[0] + x[1]) << (4*rounds - 1) })
	j.streams = kept
	j.check(t)
}
