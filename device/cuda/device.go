package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Device is a GPU with its primary context. It implements [device.Device].
type Device struct {
	drv      *Driver
	lib      *library
	ordinal  int
	cu       int32     // CUdevice
	ctx      uintptr   // the primary context
	setCtx   []uintptr // {ctx}: what cuCtxSetCurrent is given
	side     uintptr   // the stream of copies and fills that are ordered with no other
	lanes    lanes
	ownScope bool // launches go to the remote memory synchronization domain

	first  atomic.Pointer[Error] // what a kernel caused
	closed atomic.Bool

	// calls is held for reading during driver calls and for writing while the
	// device is torn down.
	calls sync.RWMutex

	mu sync.Mutex
	// What follows is guarded by mu.
	streams   map[*Stream]struct{} // those not closed, or with work left
	resources map[resource]struct{}
	numbered  int // streams made so far
}

// resource is something that the device frees when it is closed.
type resource interface {
	// destroy frees it. Preconditions: the device is entered.
	destroy() error
}

// openDevice retains GPU i's primary context.
func openDevice(drv *Driver, i int) (_ *Device, err error) {
	lib := drv.lib
	d := &Device{drv: drv, lib: lib, ordinal: i, streams: map[*Stream]struct{}{}, resources: map[resource]struct{}{}, lanes: newLanes()}
	if d.cu, err = lib.handle(i); err != nil {
		return nil, err
	}
	if lib.version >= 12_000 && !drv.cfg.OneSyncDomain {
		n, err := lib.attribute(syncDomains, d.cu)
		if err != nil {
			return nil, err
		}
		d.ownScope = n > 1
	}
	rc := lib.primaryCtxRetain.Call(uintptr(unsafe.Pointer(&d.ctx)), uintptr(d.cu))
	if err := lib.check("cuDevicePrimaryCtxRetain", rc, "GPU %d", i); err != nil {
		return nil, err
	}
	d.setCtx = []uintptr{d.ctx}
	if err := d.enter(); err != nil {
		return nil, errors.Join(err, d.releaseContext())
	}
	rc = lib.streamCreate.Call(uintptr(unsafe.Pointer(&d.side)), streamNonBlocking)
	err = d.check("cuStreamCreate", rc, "GPU %d", i)
	d.leave()
	if err != nil {
		return nil, errors.Join(err, d.releaseContext())
	}
	return d, nil
}

// enter holds the goroutine to its OS thread and makes the device's context
// current there, until leave. Without error it must be followed by leave, and it
// does not nest.
func (d *Device) enter() error {
	if d.closed.Load() {
		return errClosed
	}
	if e := d.first.Load(); e != nil {
		return e
	}
	d.calls.RLock()
	if d.closed.Load() {
		d.calls.RUnlock()
		return errClosed
	}
	runtime.LockOSThread()
	if rc := d.lib.ctxSetCurrent.Call(d.setCtx...); Code(rc) != success {
		d.leave()
		return d.check("cuCtxSetCurrent", rc, "GPU %d", d.ordinal)
	}
	return nil
}

// leave ends what enter began.
func (d *Device) leave() {
	runtime.UnlockOSThread()
	d.calls.RUnlock()
}

// check returns the error of a code, nil for success. What a kernel caused is
// kept, and the first such error is returned from then on.
func (d *Device) check(call string, rc uintptr, format string, args ...any) error {
	if Code(rc) == success {
		return nil
	}
	e := d.lib.newError(call, Code(rc), format, args...)
	if !e.Code.fatal() {
		return e
	}
	e.Detail = d.suspects()
	d.first.CompareAndSwap(nil, e)
	return d.first.Load()
}

// suspects names the last launch of each stream that is not known to be idle.
func (d *Device) suspects() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for s := range d.streams {
		if text := s.last.String(); text != "" {
			all = append(all, text)
		}
	}
	if all == nil {
		return ""
	}
	return "last launched: " + strings.Join(all, ", ")
}

// ignoreClosed returns err unless it says that the driver is closed: what it
// owned is freed with it, and closing that later is no error.
func ignoreClosed(err error) error {
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// keep makes the device free r when it is closed.
func (d *Device) keep(r resource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resources[r] = struct{}{}
}

// drop frees r now.
func (d *Device) drop(r resource) error {
	if err := d.enter(); err != nil {
		return ignoreClosed(err)
	}
	defer d.leave()
	d.mu.Lock()
	delete(d.resources, r)
	d.mu.Unlock()
	return r.destroy()
}

// Ordinal returns the device's number.
func (d *Device) Ordinal() int { return d.ordinal }

// Info returns what is known of the device.
func (d *Device) Info() device.Info { return d.drv.infos[d.ordinal] }

// HardwareQueues returns how many streams make progress side by side.
func (d *Device) HardwareQueues() (n int, more string) {
	return d.drv.Connections(), fmt.Sprintf("set %s, up to %d, before the program starts", connectionsVariable, mostConnections)
}

// EnablePeer lets kernels of this device access memory of other.
func (d *Device) EnablePeer(other device.Device) error {
	o, ok := other.(*Device)
	switch {
	case !ok || o.drv != d.drv:
		return fmt.Errorf("cuda: GPU %d: enable peer: the other device is not of this driver", d.ordinal)
	case o == d:
		return fmt.Errorf("cuda: GPU %d: enable peer: a device is not its own peer", d.ordinal)
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	var can int32
	rc := d.lib.deviceCanAccessPeer.Call(uintptr(unsafe.Pointer(&can)), uintptr(d.cu), uintptr(o.cu))
	if err := d.check("cuDeviceCanAccessPeer", rc, "GPU %d, of GPU %d", d.ordinal, o.ordinal); err != nil {
		return err
	}
	if can == 0 {
		return fmt.Errorf("cuda: GPU %d (%s) cannot access the memory of GPU %d (%s): %s", d.ordinal, d.Info().BusID,
			o.ordinal, o.Info().BusID, advice[peerAccessUnsupported])
	}
	rc = d.lib.ctxEnablePeerAccess.Call(o.ctx, 0)
	if Code(rc) == peerAccessAlreadyEnabled {
		return nil
	}
	return d.check("cuCtxEnablePeerAccess", rc, "GPU %d, of GPU %d", d.ordinal, o.ordinal)
}

// closeGrace is how long shut waits for calls that are in the driver. Most last
// microseconds; one that waits for a kernel may last for ever.
const closeGrace = time.Second

// shut refuses further calls, waits for those under way and makes sure that
// nothing runs. Without error it leaves calls locked, for release.
func (d *Device) shut() error {
	d.closed.Store(true)
	for deadline := time.Now().Add(closeGrace); !d.calls.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("cuda: GPU %d: close: a call is still in the driver after %v; what was allocated stays until the process ends", d.ordinal, closeGrace)
		}
	}
	if d.first.Load() != nil {
		return nil // what failed has stopped, and nothing can be asked
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if rc := d.lib.ctxSetCurrent.Call(d.setCtx...); Code(rc) != success {
		d.calls.Unlock()
		return d.check("cuCtxSetCurrent", rc, "GPU %d", d.ordinal)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.streams {
		if !s.foreign && Code(d.lib.streamQuery.Call(s.handle)) == notReady {
			d.calls.Unlock()
			return fmt.Errorf("cuda: GPU %d: close: %s has work left; what was allocated stays until the process ends", d.ordinal, s)
		}
	}
	return nil
}

// release frees everything and releases the context.
func (d *Device) release() error {
	defer d.calls.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	errs := []error{d.check("cuCtxSetCurrent", d.lib.ctxSetCurrent.Call(d.setCtx...), "GPU %d", d.ordinal)}
	for s := range d.streams {
		if !s.foreign {
			errs = append(errs, s.destroy())
		}
	}
	for r := range d.resources {
		errs = append(errs, r.destroy())
	}
	for _, b := range d.drv.memory.takeAll(d) {
		errs = append(errs, d.freeBlock(b))
	}
	errs = append(errs,
		d.check("cuStreamDestroy", d.lib.streamDestroy.Call(d.side), "GPU %d", d.ordinal),
		// The thread must not go on with a context that may be gone.
		d.check("cuCtxSetCurrent", d.lib.ctxSetCurrent.Call(0), "none"),
		d.releaseContext())
	if d.first.Load() != nil {
		return nil // after a fault every call fails, and it has been reported
	}
	return errors.Join(errs...)
}

func (d *Device) releaseContext() error {
	return d.lib.check("cuDevicePrimaryCtxRelease", d.lib.primaryCtxRelease.Call(uintptr(d.cu)), "GPU %d", d.ordinal)
}
