package cuda

import (
	"slices"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// The record that RecordExternal adds to a graph is a leaf: it depends on what
// was queued on the stream so far, and nothing depends on it. Queued on the stream
// it would be a node between each two kernels, which takes longer than an
// all-reduce of a few bytes. Of several records of one event only the last
// counts, so there is one leaf, and its edges move: while a capture is under way
// all changes of its graph are allowed but the removal of nodes, and a node that
// cannot be reached from the stream when the capture ends is no unjoined work if
// it was added to the graph directly.
//
// Source: CUDA driver API, cuStreamGetCaptureInfo.

// leaf is the record of an event in a capture.
type leaf struct {
	stream  *Stream // that last had it follow what it had queued
	capture uint64
	node    uintptr   // CUgraphNode
	follows []uintptr // the nodes that it depends on
}

// captured is what is known of the capture of a stream.
type captured struct {
	status int32
	id     uint64
	graph  uintptr  // CUgraph
	nodes  *uintptr // the driver's: what is queued next depends on these
	n      uintptr
}

// RecordExternal makes every launch of the graph record e.
func (s *Stream) RecordExternal(e device.Event) error {
	ev, err := s.ownEvent("record", e)
	if err != nil {
		return err
	}
	ev.external.Store(true)
	if err := ev.settle(); err != nil {
		return err
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	l, err := ev.leafIn(s)
	if err != nil {
		return err
	}
	if err := s.enter("record"); err != nil {
		return err
	}
	defer s.dev.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	// Streams of several devices may be in one capture, and a graph is not for
	// several threads.
	s.dev.drv.graphs.Lock()
	defer s.dev.drv.graphs.Unlock()
	var c captured
	rc := s.dev.lib.streamCaptureInfo.Call(s.handle, uintptr(unsafe.Pointer(&c.status)), uintptr(unsafe.Pointer(&c.id)),
		uintptr(unsafe.Pointer(&c.graph)), uintptr(unsafe.Pointer(&c.nodes)), uintptr(unsafe.Pointer(&c.n)))
	active := Code(rc) == success && c.status != captureNone && c.status != captureInvalidated
	switch {
	case active && l != nil:
		l.stream = s
		return l.move(s, c.graph, slices.Clone(unsafe.Slice(c.nodes, c.n)))
	case l != nil:
		return s.dev.check("cuStreamGetCaptureInfo", rc, "%s, event record", s)
	case !active:
		// The driver says what is wrong, if it is not that the edges of the capture
		// carry data that this query has no place for.
		return s.recordInLine(ev)
	}
	follows := slices.Clone(unsafe.Slice(c.nodes, c.n))
	l = &leaf{stream: s, capture: c.id, follows: follows}
	if rc := s.dev.lib.graphAddEventRecord.Call(uintptr(unsafe.Pointer(&l.node)), c.graph,
		uintptr(unsafe.Pointer(unsafe.SliceData(follows))), c.n, ev.handle); Code(rc) != success {
		return s.recordInLine(ev)
	}
	ev.leaves = append(ev.leaves, l)
	return nil
}

// recordInLine queues the record on the stream.
//
// Preconditions: s is entered, s.mu is held.
func (s *Stream) recordInLine(e *Event) error {
	rc := s.dev.lib.eventRecordFlags.Call(e.handle, s.handle, externalEvent)
	return s.dev.check("cuEventRecordWithFlags", rc, "%s, event of GPU %d, external", s, e.dev.ordinal)
}

// move makes l depend on the given nodes of its graph instead of those before.
//
// Preconditions: s is entered.
func (l *leaf) move(s *Stream, graph uintptr, follows []uintptr) error {
	for _, n := range follows {
		if !slices.Contains(l.follows, n) {
			rc := s.dev.lib.graphAddDependencies.Call(graph, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&l.node)), 1)
			if err := s.dev.check("cuGraphAddDependencies", rc, "%s, event record", s); err != nil {
				return err
			}
		}
	}
	for _, n := range l.follows {
		if !slices.Contains(follows, n) {
			rc := s.dev.lib.graphRemoveDependencies.Call(graph, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&l.node)), 1)
			if err := s.dev.check("cuGraphRemoveDependencies", rc, "%s, event record", s); err != nil {
				return err
			}
		}
	}
	l.follows = follows
	return nil
}

// leafIn returns the leaf of e in the capture that s is part of, nil if there is
// none, and drops those of captures that are over. Preconditions: e.mu is held, s
// is in use.
func (e *Event) leafIn(s *Stream) (*leaf, error) {
	if len(e.leaves) == 0 {
		return nil, nil
	}
	current, err := s.CaptureID()
	if err != nil {
		return nil, err
	}
	var found *leaf
	e.leaves = slices.DeleteFunc(e.leaves, func(l *leaf) bool {
		switch {
		case l.capture == current:
			found = l
			return false
		case l.stream == s:
			return true
		case l.stream.Foreign():
			return false // it may be gone
		}
		id, err := l.stream.CaptureID()
		return err != nil || id != l.capture
	})
	return found, nil
}
