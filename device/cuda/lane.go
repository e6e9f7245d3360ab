package cuda

import (
	"errors"
	"unsafe"

	"github.com/ncclgo/ncclgo/internal/dl"
)

// The driver copies pageable memory through pinned memory of its own, one call at
// a time and with the caller's core alone. Large copies therefore go through
// lanes, which do the same side by side.
const (
	// stageBytes is the size of a stage: long enough that a copy takes longer than
	// to start it, and small enough that what was copied is still in a cache.
	stageBytes = 1 << 20
	// laneBytes is from how many bytes on a copy takes a lane; below, the driver's
	// own way is as fast.
	laneBytes = 256 << 10
	// maxLanes is how many lanes a device has at most, with two stages each. So many
	// cores saturate a link of 64 GB/s.
	maxLanes = 8
)

// lane takes one copy at a time between pageable and device memory.
type lane struct {
	dev    *Device
	stages [2]stage
}

// stage is a piece of pinned memory and the stream that copies it.
type stage struct {
	stream, base uintptr
	busy         int // bytes on their way to the host
}

// lanes are the lanes of a device. Slots holds a token for each that is in use;
// idle are those that were made and are not in use.
type lanes struct {
	slots chan struct{}
	idle  chan *lane
}

func newLanes() lanes {
	return lanes{make(chan struct{}, maxLanes), make(chan *lane, maxLanes)}
}

// errRunning says why no lane is made.
var errRunning = errors.New("cuda: kernels may be running")

// takeLane returns a lane for this caller alone, until putLane, or why there is
// none. While kernels of the device may be running none is made: the driver may
// wait for them before it pins memory (CUDA C++ Programming Guide, "Implicit
// Synchronization"), and they for who copies.
//
// Preconditions: the device is entered.
func (d *Device) takeLane() (*lane, error) {
	d.lanes.slots <- struct{}{}
	select {
	case l := <-d.lanes.idle:
		return l, nil
	default:
	}
	err := errRunning
	var l *lane
	if d.suspects() == "" {
		l, err = d.newLane()
	}
	if err != nil {
		<-d.lanes.slots
		return nil, err
	}
	return l, nil
}

// putLane gives a lane back.
func (d *Device) putLane(l *lane) {
	d.lanes.idle <- l
	<-d.lanes.slots
}

// newLane makes a lane, which the device frees when it is closed.
func (d *Device) newLane() (*lane, error) {
	l := &lane{dev: d}
	for i := range l.stages {
		s := &l.stages[i]
		rc := d.lib.memHostAlloc.Call(uintptr(unsafe.Pointer(&s.base)), stageBytes, hostPortable|hostDeviceMap)
		err := d.check("cuMemHostAlloc", rc, "GPU %d, %d bytes to copy through", d.ordinal, stageBytes)
		if err == nil {
			rc = d.lib.streamCreate.Call(uintptr(unsafe.Pointer(&s.stream)), streamNonBlocking)
			err = d.check("cuStreamCreate", rc, "GPU %d", d.ordinal)
		}
		if err != nil {
			return nil, errors.Join(err, l.destroy())
		}
	}
	d.keep(l)
	return l, nil
}

// destroy frees what there is of the lane.
func (l *lane) destroy() error {
	var errs []error
	for _, s := range l.stages {
		if s.stream != 0 {
			errs = append(errs, l.dev.check("cuStreamDestroy", l.dev.lib.streamDestroy.Call(s.stream), "GPU %d", l.dev.ordinal))
		}
		if s.base != 0 {
			errs = append(errs, l.dev.check("cuMemFreeHost", l.dev.lib.memFreeHost.Call(s.base), "GPU %d, %#x", l.dev.ordinal, s.base))
		}
	}
	return errors.Join(errs...)
}

// copyIn copies src to dst: while one stage's stream copies, the other stage is
// filled.
func (l *lane) copyIn(dst uint64, src []byte) error {
	const call = "cuMemcpyHtoDAsync"
	d := l.dev
	var first error
	for i := 0; len(src) > 0 && first == nil; i ^= 1 {
		s := &l.stages[i]
		if first = l.wait(s, call, dst); first != nil {
			break
		}
		n := copy(dl.Bytes(s.base, stageBytes), src)
		rc := d.lib.memcpyHtoDAsync.Call(uintptr(dst), s.base, uintptr(n), s.stream)
		first = d.check(call, rc, "GPU %d, %d bytes at %#x", d.ordinal, n, dst)
		dst, src = dst+uint64(n), src[n:]
	}
	for i := range l.stages {
		// Waited for after an error too: the lane is the next caller's.
		if err := l.wait(&l.stages[i], call, dst); first == nil {
			first = err
		}
	}
	return first
}

// copyOut copies src to dst: while one stage's stream copies, the other stage is
// emptied.
func (l *lane) copyOut(dst []byte, src uint64) error {
	const call = "cuMemcpyDtoHAsync"
	d := l.dev
	var first error
	left := len(dst) // bytes whose copy has not been started
	for i := 0; first == nil && (left > 0 || len(dst) > 0); i ^= 1 {
		s := &l.stages[i]
		if s.busy > 0 {
			if first = l.wait(s, call, src); first != nil {
				break
			}
			copy(dst, dl.Bytes(s.base, s.busy))
			dst, s.busy = dst[s.busy:], 0
		}
		if left > 0 {
			n := min(left, stageBytes)
			rc := d.lib.memcpyDtoHAsync.Call(s.base, uintptr(src), uintptr(n), s.stream)
			if first = d.check(call, rc, "GPU %d, %d bytes at %#x", d.ordinal, n, src); first == nil {
				src, left, s.busy = src+uint64(n), left-n, n
			}
		}
	}
	for i := range l.stages {
		if s := &l.stages[i]; s.busy > 0 { // only after an error
			_ = l.wait(s, call, src)
			s.busy = 0
		}
	}
	return first
}

// wait waits until a stage is free.
func (l *lane) wait(s *stage, call string, addr uint64) error {
	return l.dev.check("cuStreamSynchronize", l.dev.lib.streamSynchronize.Call(s.stream), "GPU %d, after %s of up to %d bytes at %#x",
		l.dev.ordinal, call, stageBytes, addr)
}
