package devicetest

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// testOrder queues work of all kinds whose result depends on its order.
func testOrder(b *bench) {
	x, y := b.alloc(b.dev, 256), b.alloc(b.dev, 256)
	want := uint32(0)
	b.launch(b.stream, b.mod, "fill", 1, uint64(x), 0)
	for i := range uint32(40) {
		switch i % 4 {
		case 3:
			require.NoError(b, b.stream.CopyAsync(y, x, 4))
			require.NoError(b, b.stream.MemsetAsync(x, byte(i), 4))
			b.launch(b.stream, b.mod, "add", 1, uint64(x), uint64(y), uint64(i))
			want += i
		default:
			b.launch(b.stream, b.mod, "step", 1, uint64(x), 3, uint64(i))
			want = want*3 + i
		}
	}
	b.sync(b.stream)
	require.Equal(b, want, b.read(b.dev, x, 1)[0])
	require.Same(b, b.dev, b.stream.Device())
}

// testTogether has a kernel wait for one that was queued after it on another
// stream: streams run side by side.
func testTogether(b *bench) {
	x := b.alloc(b.dev, 64)
	late := b.newStream(b.dev)
	b.launch(b.stream, b.mod, "wait", 1, uint64(x), 41, uint64(x)+32)
	b.launch(late, b.mod, "post", 1, uint64(x), 41)
	b.sync(b.stream)
	b.sync(late)
	require.Equal(b, uint32(42), b.read(b.dev, x, 9)[8])
}

func testQuery(b *bench) {
	done, err := b.stream.Query()
	require.NoError(b, err)
	require.True(b, done, "a new stream has nothing to do")

	h := b.allocHost(b.dev, 64)
	e := b.newEvent(b.dev)
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	require.NoError(b, b.stream.Record(e))
	done, err = b.stream.Query()
	require.NoError(b, err)
	require.False(b, done, "the kernel waits for the host")
	done, err = e.Query()
	require.NoError(b, err)
	require.False(b, done, "the event is behind the kernel")

	h.Store32(0, 1)
	b.sync(b.stream)
	done, err = b.stream.Query()
	require.NoError(b, err)
	require.True(b, done)
	done, err = e.Query()
	require.NoError(b, err)
	require.True(b, done)
}

// testCancel gives up waiting; the work goes on.
func testCancel(b *bench) {
	h := b.allocHost(b.dev, 64)
	e := b.newEvent(b.dev)
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	require.NoError(b, b.stream.Record(e))

	short, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(b, b.stream.Synchronize(short), context.DeadlineExceeded)
	require.ErrorIs(b, e.Synchronize(short), context.DeadlineExceeded)
	ended, end := context.WithCancel(context.Background())
	end()
	require.ErrorIs(b, b.stream.Synchronize(ended), context.Canceled)
	require.ErrorIs(b, e.Synchronize(ended), context.Canceled)

	h.Store32(0, 1)
	b.sync(b.stream)
	require.NoError(b, e.Synchronize(b.context()))
	require.Equal(b, uint32(2), h.Load32(4))
}

// testStreamClose closes a stream with work in it; the work still runs.
func testStreamClose(b *bench) {
	h := b.allocHost(b.dev, 64)
	s, e := b.newStream(b.dev), b.newEvent(b.dev)
	b.launch(s, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	require.NoError(b, s.Record(e))
	require.NoError(b, s.Close())
	h.Store32(0, 1)
	require.NoError(b, e.Synchronize(b.context()))
	require.Equal(b, uint32(2), h.Load32(4))
}

// testEvents makes one stream wait for another, through a kernel that waits for
// the host.
func testEvents(b *bench) {
	h := b.allocHost(b.dev, 64)
	x := b.alloc(b.dev, 64)
	later := b.newStream(b.dev)
	start, e := b.newEvent(b.dev), b.newEvent(b.dev)
	require.NoError(b, b.stream.Record(start))
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(x))
	require.NoError(b, b.stream.Record(e))
	require.NoError(b, later.Wait(e))
	b.launch(later, b.mod, "step", 1, uint64(x), 10, 5)
	done, err := later.Query()
	require.NoError(b, err)
	require.False(b, done)
	h.Store32(0, 1)
	b.sync(later)
	require.Equal(b, uint32(25), b.read(b.dev, x, 1)[0])
	us, err := e.Elapsed(start)
	require.NoError(b, err)
	require.GreaterOrEqual(b, us, 0.0)

	// A wait is for the last Record before it: recording again changes nothing.
	b.launch(b.stream, b.mod, "step", 1, uint64(x), 1, 1)
	require.NoError(b, b.stream.Record(e))
	require.NoError(b, later.Wait(e))
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 2, uint64(h.Ptr())+8)
	require.NoError(b, b.stream.Record(e))
	b.launch(later, b.mod, "step", 1, uint64(x), 2, 0)
	b.sync(later)
	require.Equal(b, uint32(52), b.read(b.dev, x, 1)[0])
	h.Store32(0, 2)
	b.sync(b.stream)
	require.NoError(b, e.Close())
}

// testDone launches with an event that is recorded behind the kernel, whether or
// not the device puts that off: another stream waits for the last such launch, and
// for nothing that is queued later.
func testDone(b *bench) {
	h := b.allocHost(b.dev, 64)
	x := b.alloc(b.dev, 64)
	later, e := b.newStream(b.dev), b.newEvent(b.dev)
	b.launchDone(b.stream, e, "step", uint64(x), 1, 3)
	b.launchDone(b.stream, e, "wait", uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	b.launchDone(b.stream, e, "step", uint64(x), 10, 5)
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr())+8, 1, uint64(h.Ptr())+12)
	done, err := e.Query()
	require.NoError(b, err)
	require.False(b, done)
	require.NoError(b, later.Wait(e))
	b.launchDone(later, e, "step", uint64(x), 10, 7)
	h.Store32(0, 1)
	require.NoError(b, e.Synchronize(b.context()), "it is not behind the kernel that follows")
	require.Equal(b, uint32(357), b.read(b.dev, x, 1)[0])
	done, err = b.stream.Query()
	require.NoError(b, err)
	require.False(b, done)
	h.Store32(8, 1)
	b.sync(b.stream)
	us, err := e.Elapsed(e)
	require.NoError(b, err)
	require.Zero(b, us)
}

// testDoneClose closes the stream of a launch before its Done is looked at.
func testDoneClose(b *bench) {
	h := b.allocHost(b.dev, 64)
	x := b.alloc(b.dev, 64)
	s, e := b.newStream(b.dev), b.newEvent(b.dev)
	b.launch(s, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	b.launchDone(s, e, "step", uint64(x), 1, 3)
	require.NoError(b, s.Close())
	require.Error(b, s.Launch(&device.Launch{Function: b.function(b.mod, "stop"), Grid: 1, Threads: 1, Done: e}))
	require.NoError(b, b.stream.Wait(e))
	b.launch(b.stream, b.mod, "step", 1, uint64(x), 10, 5)
	done, err := e.Query()
	require.NoError(b, err)
	require.False(b, done)
	h.Store32(0, 1)
	b.sync(b.stream)
	require.Equal(b, uint32(35), b.read(b.dev, x, 1)[0])
}

// testDoneCapture makes streams part of a capture before the Done of what they
// launched is looked at: graphs wait for it, on streams that nothing else orders.
func testDoneCapture(b *bench) {
	h := b.allocHost(b.dev, 64)
	x := b.alloc(b.dev, 64)
	s, side, on := b.capturer(b.dev), b.capturer(b.dev), b.newStream(b.dev)
	e, f, join := b.newEvent(b.dev), b.newEvent(b.dev), b.newEvent(b.dev)
	b.launch(s, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(h.Ptr())+4)
	b.launchDone(s, e, "step", uint64(x), 1, 3)
	require.NoError(b, side.Wait(e))
	b.launchDone(side, f, "step", uint64(x), 10, 5)
	g := b.capture(s, func() {
		require.NoError(b, s.Record(join))
		require.NoError(b, side.Wait(join))
		require.NoError(b, side.WaitExternal(f))
		b.launch(side, b.mod, "step", 1, uint64(x), 10, 7)
		require.NoError(b, side.RecordExternal(f))
		require.NoError(b, side.Record(join))
		require.NoError(b, s.Wait(join))
	})
	require.NoError(b, g.Launch(on))
	// From now on a launch is followed by a graph that nobody announces.
	require.NoError(b, side.Wait(f))
	b.launchDone(side, f, "step", uint64(x), 10, 9)
	require.NoError(b, g.Launch(on))
	done, err := f.Query()
	require.NoError(b, err)
	require.False(b, done)
	h.Store32(0, 1)
	require.NoError(b, f.Synchronize(b.context()))
	require.Equal(b, uint32(35797), b.read(b.dev, x, 1)[0])
	b.sync(on)
}

// testDeviceEvents orders work of two devices.
func testDeviceEvents(b *bench) {
	other := b.second()
	s, m := b.newStream(other), b.load(other)
	require.NoError(b, other.EnablePeer(b.dev))
	x := b.alloc(b.dev, 256)
	h := b.allocHost(b.dev, 64)
	e, back := b.newEvent(b.dev), b.newEvent(other)
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 1, uint64(x))
	require.NoError(b, b.stream.Record(e))
	require.NoError(b, s.Wait(e))
	b.launch(s, m, "step", 1, uint64(x), 10, 1)
	require.NoError(b, s.Record(back))
	require.NoError(b, b.stream.Wait(back))
	b.launch(b.stream, b.mod, "step", 1, uint64(x), 10, 2)
	h.Store32(0, 1)
	b.sync(b.stream)
	require.Equal(b, uint32(212), b.read(b.dev, x, 1)[0])
}

// testUnrecorded uses events before their first Record: there is nothing to
// wait for.
func testUnrecorded(b *bench) {
	e := b.newEvent(b.dev)
	done, err := e.Query()
	require.NoError(b, err)
	require.True(b, done)
	require.NoError(b, e.Synchronize(b.context()))
	require.NoError(b, b.stream.Wait(e))
	b.sync(b.stream)
}

// testGoroutines launches from many goroutines, on all devices.
func testGoroutines(b *bench) {
	const workers, turns = 8, 20
	type job struct {
		dev    device.Device
		stream device.Stream
		mod    device.Module
		x      device.Ptr
	}
	mods := map[int]device.Module{0: b.mod}
	var jobs []job
	for w := range workers {
		d := b.open(w % b.driver.NumDevices())
		if mods[d.Ordinal()] == nil {
			mods[d.Ordinal()] = b.load(d)
		}
		jobs = append(jobs, job{d, b.newStream(d), mods[d.Ordinal()], b.alloc(d, 256)})
	}
	errs := make(chan error, workers)
	var wg sync.WaitGroup
	for w, j := range jobs {
		wg.Go(func() {
			f, err := j.mod.Function("step")
			for i := range turns {
				if err != nil {
					break
				}
				err = j.stream.Launch(&device.Launch{
					Function: f, Grid: 1, Threads: 64, Args: words(uint64(j.x), 3, uint64(w+i)),
				})
				if err == nil && i%5 == 4 {
					err = j.stream.Synchronize(b.context())
				}
			}
			errs <- err
		})
	}
	wg.Wait()
	for range workers {
		require.NoError(b, <-errs)
	}
	for w, j := range jobs {
		want := uint32(0)
		for i := range turns {
			want = want*3 + uint32(w+i)
		}
		for _, v := range b.read(j.dev, j.x, 64) {
			require.Equal(b, want, v)
		}
	}
}
