package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/planner"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// TestParityP2P compares what the sizes of sends and receives depend on, all the way
// from topologies: buffers, chunks, channels, groups.
func TestParityP2P(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		l := layoutOf(t, r)
		settings, err := nccl.ReadPlanSettings(r.Lookup)
		require.NoError(t, err, r.Name)
		limits := &settings.Limits
		c := planner.P2PConfigOf(l, limits)
		c.P2PLimits, err = nccl.ReadP2PLimits(r.Lookup)
		require.NoError(t, err, r.Name)
		p, err := planner.NewP2P(c)
		require.NoError(t, err, r.Name)
		tally.Compare("buffers", r.Name, r.BufferBytes, [3]int(limits.BufferBytes))
		tally.Compare("chunks of sends", r.Name, r.P2PChunkBytes, p.ChunkBytes())
		tally.Compare("channels of sends", r.Name, [2]int{r.P2PChannels, r.P2PChannelsPerPeer}, [2]int{l.P2PChannels, l.P2PChannelsPerPeer})
		tally.Compare("chunks of NVLS", r.Name, [2]int{r.NVLSChunkBytes, r.NVLSTreeChunkBytes}, [2]int{l.NVLSChunkBytes, l.NVLSTreeChunkBytes})
		tally.Compare("all NVLink", r.Name, r.AllNVLink != 0, l.Hardware().AllNVLink)
		tally.Compare("group size of a layout", r.Name, r.P2PGroupSize, p.Schedule().GroupSize())
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}
