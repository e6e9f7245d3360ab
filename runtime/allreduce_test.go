package nccl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// builtTypes and builtOps are all there are.
var (
	builtTypes = every[coll.DataType](coll.NumDataTypes)
	builtOps   = every[coll.UserOp](coll.NumUserOps)
)

func every[E ~uint8](n int) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = E(i)
	}
	return all
}

// TestAllReduce compares every type and op with the host, over ranks, sizes,
// protocols and places.
func TestAllReduce(t *testing.T) { onEngines(t, testAllReduce) }

func testAllReduce(t *testing.T, e engine) {
	for _, ranks := range []int{1, 2, 3} {
		for _, proto := range e.protos(t, ranks) {
			t.Run(fmt.Sprintf("%d ranks %v", ranks, proto), func(t *testing.T) {
				cfg := e.config(t, ranks)
				cfg.Protos = []coll.Proto{proto}
				cfg.OnLaunch = func(l LaunchInfo) { require.Equal(t, proto, l.Variant.Proto) }
				comms := mustInit(t, cfg)
				streams := streamsOf(t, comms)
				for k, typ := range builtTypes {
					for i, op := range builtOps {
						for _, count := range []int{0, 1, 13, 700}[(k+i)%2:] {
							j := newJob(t, comms, streams, typ, op, count, (i+count)%2 == 0)
							require.NoError(t, Group(j.enqueue))
							j.check(t)
						}
					}
				}
			})
		}
	}
}

// TestMixedGroup enqueues many collectives of mixed types and sizes as one, on
// several streams, for ranks of which several share a GPU.
func TestMixedGroup(t *testing.T) { onEngines(t, testMixedGroup) }

func testMixedGroup(t *testing.T, e engine) {
	cfg := e.config(t, 2)
	cfg.Devices = []device.Device{cfg.Devices[0], cfg.Devices[1], cfg.Devices[1], cfg.Devices[0]}
	perGPU := ranksByDevice(cfg.Devices)[cfg.Devices[0]]
	comms := mustInit(t, cfg)
	require.Equal(t, perGPU, comms[0].Graph().RanksPerGPU)
	streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms)}
	var jobs []*job
	for i := range 60 {
		jobs = append(jobs, newJob(t, comms, streams[i%2], builtTypes[i%len(builtTypes)], builtOps[i/2%len(builtOps)], i*i%97, i%3 == 0))
	}
	require.NoError(t, Group(func(g *Calls) error {
		for _, j := range jobs {
			if err := j.enqueue(g); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, j := range jobs {
		j.check(t)
	}
}

// TestManyWorks enqueues more works of one kernel than its parameter holds.
func TestManyWorks(t *testing.T) { onEngines(t, testManyWorks) }

func testManyWorks(t *testing.T, e engine) {
	cfg := e.config(t, 2)
	comms := mustInit(t, cfg)
	streams := streamsOf(t, comms)
	for range 2 {
		var jobs []*job
		require.NoError(t, Group(func(g *Calls) error {
			for i := range 120 {
				jobs = append(jobs, newJob(t, comms, streams, coll.Float32, coll.OpSum, 1+i%7, i%2 == 0))
				if err := jobs[i].enqueue(g); err != nil {
					return err
				}
			}
			return nil
		}))
		for _, j := range jobs {
			j.check(t)
		}
	}
}

// TestStreamsFollow enqueues each operation on another stream than the one
// before, which the user does not order: if kernels of the communicator
// overlapped, the second would take the first's steps and data.
func TestStreamsFollow(t *testing.T) { onEngines(t, testStreamsFollow) }

func testStreamsFollow(t *testing.T, e engine) {
	for seed, proto := range e.protos(t, 2) {
		cfg := e.config(t, 2, func(c *sim.Config) { c.Seed = uint64(seed) })
		cfg.Protos = []coll.Proto{proto}
		comms := mustInit(t, cfg)
		streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms), streamsOf(t, comms)}
		j := newJob(t, comms, streams[0], coll.Int32, coll.OpSum, 500, true)
		const rounds = 6
		for round := range rounds {
			j.streams = streams[round%len(streams)]
			require.NoError(t, Group(j.enqueue))
		}
		// Each round after the first doubles what all ranks have alike.
		j.combine(func(x []int32) int32 { return (x[0] + x[1]) << (rounds - 1) })
		j.check(t)
	}
}

// TestStreamIsClosed switches from a stream that has been closed with an
// operation still queued on it.
func TestStreamIsClosed(t *testing.T) { onEngines(t, testStreamIsClosed) }

func testStreamIsClosed(t *testing.T, e engine) {
	cfg := e.config(t, 2)
	comms := mustInit(t, cfg)
	first := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 300, false)
	require.NoError(t, Group(first.enqueue))
	for _, s := range first.streams {
		require.NoError(t, s.Close())
	}
	second := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpMax, 300, false)
	require.NoError(t, Group(second.enqueue))
	second.check(t)
	first.streams = second.streams
	first.check(t)
}

// TestTwoCommunicators runs two communicators on the same GPUs at once, with
// different rank orders.
func TestTwoCommunicators(t *testing.T) { onEngines(t, testTwoCommunicators) }

func testTwoCommunicators(t *testing.T, e engine) {
	cfg := e.config(t, 3)
	one := mustInit(t, cfg)
	cfg.Devices = []device.Device{cfg.Devices[2], cfg.Devices[0], cfg.Devices[1]}
	two := mustInit(t, cfg)
	a := newJob(t, one, streamsOf(t, one), coll.Float64, coll.OpSum, 400, false)
	b := newJob(t, two, streamsOf(t, two), coll.Float16, coll.OpMin, 900, false)
	require.NoError(t, Group(func(g *Calls) error {
		if err := a.enqueue(g); err != nil {
			return err
		}
		return b.enqueue(g)
	}))
	require.NoError(t, Group(b.enqueue))
	a.check(t)
	b.check(t)
}

// TestFirstStep starts connections where the flags of protocols wrap around.
func TestFirstStep(t *testing.T) { onEngines(t, testFirstStep) }

func testFirstStep(t *testing.T, e engine) {
	for _, first := range []uint64{1<<31 - 16, 1<<32 - 16} {
		for _, proto := range e.protos(t, 2) {
			cfg := e.config(t, 2)
			cfg.FirstStep, cfg.Protos, cfg.MaxChannels = first, []coll.Proto{proto}, 1
			comms := mustInit(t, cfg)
			streams := streamsOf(t, comms)
			for range 12 {
				j := newJob(t, comms, streams, coll.Int32, coll.OpSum, 100, false)
				require.NoError(t, Group(j.enqueue))
				j.check(t)
			}
		}
	}
}
