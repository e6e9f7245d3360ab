package devicetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// capturer returns a new stream that can be captured, or skips the test.
func (b *bench) capturer(d device.Device) device.Capturer {
	c, ok := b.newStream(d).(device.Capturer)
	if !ok {
		b.Skip("needs streams that can be captured")
	}
	return c
}

// capture returns what queue queued on s as a graph.
func (b *bench) capture(s device.Capturer, queue func()) device.Graph {
	require.NoError(b, s.BeginCapture())
	queue()
	g, err := s.EndCapture()
	require.NoError(b, err)
	return g
}

// testReplay captures work of every kind and runs it several times, with other
// work between.
func testReplay(b *bench) {
	s := b.capturer(b.dev)
	id, err := s.CaptureID()
	require.NoError(b, err)
	require.Zero(b, id)
	x, y := b.alloc(b.dev, 256), b.alloc(b.dev, 256)
	g := b.capture(s, func() {
		first, err := s.CaptureID()
		require.NoError(b, err)
		require.NotZero(b, first)
		b.launch(s, b.mod, "step", 1, uint64(x), 3, 1)
		require.NoError(b, s.CopyAsync(y, x, 4))
		require.NoError(b, s.MemsetAsync(x, 0, 4))
		b.launch(s, b.mod, "add", 1, uint64(x), uint64(y), 5)
		again, err := s.CaptureID()
		require.NoError(b, err)
		require.Equal(b, first, again)
	})
	id, err = s.CaptureID()
	require.NoError(b, err)
	require.Zero(b, id)
	b.sync(s)
	require.Zero(b, b.read(b.dev, x, 1)[0], "nothing ran while it was captured")

	want := uint32(0)
	for i := range uint32(5) {
		require.NoError(b, g.Launch(s))
		want = want*3 + 6
		b.launch(s, b.mod, "step", 1, uint64(x), 2, uint64(i))
		want = want*2 + i
	}
	require.NoError(b, g.Close(), "launches under way still run")
	b.sync(s)
	require.Equal(b, want, b.read(b.dev, x, 1)[0])
}

// testFork captures two streams, and launches the graph on a third, again
// before the launch before is done.
func testFork(b *bench) {
	s, side := b.capturer(b.dev), b.capturer(b.dev)
	x := b.alloc(b.dev, 256)
	h := b.allocHost(b.dev, 64)
	fork, join := b.newEvent(b.dev), b.newEvent(b.dev)
	g := b.capture(s, func() {
		b.launch(s, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
		require.NoError(b, s.Record(fork))
		require.NoError(b, side.Wait(fork))
		one, err := s.CaptureID()
		require.NoError(b, err)
		other, err := side.CaptureID()
		require.NoError(b, err)
		require.Equal(b, one, other)
		b.launch(side, b.mod, "step", 1, uint64(x), 3, 1)
		require.NoError(b, side.Record(join))
		require.NoError(b, s.Wait(join))
		b.launch(s, b.mod, "step", 1, uint64(x), 5, 2)
	})
	on := b.newStream(b.dev)
	require.NoError(b, g.Launch(on))
	require.NoError(b, g.Launch(side))
	done, err := on.Query()
	require.NoError(b, err)
	require.False(b, done, "the graph waits for the host")
	h.Store32(0, 1)
	b.sync(on)
	b.sync(side)
	require.Equal(b, uint32((7*3+1)*5+2), b.read(b.dev, x, 1)[0])
	require.NoError(b, g.Close())
}

// testExternal orders launches of a graph with one another and with other work,
// on streams that nothing else orders, by one event that the graph waits for and
// records. Launching waits for no kernel.
func testExternal(b *bench) {
	s := b.capturer(b.dev)
	x := b.alloc(b.dev, 256)
	h := b.allocHost(b.dev, 64)
	e := b.newEvent(b.dev)
	step := func(on device.Stream, m uint64) {
		b.launch(on, b.mod, "step", 1, uint64(x), m, 1)
	}
	var graphs []device.Graph
	for _, m := range []uint64{3, 5} {
		graphs = append(graphs, b.capture(s, func() {
			require.NoError(b, s.WaitExternal(e))
			step(s, m)
			require.NoError(b, s.RecordExternal(e))
		}))
	}
	done, err := e.Query()
	require.NoError(b, err)
	require.True(b, done, "capturing records nothing")

	gate := b.newStream(b.dev)
	b.launch(gate, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	require.NoError(b, gate.Record(e))
	// Should a launch wait for the gate, this ends it.
	late := time.AfterFunc(suiteTimeout/4, func() { h.Store32(0, 1) })
	want := uint32(0)
	streams := []device.Stream{s, b.newStream(b.dev), b.newStream(b.dev)}
	for i := range 12 {
		on := streams[i%len(streams)]
		if i%4 == 3 {
			require.NoError(b, on.Wait(e))
			step(on, 7)
			require.NoError(b, on.Record(e))
			want = want*7 + 1
			continue
		}
		require.NoError(b, graphs[i%2].Launch(on))
		want = want*[]uint32{3, 5}[i%2] + 1
	}
	require.True(b, late.Stop(), "launching a graph waited for a kernel")
	done, err = e.Query()
	require.NoError(b, err)
	require.False(b, done, "the last launch is behind the gate")
	h.Store32(0, 1)
	require.NoError(b, e.Synchronize(b.context()))
	require.Equal(b, want, b.read(b.dev, x, 1)[0])
	for _, on := range streams {
		b.sync(on)
	}
}

// testRecords captures several external records of one event, on two streams: the
// last is what counts.
func testRecords(b *bench) {
	s, side := b.capturer(b.dev), b.capturer(b.dev)
	x := b.alloc(b.dev, 256)
	h := b.allocHost(b.dev, 64)
	e, fork, join := b.newEvent(b.dev), b.newEvent(b.dev), b.newEvent(b.dev)
	step := func(on device.Capturer, m uint64) {
		b.launch(on, b.mod, "step", 1, uint64(x), m, 1)
		require.NoError(b, on.RecordExternal(e))
	}
	g := b.capture(s, func() {
		step(s, 2)
		step(s, 3)
		require.NoError(b, s.Record(fork))
		require.NoError(b, side.Wait(fork))
		b.launch(side, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
		step(side, 5)
		require.NoError(b, side.Record(join))
		require.NoError(b, s.Wait(join))
		step(s, 7)
		require.NoError(b, s.RecordExternal(e), "nothing was queued since")
	})
	on := b.newStream(b.dev)
	require.NoError(b, g.Launch(s))
	require.NoError(b, on.Wait(e))
	b.launch(on, b.mod, "step", 1, uint64(x), 11, 1)
	done, err := e.Query()
	require.NoError(b, err)
	require.False(b, done, "the graph waits for the host")
	h.Store32(0, 1)
	b.sync(on)
	require.Equal(b, uint32((((1*3+1)*5+1)*7+1)*11+1), b.read(b.dev, x, 1)[0])
	b.sync(s)
}

// testWrongCapture makes calls that captures do not allow. Each has a driver's
// streams to itself, since a wrong call may break a capture.
func testWrongCapture(b *bench) {
	s := b.capturer(b.dev)
	_, err := s.EndCapture()
	require.Error(b, err, "nothing was begun")
	e := b.newEvent(b.dev)
	require.Error(b, s.RecordExternal(e), "no graph is made")
	require.Error(b, s.WaitExternal(e))

	b.Run("unjoined", func(t *testing.T) {
		s, side := b.capturer(b.dev), b.capturer(b.dev)
		require.NoError(t, s.BeginCapture())
		require.Error(t, s.BeginCapture(), "twice")
		require.NoError(t, s.Record(e))
		require.NoError(t, side.Wait(e))
		b.launch(side, b.mod, "stop", 1)
		_, err := s.EndCapture()
		require.Error(t, err)
		id, err := side.CaptureID()
		require.NoError(t, err)
		require.Zero(t, id, "the streams are as before")
		b.sync(s)
		b.sync(side)
	})
	b.Run("wait for what is outside", func(t *testing.T) {
		s, other := b.capturer(b.dev), b.newStream(b.dev)
		require.NoError(t, other.Record(e))
		require.NoError(t, s.BeginCapture())
		require.Error(t, s.Wait(e))
		_, _ = s.EndCapture() // it may be broken
		b.sync(s)
	})
}
