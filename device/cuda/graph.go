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
const captureNone = 0

// BeginCapture makes the stream record what is queued from now on.
func (s *Stream) BeginCapture() error {
	if err := s.enter("begin capture"); err != nil {
		return err
	}
	defer s.dev.leave()
	rc := s.dev.lib.streamBeginCapture.Call(s.handle, captureRelaxed)
	return s.dev.check("cuStreamBeginCapture", rc, "%s", s)
}

// Capturing reports whether the stream is being captured, by whomever. One
// whose capture a wrong call has broken is, until the capture is ended.
func (s *Stream) Capturing() (bool, error) {
	if err := s.enter("capturing"); err != nil {
		return false, err
	}
	defer s.dev.leave()
	var status int32
	rc := s.dev.lib.streamIsCapturing.Call(s.handle, uintptr(unsafe.Pointer(&status)))
	return status != captureNone, s.dev.check("cuStreamIsCapturing", rc, "%s", s)
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
	if err := s.enter("launch a graph"); err != nil {
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
