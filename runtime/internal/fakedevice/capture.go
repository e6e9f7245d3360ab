package fakedevice

import (
	"errors"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/device"
)

// capture is work that is written down, with a line that it is captured. All is
// guarded by Driver.mu.
type capture struct {
	id            uint64
	ended, broken bool
}

// captures numbers the captures of the process.
var captures atomic.Uint64

// current returns the capture that s is part of, or nil.
//
// Preconditions: Driver.mu is held.
func (s *stream) current() *capture {
	if s.capture == nil || s.capture.ended {
		return nil
	}
	return s.capture
}

func (s *stream) BeginCapture() error {
	if err := s.device.driver.request("%s: begin capture", s.name); err != nil {
		return err
	}
	s.device.driver.mu.Lock()
	defer s.device.driver.mu.Unlock()
	s.capture = &capture{id: captures.Add(1)}
	return nil
}

func (s *stream) CaptureID() (uint64, error) {
	s.device.driver.mu.Lock()
	defer s.device.driver.mu.Unlock()
	switch c := s.current(); {
	case c == nil:
		return 0, nil
	case c.broken:
		return 0, errors.New("the capture is broken")
	default:
		return c.id, nil
	}
}

// BreakCapture does what a wrong call does to the capture that s is part of.
func BreakCapture(s device.Capturer) {
	own := s.(*stream)
	own.device.driver.mu.Lock()
	defer own.device.driver.mu.Unlock()
	own.capture.broken = true
}

// recordIn notes which capture e is recorded in.
func (s *stream) recordIn(e *event) {
	s.device.driver.mu.Lock()
	defer s.device.driver.mu.Unlock()
	e.capture = s.current()
}

// joinOf makes s part of the capture that e was recorded in. As on a GPU, work
// inside a capture cannot wait for work outside, nor the other way around.
func (s *stream) joinOf(e *event) error {
	s.device.driver.mu.Lock()
	defer s.device.driver.mu.Unlock()
	own := s.current()
	switch {
	case e.capture == own:
		return nil
	case e.capture == nil:
		return errors.New("wait in a capture for an event outside of it")
	case e.capture.ended || own != nil:
		return errors.New("wait for an event of another capture")
	}
	s.capture = e.capture
	return nil
}

func (s *stream) RecordExternal(device.Event) error { return s.external("record external") }

func (s *stream) WaitExternal(device.Event) error { return s.external("wait external") }

func (s *stream) external(what string) error {
	if id, err := s.CaptureID(); id == 0 || err != nil {
		return errors.New("no capture is under way")
	}
	return s.device.driver.request("%s: %s", s.name, what)
}

func (s *stream) EndCapture() (device.Graph, error) {
	if err := s.device.driver.request("%s: end capture", s.name); err != nil {
		return nil, err
	}
	s.device.driver.mu.Lock()
	defer s.device.driver.mu.Unlock()
	s.capture.ended = true
	return &graph{s.device.driver}, nil
}

// graph is nothing: what was captured was written down then.
type graph struct{ driver *Driver }

func (g *graph) Launch(s device.Stream) error {
	return g.driver.request("%s: launch graph", s.(*stream).name)
}

func (g *graph) Close() error { return nil }
