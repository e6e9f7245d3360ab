package cuda

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Source: CUDA driver API, CU_EVENT_DEFAULT: the event takes the time.
const eventDefault = 0

// Event marks a point in a stream. It implements [device.Event].
type Event struct {
	dev    *Device
	handle uintptr
	query  []uintptr // {handle}: what cuEventQuery is given
	closed atomic.Bool
}

// NewEvent makes an event, for streams of this device to record.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	e := &Event{dev: d}
	rc := d.lib.eventCreate.Call(uintptr(unsafe.Pointer(&e.handle)), eventDefault)
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

// Query reports whether the last Record is complete; without one it is.
func (e *Event) Query() (bool, error) {
	if err := e.enter("query"); err != nil {
		return false, err
	}
	defer e.dev.leave()
	switch rc := e.dev.lib.eventQuery.Call(e.query...); Code(rc) {
	case success:
		return true, nil
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
