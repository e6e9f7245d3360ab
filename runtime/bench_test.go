package nccl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// BenchmarkAllReduceEnqueue measures what the host does for one call, on a device
// that does nothing.
func BenchmarkAllReduceEnqueue(b *testing.B) {
	driver, cfg := fakes(b, 2)
	c := mustInit(b, cfg)[0]
	driver.Quiet()
	s := named(c, "s")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.AllReduce(someBuffer, someBuffer, 1024, coll.Float32, coll.OpSum, s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGroupEnqueue measures a group of one call on each of 8 ranks.
func BenchmarkGroupEnqueue(b *testing.B) {
	driver, cfg := fakes(b, 8)
	comms := mustInit(b, cfg)
	driver.Quiet()
	var streams []device.Stream
	for _, c := range comms {
		streams = append(streams, named(c, "s"))
	}
	b.ReportAllocs()
	for b.Loop() {
		err := Group(func(g *Calls) error {
			for i, c := range comms {
				if err := g.AllReduce(c, someBuffer, someBuffer, 1024, coll.Float32, coll.OpSum, streams[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestEnqueueDoesNotAllocate holds the hot path to what the benchmark shows.
func TestEnqueueDoesNotAllocate(t *testing.T) {
	driver, cfg := fakes(t, 2)
	c := mustInit(t, cfg)[0]
	driver.Quiet()
	s := named(c, "s")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := c.AllReduce(someBuffer, someBuffer, 1024, coll.Float32, coll.OpSum, s); err != nil {
			t.Error(err)
		}
	}))
}

// BenchmarkInitAll measures making and closing the communicators of 8 ranks on
// the PTX machine, with all kernels and default sizes. Only for a program's first
// the machine decodes and lowers every kernel: -benchtime 1x measures that one.
func BenchmarkInitAll(b *testing.B) {
	for b.Loop() {
		_, cfg := machine(b, 8)
		cfg.MaxChannels, cfg.Threads, cfg.BufferBytes = 0, 0, [coll.NumProtos]int{}
		comms, err := InitAll(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range comms {
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkLaunch measures the host's time for one launch: the device's own
// Launch, with the parameter of a collective, and all that an all-reduce does. The
// difference is what the communicator costs. On a GPU two ranks share it, and
// launches stop for the device before its queue is full, off the clock.
func BenchmarkLaunch(b *testing.B) {
	for _, e := range []struct {
		name   string
		config func(b *testing.B) Config
	}{
		{"fake", func(b *testing.B) Config {
			driver, cfg := fakes(b, 2)
			driver.Quiet()
			return cfg
		}},
		{"cuda", func(b *testing.B) Config { return cudaEngine.config(b, 2) }},
	} {
		b.Run(e.name, func(b *testing.B) {
			cfg := e.config(b)
			cfg.Protos, cfg.MinChannels, cfg.MaxChannels = []coll.Proto{coll.LL}, 1, 1
			comms := mustInit(b, cfg)
			streams := streamsOf(b, comms)
			var buffers [2]device.Ptr
			for rank, c := range comms {
				var err error
				buffers[rank], err = c.Device().Alloc(4096, "benchmark")
				require.NoError(b, err)
			}
			kernel, err := generated.Lookup(coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL}, comms[0].Device().Info().SM)
			require.NoError(b, err)
			var args [2]abi.KernelArgs // without works: the kernel does nothing
			var launches [2]device.Launch
			for rank, c := range comms {
				args[rank].Comm = c.shared.memory.Comm(rank)
				launches[rank] = device.Launch{Function: c.kernels.Function(kernel), Grid: 1, Threads: 64,
					Args: devcomm.Append(nil, args[rank])}
			}
			b.Run("Launch", func(b *testing.B) {
				timeCalls(b, streams, func(rank int) error { return streams[rank].Launch(&launches[rank]) })
			})
			b.Run("AllReduce", func(b *testing.B) {
				timeCalls(b, streams, func(rank int) error {
					return comms[rank].AllReduce(buffers[rank], buffers[rank], 8, coll.Float32, coll.OpSum, streams[rank])
				})
			})
		})
	}
}

// timeCalls measures calls, alternately of each rank.
func timeCalls(b *testing.B, streams []device.Stream, call func(rank int) error) {
	const together = 128
	b.ReportAllocs()
	for i := range b.N {
		if i%together == 0 {
			b.StopTimer()
			for _, s := range streams {
				require.NoError(b, s.Synchronize(b.Context()))
			}
			b.StartTimer()
		}
		if err := call(i % len(streams)); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if b.N%len(streams) != 0 {
		// The ranks are in step again.
		require.NoError(b, call(b.N%len(streams)))
	}
	for _, s := range streams {
		require.NoError(b, s.Synchronize(b.Context()))
	}
}

// BenchmarkGraphReplay measures an all-reduce of 8 bytes in a graph of 20,
// replayed on two ranks: with what keeps graphs and other calls in order, and
// without.
func BenchmarkGraphReplay(b *testing.B) {
	for _, off := range []bool{false, true} {
		b.Run(fmt.Sprintf("NoGraphMixing=%v", off), func(b *testing.B) {
			cfg := cudaEngine.config(b, 2)
			cfg.Protos, cfg.NoGraphMixing = []coll.Proto{coll.LL}, off
			comms := mustInit(b, cfg)
			streams := streamsOf(b, comms)
			j := newJob(b, comms, streams, coll.Float32, coll.OpMax, 2, false)
			const collectives = 20
			graphs := captures(b, streams, false, func() {
				for range collectives {
					require.NoError(b, Group(j.enqueue))
				}
			})
			replay := func(n int) {
				for range n {
					for i, g := range graphs {
						require.NoError(b, g.Launch(streams[i]))
					}
				}
				for _, s := range streams {
					require.NoError(b, s.Synchronize(b.Context()))
				}
			}
			replay(5)
			b.ResetTimer()
			replay(b.N)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/collectives, "us/collective")
		})
	}
}
