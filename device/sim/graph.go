package sim

import (
	"errors"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// capture is work that is being recorded instead of run. All is guarded by the
// machine's mu.
type capture struct {
	id    uint64
	lanes []*stream // the streams in it, the first is the one it began on
	steps []step    // in the order they were queued
	ended bool
}

// step is one piece of captured work.
type step struct {
	lane int
	item item // of a copy, or with the event of an external record or wait

	launch       *device.Launch
	record, wait *mark // of an event inside the graph
}

// mark is a Record inside a capture: what comes before it there.
type mark struct {
	capture *capture
	seen    []int
}

var _ device.Capturer = (*stream)(nil)

func (s *stream) BeginCapture() error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("sim: begin capture on a closed stream")
	case s.capture != nil:
		return errors.New("sim: begin capture: the stream is being captured already")
	}
	m.captures++
	s.join(&capture{id: m.captures})
	return nil
}

func (s *stream) CaptureID() (uint64, error) {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	if s.capture == nil {
		return 0, nil
	}
	return s.capture.id, nil
}

// join makes s a lane of c.
func (s *stream) join(c *capture) {
	s.capture, s.lane, s.seen = c, len(c.lanes), nil
	c.lanes = append(c.lanes, s)
}

// see notes that the first seen steps of each lane come before what follows on s.
func (s *stream) see(seen []int) {
	for len(s.seen) < max(len(seen), s.lane+1) {
		s.seen = append(s.seen, 0)
	}
	for lane, n := range seen {
		s.seen[lane] = max(s.seen[lane], n)
	}
}

// keep adds a step to the capture that s is in.
func (s *stream) keep(st step) {
	st.lane = s.lane
	s.capture.steps = append(s.capture.steps, st)
	s.see(nil)
	s.seen[s.lane]++
}

// capturedWait makes s wait for ev if one of the two is in a capture, and
// reports whether that is so.
func (s *stream) capturedWait(ev *event) (bool, error) {
	mk := ev.mark
	switch {
	case mk == nil && s.capture == nil:
		return false, nil
	case mk == nil && ev.recorded == 0:
		return true, nil
	case mk == nil:
		return true, errors.New("sim: wait during a capture for an event that was recorded outside of it; WaitExternal makes the graph wait for it")
	case mk.capture.ended:
		return true, errors.New("sim: wait for an event that was last recorded in a capture, which is over")
	case s.capture == nil:
		s.join(mk.capture)
	case s.capture != mk.capture:
		return true, errors.New("sim: wait during a capture for an event of another capture")
	}
	s.keep(step{wait: mk})
	s.see(mk.seen)
	return true, nil
}

func (s *stream) RecordExternal(e device.Event) error {
	return s.external("record", e, func(ev *event) item { return item{record: ev} })
}

func (s *stream) WaitExternal(e device.Event) error {
	return s.external("wait", e, func(ev *event) item { return item{wait: ev} })
}

func (s *stream) external(what string, e device.Event, it func(*event) item) error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	ev, err := m.ownEvent(what, e)
	switch {
	case err != nil:
		return err
	case s.capture == nil:
		return fmt.Errorf("sim: external %s on a stream that is not being captured", what)
	}
	s.keep(step{item: it(ev)})
	return nil
}

func (s *stream) EndCapture() (device.Graph, error) {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	c := s.capture
	if c == nil || s.lane != 0 {
		return nil, errors.New("sim: end capture: no capture began on this stream")
	}
	c.ended = true
	g := &graph{m: m, steps: c.steps}
	joined := true
	s.see(make([]int, len(c.lanes)))
	for lane, l := range c.lanes {
		joined = joined && (lane == 0 || s.seen[lane] == l.seen[lane])
		g.gpus = append(g.gpus, l.gpu)
	}
	for _, l := range c.lanes {
		l.capture, l.seen = nil, nil
	}
	if !joined {
		return nil, errors.New("sim: end capture: a stream joined the capture and was not waited for before its end")
	}
	return g, nil
}

// graph is captured work. It implements [device.Graph].
type graph struct {
	m     *Machine
	steps []step
	gpus  []*gpu // of each lane

	// What follows is guarded by m.mu.

	last   *event // at the end of the last launch
	closed bool
}

func (g *graph) Launch(on device.Stream) error {
	m := g.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	s, ok := on.(*stream)
	switch {
	case !ok || s.gpu.m != m:
		return errors.New("sim: launch a graph: the stream is not of this machine")
	case g.closed:
		return errors.New("sim: launch a graph: it is closed")
	case s.closed:
		return errors.New("sim: launch a graph on a closed stream")
	case s.capture != nil:
		return errors.New("sim: launch a graph: the stream is being captured")
	}
	// Whatever can go wrong does so before anything is queued.
	kernels := make([]*kernel, len(g.steps))
	for i, st := range g.steps {
		var err error
		switch {
		case st.launch != nil:
			kernels[i], err = g.gpus[st.lane].newKernel(st.launch)
		case st.item.record != nil:
			_, err = m.ownEvent("launch a graph that records", st.item.record)
		case st.item.wait != nil:
			_, err = m.ownEvent("launch a graph that waits", st.item.wait)
		}
		if err != nil {
			return err
		}
	}
	lanes := []*stream{s}
	for _, gpu := range g.gpus[1:] {
		l := &stream{gpu: gpu, know: nothingKnown}
		lanes = append(lanes, l)
		m.streams = append(m.streams, l)
	}
	if g.last != nil {
		s.add(item{wait: g.last, ticket: g.last.recorded})
	}
	inside := map[*mark]*event{}
	for i, st := range g.steps {
		l := lanes[st.lane]
		switch {
		case st.launch != nil:
			kernels[i].stream = l
			l.add(item{launch: kernels[i]})
		case st.record != nil:
			inside[st.record] = &event{m: m}
			l.addRecord(inside[st.record])
		case st.wait != nil:
			l.add(item{wait: inside[st.wait], ticket: 1})
		case st.item.record != nil:
			l.addRecord(st.item.record)
		case st.item.wait != nil:
			l.add(item{wait: st.item.wait, ticket: st.item.wait.recorded})
		default:
			it := st.item
			it.behind = m.weak.hostNow()
			l.add(it)
		}
	}
	g.last = &event{m: m}
	s.addRecord(g.last)
	for _, l := range lanes[1:] {
		l.closed = true // and forgotten when its work is done
	}
	return nil
}

func (g *graph) Close() error {
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	g.closed = true
	return nil
}
