package cuda

import (
	"fmt"
	"runtime"

	"github.com/ncclgo/ncclgo/device"
)

// A record costs the host most of what a launch does, so that of a launch's Done
// is put off: the stream and the event remember it, and it is made before
// anything else is queued on the stream, and before anybody asks for the event.
// A launch with the same Done takes its place. Nobody can tell that it was late,
// provided that all uses of the stream are seen here; otherwise it is made at
// once: on streams that others know by their handle, and for events that graphs
// use, since others may launch a graph.

// launchDone checks the Done of a launch on s. A record of it that another stream
// has put off is made now.
func (s *Stream) launchDone(e device.Event) (*Event, error) {
	ev, err := s.ownEvent("launch", e)
	switch {
	case err != nil:
		return nil, err
	case ev.dev != s.dev:
		return nil, fmt.Errorf("cuda: %s: launch: its Done is an event of GPU %d; make one on the stream's device", s, ev.dev.ordinal)
	case ev.putOff.Load() == s:
		return ev, nil
	}
	return ev, ev.settle()
}

// record queues e. Preconditions: s is entered, s.mu is held.
func (s *Stream) record(e *Event) error {
	s.args[0], s.args[1] = e.handle, s.handle
	if rc := s.dev.lib.eventRecord.Call(s.args[:2]...); Code(rc) != success {
		return s.dev.check("cuEventRecord", rc, "%s, event of GPU %d", s, e.dev.ordinal)
	}
	e.putOff.Store(nil) // whatever was, this is the last record
	return nil
}

// putOff records e behind the launch just made, now or later.
//
// Preconditions: s is entered, s.mu is held.
func (s *Stream) putOff(e *Event) error {
	if s.shared.Load() || e.external.Load() {
		return s.record(e)
	}
	s.done = e
	e.putOff.Store(s)
	return nil
}

// flush makes the record that s has put off, unless it has been made.
//
// Preconditions: s.dev is entered, s.mu is held.
func (s *Stream) flush() error {
	e := s.done
	if e == nil {
		return nil
	}
	if e.putOff.Load() == s && !e.closed.Load() {
		if err := s.record(e); err != nil {
			return err
		}
	}
	s.done = nil
	return nil
}

// enterToQueue is enter for a call that queues something behind what s has put
// off.
func (s *Stream) enterToQueue(what string) error {
	if err := s.enter(what); err != nil {
		return err
	}
	s.mu.Lock()
	err := s.flush()
	s.mu.Unlock()
	if err != nil {
		s.dev.leave()
	}
	return err
}

// settle makes the record that s has put off.
func (s *Stream) settle(what string) error {
	err := s.enterToQueue(what)
	if err == nil {
		s.dev.leave()
	}
	return err
}

// settle makes the record of e that was put off.
func (e *Event) settle() error {
	for e.putOff.Load() != nil {
		if err := e.enter("record"); err != nil {
			return err
		}
		settled, err := e.trySettle()
		e.dev.leave()
		if settled || err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

// trySettle is settle, or reports false if another goroutine uses the stream that
// is to record e: it may be in a launch that waits for room.
//
// Preconditions: e.dev is entered.
func (e *Event) trySettle() (bool, error) {
	s := e.putOff.Load()
	if s == nil {
		return true, nil
	}
	if !s.mu.TryLock() {
		return false, nil
	}
	defer s.mu.Unlock()
	if s.done != e {
		return e.putOff.Load() == nil, nil
	}
	return true, s.flush()
}
