//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every call makes its device's context current, whichever thread it runs on
// and whatever is current there: the stand-in refuses calls that do not.
func TestThreads(t *testing.T) {
	f := newFake(t)
	drv, _ := openFake(t, f, Config{})
	var wg sync.WaitGroup
	for w := range 8 {
		d, err := drv.Open(w % 2)
		require.NoError(t, err)
		dev := d.(*Device)
		s, fn := newStream(t, dev), loadFill(t, dev)
		e, err := dev.NewEvent()
		require.NoError(t, err)
		p, err := dev.Alloc(64, "a")
		require.NoError(t, err)
		wg.Go(func() {
			for i := range 200 {
				if i%7 == w%7 {
					f.loseContext.Call() // some thread is made to forget
				}
				for _, err := range []error{
					s.Launch(fillLaunch(fn)), s.Record(e), s.Wait(e), s.MemsetAsync(p, 1, 64), s.Synchronize(context.Background()),
				} {
					assert.NoError(t, err)
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

func TestSynchronize(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	s := newStream(t, dev)
	e, err := dev.NewEvent()
	require.NoError(t, err)
	require.NoError(t, s.Record(e))
	waits := map[string]func(context.Context) error{"stream": s.Synchronize, "event": e.Synchronize}
	for name, wait := range waits {
		f.busy.Call(1)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		start := time.Now()
		require.ErrorIs(t, wait(ctx), context.DeadlineExceeded, name)
		require.Less(t, time.Since(start), 2*time.Second, name)
		require.ErrorIs(t, wait(ctx), context.DeadlineExceeded, name)
		cancel()

		done := make(chan error)
		go func() { done <- wait(context.Background()) }()
		time.Sleep(5 * time.Millisecond)
		select {
		case err := <-done:
			t.Fatalf("%s: done while busy: %v", name, err)
		default:
		}
		f.busy.Call(0)
		require.NoError(t, <-done, name)
		require.NoError(t, wait(ctx), "%s: what is done needs no waiting", name)
	}
}

// A goroutine that waits when the driver is closed is told.
func TestCloseEndsWaiting(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	s := newStream(t, dev)
	f.busy.Call(1)
	done := make(chan error)
	go func() { done <- s.Synchronize(context.Background()) }()
	for f.calls("cuStreamQuery") < 3 {
		time.Sleep(time.Millisecond)
	}
	require.ErrorContains(t, drv.Close(), "has work left")
	require.ErrorIs(t, <-done, errClosed)
}

// What a kernel causes stays, with the launches that may have done it.
func TestFaultIsSticky(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	s, idle, fn := newStream(t, dev), newStream(t, dev), loadFill(t, dev)
	require.NoError(t, idle.Launch(fillLaunch(fn)))
	require.NoError(t, idle.Synchronize(context.Background()))
	require.NoError(t, s.Launch(fillLaunch(fn)))
	f.failNext("cuStreamQuery", illegalAddress)

	first := s.Synchronize(context.Background())
	var e *Error
	require.ErrorAs(t, first, &e)
	require.Equal(t, "cuStreamQuery(GPU 0 stream 0): CUDA_ERROR_ILLEGAL_ADDRESS (700): as the driver puts it: last launched: fill (rank 3)", first.Error())
	_, err := dev.Alloc(100, "a")
	require.Same(t, e, err)
	require.Same(t, e, s.Launch(fillLaunch(fn)))
	require.Same(t, e, dev.CopyIn(0, nil))
	_, err = s.Query()
	require.Same(t, e, err)

	other, err := drv.Open(1)
	require.NoError(t, err)
	_, err = other.Alloc(100, "a")
	require.NoError(t, err, "the other device goes on")
	require.NoError(t, drv.Close())
	require.Zero(t, f.retained.Call(0))
}

// A failure that no kernel caused is reported once.
func TestOtherErrorsAreNotSticky(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	f.failNext("cuStreamCreate", outOfMemory)
	_, err := dev.NewStream()
	require.ErrorContains(t, err, "CUDA_ERROR_OUT_OF_MEMORY")
	newStream(t, dev)
}

func TestClosedStreamsAreDestroyed(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	before := f.objects.Call()
	s := newStream(t, dev)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, before, f.objects.Call())

	s = newStream(t, dev)
	f.busy.Call(1)
	require.NoError(t, s.Close())
	require.Equal(t, before+1, f.objects.Call(), "it has work left")
	f.busy.Call(0)
	s = newStream(t, dev)
	require.Equal(t, before+1, f.objects.Call(), "only the new one")
	require.NoError(t, s.Close())
}

func TestForeignStream(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	made := newStream(t, dev)
	s, err := dev.ForeignStream(made.Handle())
	require.NoError(t, err)
	require.NoError(t, s.Launch(fillLaunch(loadFill(t, dev))))
	require.NoError(t, s.Synchronize(context.Background()))
	require.NoError(t, s.Close())
	require.Zero(t, f.calls("cuStreamDestroy_v2"))
	require.NoError(t, made.Synchronize(context.Background()), "it is still its maker's")

	other, err := drv.Open(1)
	require.NoError(t, err)
	_, err = other.(*Device).ForeignStream(made.Handle())
	require.ErrorContains(t, err, "primary context")
}

func TestCapture(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	s := newStream(t, dev)
	_, err := s.EndCapture()
	require.ErrorContains(t, err, "cuStreamEndCapture", "nothing was begun")
	before := f.objects.Call()
	require.NoError(t, s.BeginCapture())
	id, err := s.CaptureID()
	require.NoError(t, err)
	require.NotZero(t, id)
	e, err := dev.NewEvent()
	require.NoError(t, err)
	require.NoError(t, s.WaitExternal(e))
	require.NoError(t, s.RecordExternal(e))
	require.NoError(t, e.Close())
	require.ErrorContains(t, s.RecordExternal(e), "closed")
	require.ErrorContains(t, s.WaitExternal(e), "closed")
	g, err := s.EndCapture()
	require.NoError(t, err)
	id, err = s.CaptureID()
	require.NoError(t, err)
	require.Zero(t, id)
	require.Equal(t, before+1, f.objects.Call(), "the captured form is given up once it is ready")
	for range 3 {
		require.NoError(t, g.Launch(s))
	}
	require.Equal(t, 3, f.calls("cuGraphLaunch"))
	require.NoError(t, g.Close())
	require.ErrorContains(t, g.Launch(s), "closed")
	require.Equal(t, before, f.objects.Call())

	require.NoError(t, s.BeginCapture())
	f.breakCapture.Call(s.Handle())
	_, err = s.CaptureID()
	require.ErrorContains(t, err, "its capture was broken")
	f.failNext("cuGraphInstantiateWithFlags", outOfMemory)
	_, err = s.EndCapture()
	require.ErrorContains(t, err, "cuGraphInstantiateWithFlags")
	require.Equal(t, before, f.objects.Call(), "what was captured is given up")
}

func TestEvents(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	s := newStream(t, dev)
	start, err := dev.NewEvent()
	require.NoError(t, err)
	end, err := dev.NewEvent()
	require.NoError(t, err)
	us, err := end.Elapsed(start)
	require.NoError(t, err)
	require.Equal(t, 1500.0, us)

	d, err := drv.Open(1)
	require.NoError(t, err)
	far, err := d.NewEvent()
	require.NoError(t, err)
	require.NoError(t, s.Wait(far))
	require.Error(t, s.Record(far), "events are recorded on their device")
	_, err = far.Elapsed(start)
	require.ErrorContains(t, err, "same device")

	require.NoError(t, end.Close())
	require.NoError(t, end.Close())
	require.ErrorContains(t, s.Record(end), "closed")
	_, err = end.Query()
	require.ErrorContains(t, err, "closed")
	_, strange := openFake(t, newFake(t), Config{})
	require.ErrorContains(t, newStream(t, strange).Record(start), "not of this driver")
}
