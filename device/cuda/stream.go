package cuda

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/dl"
)

// Source: CUDA driver API, CU_STREAM_NON_BLOCKING: the stream does not
// synchronize with the legacy default stream.
const streamNonBlocking = 1

// Stream is a queue of work of one device. It implements [device.Capturer].
type Stream struct {
	dev     *Device
	handle  uintptr
	query   []uintptr // {handle}: what cuStreamQuery is given
	number  int
	foreign bool // made and destroyed by others
	closed  atomic.Bool
	last    latest
	// shared says that others may use the stream through its handle.
	shared atomic.Bool

	mu sync.Mutex
	// What follows is guarded by mu.
	launch  launchBlock
	capture captureBlock
	args    [3]uintptr // of the last call
	done    *Event     // of the last launch, if its record is put off; see done.go
}

var _ device.Capturer = (*Stream)(nil)

// NewStream makes a stream.
func (d *Device) NewStream() (device.Stream, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	var handle uintptr
	rc := d.lib.streamCreate.Call(uintptr(unsafe.Pointer(&handle)), streamNonBlocking)
	if err := d.check("cuStreamCreate", rc, "GPU %d", d.ordinal); err != nil {
		return nil, err
	}
	d.sweep()
	return d.addStream(handle, false), nil
}

// ForeignStream returns a stream that others made, by its CUstream handle. It
// must be of the device's primary context. Close leaves it to them. They may
// destroy it when no call that uses it is under way.
func (d *Device) ForeignStream(handle uintptr) (*Stream, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	var ctx uintptr
	rc := d.lib.streamGetCtx.Call(handle, uintptr(unsafe.Pointer(&ctx)))
	if err := d.check("cuStreamGetCtx", rc, "GPU %d, CUstream %#x", d.ordinal, handle); err != nil {
		return nil, err
	}
	if ctx != d.ctx {
		return nil, fmt.Errorf("cuda: GPU %d: CUstream %#x is not of this device's primary context; make streams in the context that cuDevicePrimaryCtxRetain gives, as the CUDA runtime does", d.ordinal, handle)
	}
	return d.addStream(handle, true), nil
}

func (d *Device) addStream(handle uintptr, foreign bool) *Stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &Stream{dev: d, handle: handle, query: []uintptr{handle}, number: d.numbered, foreign: foreign}
	s.shared.Store(foreign)
	s.launch.init(handle, d.ownScope)
	s.capture.init(handle)
	d.numbered++
	d.streams[s] = struct{}{}
	return s
}

// sweep destroys closed streams whose work is done. The others are kept so that
// the device knows of the work when it is closed.
//
// Preconditions: the device is entered.
func (d *Device) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.streams {
		if !s.closed.Load() {
			continue
		}
		if !s.foreign {
			if Code(d.lib.streamQuery.Call(s.query...)) == notReady {
				continue
			}
			d.lib.streamDestroy.Call(s.handle) // fails only after a fault, which others report
		}
		delete(d.streams, s)
	}
}

// Device returns the stream's device.
func (s *Stream) Device() device.Device { return s.dev }

// Foreign reports whether others made the stream and it is not closed here.
func (s *Stream) Foreign() bool { return s.foreign && !s.closed.Load() }

// Handle returns the CUstream, for other libraries. It is theirs until the
// stream is closed. From then on every launch with a [device.Launch.Done] costs a
// record, since what others queue is not seen here.
func (s *Stream) Handle() uintptr {
	if !s.shared.Swap(true) {
		// A failure stays for who uses the event.
		_ = s.settle("share")
	}
	return s.handle
}

// String names the stream in errors.
func (s *Stream) String() string { return fmt.Sprintf("GPU %d stream %d", s.dev.ordinal, s.number) }

// enter begins a call that what names. Without error it must be followed by
// s.dev.leave.
func (s *Stream) enter(what string) error {
	if s.closed.Load() {
		return fmt.Errorf("cuda: %s: %s: the stream is closed", s, what)
	}
	return s.dev.enter()
}

// call makes a driver call from a list that the stream keeps, since one that is
// written out would be allocated.
//
// Preconditions: the stream is entered.
func (s *Stream) call(f dl.Proc, args ...uintptr) uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(s.args[:], args)
	return f.Call(s.args[:n]...)
}

// ownEvent returns e as one of this driver's.
func (s *Stream) ownEvent(what string, e device.Event) (*Event, error) {
	ev, ok := e.(*Event)
	switch {
	case !ok || ev.dev.drv != s.dev.drv:
		return nil, fmt.Errorf("cuda: %s: %s: the event is not of this driver", s, what)
	case ev.closed.Load():
		return nil, fmt.Errorf("cuda: %s: %s: the event is closed", s, what)
	}
	return ev, nil
}

// Record queues an event of the stream's device.
func (s *Stream) Record(e device.Event) error {
	ev, err := s.ownEvent("record", e)
	if err != nil {
		return err
	}
	if err := s.enter("record"); err != nil {
		return err
	}
	defer s.dev.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(ev)
}

// Wait makes later work wait for the last Record of e.
func (s *Stream) Wait(e device.Event) error {
	ev, err := s.ownEvent("wait", e)
	if err != nil {
		return err
	}
	if err := ev.settle(); err != nil {
		return err
	}
	if err := s.enterToQueue("wait"); err != nil {
		return err
	}
	defer s.dev.leave()
	if rc := s.call(s.dev.lib.streamWaitEvent, s.handle, ev.handle, 0); Code(rc) != success {
		return s.dev.check("cuStreamWaitEvent", rc, "%s, event of GPU %d", s, ev.dev.ordinal)
	}
	return nil
}

// CopyAsync queues a copy.
func (s *Stream) CopyAsync(dst, src device.Ptr, size int64) error {
	if err := s.enterToQueue("copy"); err != nil {
		return err
	}
	d := s.dev
	defer d.leave()
	if err := d.locate("copy to", dst, size); err != nil {
		return err
	}
	if err := d.locate("copy from", src, size); err != nil || size == 0 {
		return err
	}
	rc := d.lib.memcpyAsync.Call(uintptr(dst), uintptr(src), uintptr(size), s.handle)
	return d.check("cuMemcpyAsync", rc, "%s, %d bytes from %#x to %#x", s, size, uint64(src), uint64(dst))
}

// MemsetAsync queues a fill.
func (s *Stream) MemsetAsync(dst device.Ptr, value byte, size int64) error {
	if err := s.enterToQueue("fill"); err != nil {
		return err
	}
	d := s.dev
	defer d.leave()
	if err := d.locate("fill", dst, size); err != nil || size == 0 {
		return err
	}
	rc := d.lib.memset.Call(uintptr(dst), uintptr(value), uintptr(size), s.handle)
	return d.check("cuMemsetD8Async", rc, "%s, %d bytes at %#x", s, size, uint64(dst))
}

// Query reports whether all queued work is done.
func (s *Stream) Query() (bool, error) {
	if err := s.enter("query"); err != nil {
		return false, err
	}
	defer s.dev.leave()
	before := s.last.count()
	switch rc := s.dev.lib.streamQuery.Call(s.query...); Code(rc) {
	case success:
		s.last.clear(before)
		return true, nil
	case notReady:
		return false, nil
	default:
		return false, s.dev.check("cuStreamQuery", rc, "%s", s)
	}
}

// Synchronize waits until all queued work is done.
func (s *Stream) Synchronize(ctx context.Context) error {
	return wait(ctx, s, s.Query)
}

// Close gives the stream up. Queued work still runs.
func (s *Stream) Close() error {
	if s.closed.Load() {
		return nil
	}
	if err := s.dev.enter(); err != nil {
		s.closed.Store(true)
		return ignoreClosed(err)
	}
	defer s.dev.leave()
	err := s.shut()
	s.dev.sweep()
	return err
}

// shut refuses further calls. Preconditions: the device is entered.
func (s *Stream) shut() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.closed.Store(true)
	return s.flush()
}

// destroy ends the stream. Preconditions: the device's context is current.
func (s *Stream) destroy() error {
	return s.dev.check("cuStreamDestroy", s.dev.lib.streamDestroy.Call(s.handle), "%s", s)
}

// latest is the last launch of a stream, for errors.
type latest struct {
	mu sync.Mutex
	// What follows is guarded by mu.
	launches      uint64
	kernel, label string // empty if all launches are known to be done
}

func (l *latest) set(kernel, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.launches++
	l.kernel, l.label = kernel, label
}

func (l *latest) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.launches
}

// clear notes that the first n launches are done.
func (l *latest) clear(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.launches == n {
		l.kernel, l.label = "", ""
	}
}

func (l *latest) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.label == "" {
		return l.kernel
	}
	return fmt.Sprintf("%s (%s)", l.kernel, l.label)
}
