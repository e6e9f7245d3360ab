package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// A wait is for the Record before it, also if a later one on another stream is done
// first.
func TestWaitForAnEarlierRecord(t *testing.T) {
	for _, weak := range []*sim.Weak{nil, {}} {
		l := newLab(t, sim.Config{Weak: weak})
		var streams []device.Stream
		for range 3 {
			s, err := l.devs[0].NewStream()
			require.NoError(t, err)
			streams = append(streams, s)
		}
		e, err := l.devs[0].NewEvent()
		require.NoError(t, err)
		l.streams[0] = streams[0]
		l.launch(shape{threads: 1}, "mov.u32 x, 0; LOOP: add.u32 x, x, 1; setp.lt.u32 p, x, 20000; @p bra LOOP; st.global.u32 [a], 5;")
		require.NoError(t, streams[0].Record(e))
		require.NoError(t, streams[1].Wait(e))
		require.NoError(t, streams[2].Record(e))
		l.streams[0] = streams[1]
		l.launch(shape{threads: 1}, "ld.global.u32 x, [a]; st.global.u32 [a+4], x;")
		require.NoError(t, e.Synchronize(context.Background()), "the last Record")
		done, err := streams[0].Query()
		require.NoError(t, err)
		require.False(t, done, "it is not the first")
		require.NoError(t, l.sync(0))
		require.Equal(t, []uint32{5, 5}, l.words(2))
	}
}
