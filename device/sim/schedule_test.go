package sim_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// traceHash runs warps of two GPUs that pass a counter around and returns a
// hash of every instruction in order.
func traceHash(t *testing.T, seed uint64, quantum int) uint64 {
	h := fnv.New64()
	l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}, Seed: seed, Quantum: quantum,
		Trace: func(s sim.Step) { fmt.Fprintln(h, s) }})
	require.NoError(t, l.devs[1].EnablePeer(l.devs[0]))
	for gpu := range 2 {
		l.launch(shape{gpu: gpu, grid: 2, threads: 64}, `
mov.u32 y, 0;
LOOP: atom.global.add.u32 x, [a], 1; and.b32 z, x, 3; setp.eq.u32 p, z, 0; @p nanosleep.u32 50;
bar.sync 0; add.u32 y, y, 1; setp.lt.u32 p, y, 10; @p bra LOOP;`, l.out)
	}
	require.NoError(t, l.sync(0))
	require.NoError(t, l.sync(1))
	require.Equal(t, uint32(2*2*64*10), l.words(1)[0])
	return h.Sum64()
}

func TestSeedDecidesTheSchedule(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(5) {
		h := traceHash(t, seed, 0)
		require.Equal(t, h, traceHash(t, seed, 0), "seed %d", seed)
		seen[h] = true
	}
	require.Len(t, seen, 5, "different seeds give different interleavings")
	require.NotEqual(t, traceHash(t, 1, 0), traceHash(t, 1, 1))
}

func TestElapsedIsSimulatedTime(t *testing.T) {
	l := newLab(t, sim.Config{})
	var events []device.Event
	for range 2 {
		e, err := l.devs[0].NewEvent()
		require.NoError(t, err)
		events = append(events, e)
	}
	require.NoError(t, l.streams[0].Record(events[0]))
	l.launch(shape{threads: 32}, `
nanosleep.u32 250000;`)
	require.NoError(t, l.streams[0].Record(events[1]))
	require.NoError(t, events[1].Synchronize(context.Background()))
	us, err := events[1].Elapsed(events[0])
	require.NoError(t, err)
	require.InDelta(t, 250, us, 5)
}

// Recipe: goroutines that launch, copy, poke host memory, wait, query and give
// up waiting, all at once on one machine, each checking its own results.
func TestHammer(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200(), sim.H200()}, StuckGrace: sim.DefaultStuckGrace})
	const body = `
WAIT: ld.relaxed.sys.global.u32 x, [c]; setp.eq.u32 p, x, 0; @p bra WAIT;
add.u32 x, x, t; st.global.u32 [at], x;`
	fns := []device.Function{l.function(0, body), l.function(1, body)}
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			dev := l.devs[g%2]
			s, err := dev.NewStream()
			require.NoError(t, err)
			e, err := dev.NewEvent()
			require.NoError(t, err)
			h, err := dev.AllocHost(64, "flag")
			require.NoError(t, err)
			for i := range rounds {
				p, err := dev.Alloc(256, "result")
				require.NoError(t, err)
				var args []byte
				for _, a := range []device.Ptr{p, 0, h.Ptr()} {
					for b := range 8 {
						args = append(args, byte(a>>(8*b)))
					}
				}
				h.Store32(0, 0)
				require.NoError(t, s.Launch(&device.Launch{Function: fns[g%2], Grid: 1, Threads: 64, Args: args}))
				require.NoError(t, s.Record(e))
				ended, cancel := context.WithCancel(context.Background())
				cancel()
				require.ErrorIs(t, s.Synchronize(ended), context.Canceled)
				_, err = s.Query()
				require.NoError(t, err)
				v := uint32(1000*g + i + 1)
				h.Store32(0, v)
				require.NoError(t, e.Synchronize(context.Background()))
				out := make([]byte, 256)
				require.NoError(t, dev.CopyOut(out, p))
				require.Equal(t, v+63, uint32(out[252])|uint32(out[253])<<8|uint32(out[254])<<16)
				require.NoError(t, dev.Free(p))
			}
			require.NoError(t, s.Close())
		}()
	}
	wg.Wait()
}

// Closing a machine ends waits.
func TestCloseEndsWaits(t *testing.T) {
	l := newLab(t, sim.Config{StuckGrace: sim.DefaultStuckGrace})
	l.launch(shape{threads: 32}, poll, l.out, 0, l.alloc(0, 64, "flag"))
	done := make(chan error, 1)
	go func() { done <- l.sync(0) }()
	require.NoError(t, l.m.Close())
	require.ErrorContains(t, <-done, "closed")
}

// A panic of the machine's own code becomes an error that names the place.
func TestPanicIsReported(t *testing.T) {
	l := newLab(t, sim.Config{Trace: func(s sim.Step) {
		if s.Line == headerLines+1 {
			panic("planted")
		}
	}})
	l.launch(shape{threads: 32}, `
add.u32 x, x, 1;`)
	err := l.sync(0)
	require.ErrorContains(t, err, "sim: BUG: panic in k CTA 0 warp 0 at test.ptx")
	require.ErrorContains(t, err, "planted")
	_, again := l.streams[0].Query()
	require.Equal(t, err, again)
}
