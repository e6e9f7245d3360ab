package cuda

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Source: CUDA driver API, CU_EVENT_DEFAULT, with which the event takes the time,
// and CU_EVENT_DISABLE_TIMING.
const (
	eventDefault       = 0
	eventDisableTiming = 2
)

// Event marks a point in a stream. It implements [device.Event].
type Event struct {
	dev    *Device
	handle uintptr
	query  []uintptr // {handle}: what cuEventQuery is given
	timed  bool
	closed atomic.Bool

	// putOff is the stream whose last launch is to record the event, until it does.
	putOff atomic.Pointer[Stream]
	// external says that a graph waits for the event or records it: anybody may
	// launch it, unseen.
	external atomic.Bool

	mu     sync.Mutex
	leaves []*leaf // guarded by mu; its records in captures
}

// NewEvent makes an event, for streams of this device to record.
func (d *Device) NewEvent() (device.Event, error) { return d.newEvent(eventDefault) }

// NewUntimedEvent makes an event that takes no time.
func (d *Device) NewUntimedEvent() (device.Event, error) { return d.newEvent(eventDisableTiming) }

func (d *Device) newEvent(flags uintptr) (device.Event, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	e := &Event{dev: d, timed: flags == eventDefault}
	rc := d.lib.eventCreate.Call(uintptr(unsafe.Pointer(&e.handle)), flags)
	if err := d.check("cuEventCreate", rc, "GPU %d", d.ordinal); err != nil {
		return nil, err
	}
	e.query = []uintptr{e.handle}
	d.keep(e)
	return e, nil
}

// String names the event in errors.
func (e *Event) String() string { return fmt.Sprintf("event of GPU %d", e.dev.ordinal) }

func (e *Event) enter(what string) error {
	if e.closed.Load() {
		return fmt.Errorf("cuda: %s: %s: the event is closed", e, what)
	}
	return e.dev.enter()
}

// Query reports whether the last Record is complete; without one it is. While
// another goroutine is launching what records the event, it is not.
func (e *Event) Query() (bool, error) {
	if err := e.enter("query"); err != nil {
		return false, err
	}
	defer e.dev.leave()
	settled, err := e.trySettle()
	if err != nil {
		return false, err
	}
	switch rc := e.dev.lib.eventQuery.Call(e.query...); Code(rc) {
	case success:
		return settled, nil
	case notReady:
		return false, nil
	default:
		return false, e.dev.check("cuEventQuery", rc, "%s", e)
	}
}

// Synchronize waits until the last Record is complete.
func (e *Event) Synchronize(ctx context.Context) error {
	return wait(ctx, e, e.Query)
}

// Elapsed returns the microseconds between two completed events of one device,
// good to half a microsecond.
func (e *Event) Elapsed(start device.Event) (float64, error) {
	s, ok := start.(*Event)
	if !ok || s.dev != e.dev {
		return 0, fmt.Errorf("cuda: %s: elapsed: the start is not an event of the same device", e)
	}
	if s.closed.Load() {
		return 0, fmt.Errorf("cuda: %s: elapsed: the start is closed", e)
	}
	if !s.timed || !e.timed {
		return 0, fmt.Errorf("cuda: %s: elapsed: an event takes no time; make both with NewEvent", e)
	}
	for _, ev := range []*Event{s, e} {
		if err := ev.settle(); err != nil {
			return 0, err
		}
	}
	if err := e.enter("elapsed"); err != nil {
		return 0, err
	}
	defer e.dev.leave()
	var ms float32
	rc := e.dev.lib.eventElapsedTime.Call(uintptr(unsafe.Pointer(&ms)), s.handle, e.handle)
	return float64(ms) * 1e3, e.dev.check("cuEventElapsedTime", rc, "%s", e)
}

// Close gives the event up. Who waits for it in a stream still does.
func (e *Event) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return e.dev.drop(e)
}

func (e *Event) destroy() error {
	return e.dev.check("cuEventDestroy", e.dev.lib.eventDestroy.Call(e.handle), "%s", e)
}
