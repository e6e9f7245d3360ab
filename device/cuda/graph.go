package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Source: CUDA driver API, CU_STREAM_CAPTURE_MODE_RELAXED. The other modes tie a
// capture to an OS thread, which a goroutine does not have.
const captureRelaxed = 2

// Source: CUDA driver API, enum CUstreamCaptureStatus.
const (
	captureNone        = 0
	captureInvalidated = 2
)

// Source: CUDA driver API, CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL.
const externalEvent = 1

// BeginCapture makes the stream record what is queued from now on.
func (s *Stream) BeginCapture() error {
	if err := s.enterToQueue("begin capture"); err != nil {
		return err
	}
	defer s.dev.leave()
	rc := s.dev.lib.streamBeginCapture.Call(s.handle, captureRelaxed)
	return s.dev.check("cuStreamBeginCapture", rc, "%s", s)
}

// CaptureID identifies the capture that the stream is part of, by whomever it
// was begun.
func (s *Stream) CaptureID() (uint64, error) {
	if err := s.enter("capture"); err != nil {
		return 0, err
	}
	defer s.dev.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	rc := s.dev.lib.streamCaptureInfo.Call(s.capture.call[:]...)
	switch {
	case Code(rc) != success:
		return 0, s.dev.check("cuStreamGetCaptureInfo", rc, "%s", s)
	case s.capture.status == captureNone:
		return 0, nil
	case s.capture.status == captureInvalidated:
		return 0, fmt.Errorf("cuda: %s: its capture was broken by a call that is not allowed during a capture; end the capture and begin another", s)
	}
	return s.capture.id, nil
}

// captureBlock is the argument block of cuStreamGetCaptureInfo, made once: it is
// asked before every collective.
type captureBlock struct {
	status int32
	id     uint64
	call   [6]uintptr
}

func (b *captureBlock) init(stream uintptr) {
	b.call = [6]uintptr{stream, uintptr(unsafe.Pointer(&b.status)), uintptr(unsafe.Pointer(&b.id))}
}

// WaitExternal makes every launch of the graph wait for the last Record of e.
func (s *Stream) WaitExternal(e device.Event) error {
	ev, err := s.ownEvent("wait", e)
	if err != nil {
		return err
	}
	ev.external.Store(true)
	if err := ev.settle(); err != nil {
		return err
	}
	if err := s.enterToQueue("wait"); err != nil {
		return err
	}
	defer s.dev.leave()
	rc := s.call(s.dev.lib.streamWaitEvent, s.handle, ev.handle, externalEvent)
	return s.dev.check("cuStreamWaitEvent", rc, "%s, event of GPU %d, external", s, ev.dev.ordinal)
}

// EndCapture ends the capture and makes what was recorded ready to launch.
func (s *Stream) EndCapture() (device.Graph, error) {
	if err := s.enter("end capture"); err != nil {
		return nil, err
	}
	d := s.dev
	defer d.leave()
	var captured uintptr
	before := s.last.count()
	rc := d.lib.streamEndCapture.Call(s.handle, uintptr(unsafe.Pointer(&captured)))
	if err := d.check("cuStreamEndCapture", rc, "%s", s); err != nil {
		return nil, err
	}
	s.last.clear(before) // what was captured did not run
	g := &Graph{dev: d}
	instantiated := d.lib.graphInstantiate.Call(uintptr(unsafe.Pointer(&g.exec)), captured, 0)
	destroyed := d.lib.graphDestroy.Call(captured)
	if err := d.check("cuGraphInstantiateWithFlags", instantiated, "capture of %s", s); err != nil {
		return nil, err
	}
	d.keep(g)
	if err := d.check("cuGraphDestroy", destroyed, "capture of %s", s); err != nil {
		return nil, err
	}
	return g, nil
}

// Graph is captured work, ready to launch. It implements [device.Graph].
type Graph struct {
	dev    *Device
	exec   uintptr // CUgraphExec
	closed atomic.Bool
}

// Launch queues the captured work on a stream.
func (g *Graph) Launch(on device.Stream) error {
	s, ok := on.(*Stream)
	switch {
	case !ok || s.dev.drv != g.dev.drv:
		return fmt.Errorf("cuda: launch a graph of GPU %d: the stream is not of this driver", g.dev.ordinal)
	case g.closed.Load():
		return fmt.Errorf("cuda: %s: launch a graph: it is closed", s)
	}
	if err := s.enterToQueue("launch a graph"); err != nil {
		return err
	}
	defer s.dev.leave()
	if rc := s.call(s.dev.lib.graphLaunch, g.exec, s.handle); Code(rc) != success {
		return s.dev.check("cuGraphLaunch", rc, "%s, graph of GPU %d", s, g.dev.ordinal)
	}
	s.last.set("graph", "")
	return nil
}

// Close gives the graph up. Launches under way still run.
func (g *Graph) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	return g.dev.drop(g)
}

func (g *Graph) destroy() error {
	return g.dev.check("cuGraphExecDestroy", g.dev.lib.graphExecDestroy.Call(g.exec), "graph of GPU %d", g.dev.ordinal)
}
