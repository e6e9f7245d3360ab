package nccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

// TestHardwareQueues refuses more ranks on a GPU than it runs side by side.
func TestHardwareQueues(t *testing.T) {
	driver, cfg := fakes(t, 2)
	cfg.Devices = []device.Device{cfg.Devices[0], cfg.Devices[1], cfg.Devices[1], cfg.Devices[1]}
	driver.SetHardwareQueues(2)
	_, err := InitAll(t.Context(), cfg)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.EqualError(t, err, "InitAll: Config.Devices: 3 ranks on GPU 1, which has 2 hardware queues; a kernel that waits for one behind it in its queue never ends: set FAKE_QUEUES, or use fewer ranks on a GPU")
	require.Zero(t, driver.Live())
	driver.SetHardwareQueues(3)
	mustInit(t, cfg)
}

// TestOneStreamForTwoRanks refuses, before anything is touched, what would wait
// for ever: an operation on one stream behind that of another rank which waits
// for it.
func TestOneStreamForTwoRanks(t *testing.T) {
	driver, cfg := fakes(t, 2)
	cfg.Devices = []device.Device{cfg.Devices[0], cfg.Devices[0], cfg.Devices[1]}
	comms := mustInit(t, cfg)
	dev := cfg.Devices[0].(*fakedevice.Device)
	s, other := dev.NamedStream("s"), dev.NamedStream("other")
	call := func(g *Calls, rank int, on device.Stream) error {
		return g.AllReduce(comms[rank], someBuffer, someBuffer, 8, coll.Float32, coll.OpSum, on)
	}
	alone := func(rank int, on device.Stream) error {
		return comms[rank].AllReduce(someBuffer, someBuffer, 8, coll.Float32, coll.OpSum, on)
	}
	const refusal = "AllReduce: rank 1: the operation would be on one stream behind that of rank 0, on the same GPU, which waits for it; give each rank a stream of its own"

	// In one group, and in a stream that only joins.
	driver.TakeLog()
	for _, streams := range [][3]device.Stream{{s, s, s}, {s, other, s}} {
		err := Group(func(g *Calls) error {
			require.NoError(t, call(g, 0, streams[0]))
			require.NoError(t, call(g, 0, streams[0]))
			require.NoError(t, call(g, 1, streams[1]))
			return call(g, 1, streams[2])
		})
		require.ErrorIs(t, err, ErrInvalidUsage)
		require.EqualError(t, err, refusal)
	}
	require.Empty(t, driver.TakeLog())

	// One after another. What was refused above left nothing behind.
	require.NoError(t, alone(0, s))
	require.EqualError(t, alone(1, s), refusal)
	require.NoError(t, alone(1, other))
	// Streams may change hands when the operations before are complete.
	require.NoError(t, alone(1, s))
	require.ErrorContains(t, alone(0, s), "behind that of rank 1")
	require.NoError(t, alone(0, other))
	require.NoError(t, alone(0, s))
	// Where nothing is launched nothing waits.
	for _, rank := range []int{0, 1} {
		require.NoError(t, comms[rank].AllReduce(0, 0, 0, coll.Float32, coll.OpSum, other))
	}
}

// TestOneStreamForTwoCaptures captures each rank's graph on one stream: they may
// be launched on two.
func TestOneStreamForTwoCaptures(t *testing.T) { onEngines(t, testOneStreamForTwoCaptures) }

func testOneStreamForTwoCaptures(t *testing.T, e engine) {
	comms := mustInit(t, together(e.config(t, 2)))
	streams := streamsOf(t, comms)
	j := newJob(t, comms, streams, coll.Float32, coll.OpSum, 600, false)
	var graphs []device.Graph
	for rank, c := range comms {
		graphs = append(graphs, captures(t, streams[:1], false, func() {
			require.NoError(t, c.AllReduce(j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.ops[rank], streams[0]))
		})...)
	}
	for range 3 {
		for rank, g := range graphs {
			require.NoError(t, g.Launch(streams[rank]))
		}
	}
	j.check(t)
}

// TestManyStreams forgets streams that come and go.
func TestManyStreams(t *testing.T) {
	_, cfg := fakes(t, 1)
	cfg.Devices = []device.Device{cfg.Devices[0], cfg.Devices[0]}
	comms := mustInit(t, cfg)
	for range 1000 {
		for _, c := range comms {
			require.NoError(t, c.AllReduce(someBuffer, someBuffer, 8, coll.Float32, coll.OpSum, named(c, "s")))
		}
	}
	require.Less(t, len(comms[0].gpuRanks.streams), 100)
}
