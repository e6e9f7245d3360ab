package nccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
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
// the PTX machine, with all kernels and default sizes: the program's first, for
// which the machine parses every kernel.
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
