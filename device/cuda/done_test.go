//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// doneBench launches with an event that is to be recorded behind each launch.
type doneBench struct {
	*testing.T
	f    *fake
	dev  *Device
	fn   *Function
	a, b *Stream
	e, x *Event
}

func newDoneBench(t *testing.T) *doneBench {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	b := &doneBench{T: t, f: f, dev: dev, fn: loadFill(t, dev), a: newStream(t, dev), b: newStream(t, dev)}
	for _, e := range []**Event{&b.e, &b.x} {
		made, err := dev.NewUntimedEvent()
		require.NoError(t, err)
		*e = made.(*Event)
	}
	return b
}

// launch launches on s with b.e as the Done.
func (b *doneBench) launch(s *Stream) {
	l := fillLaunch(b.fn)
	l.Done = b.e
	require.NoError(b, s.Launch(l))
}

func (b *doneBench) expect(records int, why string) {
	b.Helper()
	require.Equal(b, records, b.f.calls("cuEventRecord"), why)
}

// TestDone counts the records of launches with a Done: none while only such
// launches follow, and one before anything by which a late one could be told.
func TestDone(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(b *doneBench) error
		want int
	}{
		{"nothing", func(*doneBench) error { return nil }, 0},
		{"another launch", func(b *doneBench) error { b.launch(b.a); return nil }, 0},
		{"query", func(b *doneBench) error { _, err := b.e.Query(); return err }, 1},
		{"synchronize", func(b *doneBench) error { return b.e.Synchronize(context.Background()) }, 1},
		{"another stream waits", func(b *doneBench) error { return b.b.Wait(b.e) }, 1},
		{"a launch of somebody else", func(b *doneBench) error { return b.a.Launch(fillLaunch(b.fn)) }, 1},
		{"a launch with another Done", func(b *doneBench) error {
			l := fillLaunch(b.fn)
			l.Done = b.x
			return b.a.Launch(l)
		}, 1},
		{"the stream waits", func(b *doneBench) error { return b.a.Wait(b.x) }, 1},
		{"a fill", func(b *doneBench) error {
			p, err := b.dev.Alloc(64, "a")
			require.NoError(b, err)
			return b.a.MemsetAsync(p, 1, 64)
		}, 1},
		{"a capture begins", func(b *doneBench) error { return b.a.BeginCapture() }, 1},
		{"others get the stream", func(b *doneBench) error { b.a.Handle(); return nil }, 1},
		{"the stream is closed", func(b *doneBench) error { return b.a.Close() }, 1},
		{"a record of another event", func(b *doneBench) error { return b.a.Record(b.x) }, 1},
		{"a record instead", func(b *doneBench) error {
			require.NoError(b, b.a.Record(b.e))
			_, err := b.e.Query()
			return err
		}, 1},
		{"launches on two streams", func(b *doneBench) error { b.launch(b.b); return nil }, 1},
		{"two streams and a query", func(b *doneBench) error {
			b.launch(b.b)
			require.NoError(b, b.a.Close())
			_, err := b.e.Query()
			return err
		}, 2},
		{"the event is closed", func(b *doneBench) error {
			require.NoError(b, b.e.Close())
			return b.a.Close()
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newDoneBench(t)
			for range 20 {
				b.launch(b.a)
			}
			b.expect(0, "launches in a row")
			require.NoError(t, test.do(b))
			b.expect(test.want, "afterwards")
		})
	}
}

// TestDoneAtOnce has records that cannot be put off: the stream or a graph may be
// used by others, unseen.
func TestDoneAtOnce(t *testing.T) {
	b := newDoneBench(t)
	foreign, err := b.dev.ForeignStream(b.a.Handle())
	require.NoError(t, err)
	var asked device.Foreign = foreign
	require.True(t, asked.Foreign())
	b.launch(foreign)
	b.expect(1, "its maker may destroy it now")
	b.launch(b.a)
	b.expect(2, "its handle is known")
	require.NoError(t, foreign.Close())
	require.False(t, asked.Foreign())

	b.launch(b.b)
	b.expect(2, "nobody knows it")
	c := newStream(t, b.dev)
	require.NoError(t, c.BeginCapture())
	require.NoError(t, c.WaitExternal(b.e))
	b.expect(3, "a graph waits")
	b.launch(b.b)
	b.expect(4, "the graph may be launched now")
}

// TestDoneWhileLaunching asks for an event while a launch that is to record it
// waits for room in the driver.
func TestDoneWhileLaunching(t *testing.T) {
	b := newDoneBench(t)
	b.launch(b.a)
	b.a.mu.Lock() // as Launch does
	done, err := b.e.Query()
	require.NoError(t, err)
	require.False(t, done)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.e.Synchronize(ctx), context.DeadlineExceeded)
	waited := make(chan error)
	go func() { waited <- b.b.Wait(b.e) }()
	b.a.mu.Unlock()
	require.NoError(t, <-waited)
	done, err = b.e.Query()
	require.NoError(t, err)
	require.True(t, done)
	b.expect(1, "once")
}

func TestDoneErrors(t *testing.T) {
	b := newDoneBench(t)
	other, err := b.dev.drv.Open(1)
	require.NoError(t, err)
	far, err := other.NewEvent()
	require.NoError(t, err)
	l := fillLaunch(b.fn)
	l.Done = far
	require.EqualError(t, b.a.Launch(l), "cuda: GPU 0 stream 0: launch: its Done is an event of GPU 1; make one on the stream's device")
	_, err = b.e.Elapsed(b.x)
	require.ErrorContains(t, err, "takes no time")

	b.launch(b.a)
	b.f.failNext("cuEventRecord", outOfMemory)
	_, err = b.e.Query()
	require.ErrorContains(t, err, "cuEventRecord")
	b.expect(1, "it failed")
	done, err := b.e.Query()
	require.NoError(t, err)
	require.True(t, done)
	b.expect(2, "it is made up for")
	require.NoError(t, b.e.Close())
	require.ErrorContains(t, b.a.Launch(&device.Launch{Function: b.fn, Grid: 1, Threads: 1, Args: make([]byte, 16), Done: b.e}), "closed")
}

func TestLaunchWithDoneDoesNotAllocate(t *testing.T) {
	b := newDoneBench(t)
	l := fillLaunch(b.fn)
	l.Done = b.e
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := b.a.Launch(l); err != nil {
			t.Error(err)
		}
	}))
}

// TestLeaf captures launches, each with an external record behind it: the graph
// has one, behind the last launch, and no launch follows it.
func TestLeaf(t *testing.T) {
	b := newDoneBench(t)
	for capture := range 3 {
		recorded, first := int(b.f.records.Call()), capture*6
		require.NoError(t, b.a.BeginCapture())
		require.NoError(t, b.a.RecordExternal(b.e))
		require.Equal(t, -1, int(int32(b.f.lastRecordFollows.Call())), "there is nothing to follow")
		require.NoError(t, b.a.WaitExternal(b.e))
		for i := range 4 {
			require.NoError(t, b.a.Launch(fillLaunch(b.fn)))
			for range 2 {
				require.NoError(t, b.a.RecordExternal(b.e))
				require.Equal(t, 1000+first+2+i, int(b.f.lastRecordFollows.Call()))
			}
		}
		require.Equal(t, recorded+1, int(b.f.records.Call()))
		_, err := b.a.EndCapture()
		require.NoError(t, err)
		require.Len(t, b.e.leaves, 1, "those of earlier captures are forgotten")
	}
	require.Error(t, b.a.RecordExternal(b.e), "no capture")

	// What the driver has no leaf for is queued.
	for _, refused := range []string{"cuStreamGetCaptureInfo_v2", "cuGraphAddEventRecordNode"} {
		require.NoError(t, b.b.BeginCapture())
		before := b.f.calls("cuEventRecordWithFlags")
		b.f.failNext(refused, outOfMemory)
		require.NoError(t, b.b.RecordExternal(b.x))
		require.Equal(t, before+1, b.f.calls("cuEventRecordWithFlags"), refused)
		_, err := b.b.EndCapture()
		require.NoError(t, err)
	}
	for _, refused := range []string{"cuGraphAddDependencies", "cuGraphRemoveDependencies"} {
		require.NoError(t, b.b.BeginCapture())
		require.NoError(t, b.b.Launch(fillLaunch(b.fn)))
		require.NoError(t, b.b.RecordExternal(b.e))
		require.NoError(t, b.b.Launch(fillLaunch(b.fn)))
		b.f.failNext(refused, outOfMemory)
		require.ErrorContains(t, b.b.RecordExternal(b.e), refused)
		_, err := b.b.EndCapture()
		require.NoError(t, err)
	}
}
