package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ncclgo/ncclgo/device"
)

// stream is a queue of work of one GPU. It implements [device.Capturer].
type stream struct {
	gpu *gpu

	// What follows is guarded by gpu.m.mu.

	queue  []item
	active *kernel // the head of the queue, once started
	closed bool

	// While the stream is being captured: its place in the capture, and how many
	// steps of each lane come before what is queued next.
	capture *capture
	lane    int
	seen    []int

	// Of the weak model: what the work done so far leaves behind, and who does the
	// copies, once there is one.
	know  knowledge
	agent *agent
}

// item is a piece of queued work: one field is set.
type item struct {
	launch *kernel
	record *event
	wait   *event
	ticket uint64 // of record and wait
	copy   func(by *agent) error
	behind knowledge // of a copy in the weak model: what comes before on the host's side
}

// open refuses work on a closed stream.
func (s *stream) open(what string) error {
	if s.closed {
		return fmt.Errorf("sim: %s on a closed stream", what)
	}
	return nil
}

// add queues an item.
func (s *stream) add(it item) {
	s.queue = append(s.queue, it)
	s.gpu.m.pumpable = true
	s.gpu.m.touch()
}

// addRecord queues a Record of ev.
func (s *stream) addRecord(ev *event) {
	ev.mark = nil
	s.add(item{record: ev, ticket: ev.expect()})
}

func (s *stream) Device() device.Device { return s.gpu }

func (s *stream) Launch(l *device.Launch) error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	k, err := s.gpu.newKernel(l)
	if err != nil {
		return err
	}
	if err := s.open("launch"); err != nil {
		return err
	}
	var done *event
	if l.Done != nil {
		if done, err = m.ownEvent("launch", l.Done); err != nil {
			return err
		}
	}
	if s.capture != nil {
		if done != nil {
			return errors.New("sim: launch during a capture: its Done is not nil; use Record")
		}
		kept := *l
		kept.Args = slices.Clone(l.Args)
		s.keep(step{launch: &kept})
		return nil
	}
	k.stream = s
	s.add(item{launch: k})
	if done != nil {
		s.addRecord(done)
	}
	return nil
}

func (s *stream) Record(e device.Event) error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	ev, err := m.ownEvent("record", e)
	if err != nil {
		return err
	}
	if err := s.open("record"); err != nil {
		return err
	}
	if s.capture != nil {
		ev.mark = &mark{capture: s.capture}
		s.keep(step{record: ev.mark})
		ev.mark.seen = slices.Clone(s.seen)
		return nil
	}
	s.addRecord(ev)
	return nil
}

func (s *stream) Wait(e device.Event) error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	ev, err := m.ownEvent("wait", e)
	if err != nil {
		return err
	}
	if err := s.open("wait"); err != nil {
		return err
	}
	if captured, err := s.capturedWait(ev); captured {
		return err
	}
	s.add(item{wait: ev, ticket: ev.recorded})
	return nil
}

func (s *stream) CopyAsync(dst, src device.Ptr, size int64) error {
	m := s.gpu.m
	return s.move("copy", func(by *agent) error {
		to, err := m.hostRange("copy to", dst, size)
		if err != nil {
			return err
		}
		from, err := m.hostRange("copy from", src, size)
		if err != nil {
			return err
		}
		if err := by.reads(from, "a copy"); err != nil {
			return err
		}
		return by.writes(to, "a copy", func() { copy(to.bytes(), from.bytes()) })
	}, dst, src, size)
}

func (s *stream) MemsetAsync(dst device.Ptr, value byte, size int64) error {
	m := s.gpu.m
	return s.move("memset", func(by *agent) error {
		to, err := m.hostRange("memset", dst, size)
		if err != nil {
			return err
		}
		return by.writes(to, "a memset", func() {
			b := to.bytes()
			for i := range b {
				b[i] = value
			}
		})
	}, dst, dst, size)
}

// runCopy does a copy or fill whose turn has come.
func (s *stream) runCopy(it *item) error {
	ws := s.gpu.m.weak
	if ws == nil {
		return it.copy(nil)
	}
	before := ws.joinKnowledge(s.know, it.behind)
	if s.agent == nil {
		s.agent = ws.newAgent(s.gpu.index, fmt.Sprintf("a stream of GPU %d", s.gpu.index), before)
	}
	s.agent.learns(before)
	err := it.copy(s.agent)
	s.know = s.agent.now()
	return err
}

// move queues a copy or fill whose ranges are right now. They are looked up
// again when its turn comes, since memory may be freed meanwhile.
func (s *stream) move(what string, do func(by *agent) error, dst, src device.Ptr, size int64) error {
	m := s.gpu.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for _, p := range []device.Ptr{dst, src} {
		if _, err := m.hostRange(what, p, size); err != nil {
			return err
		}
	}
	if err := s.open(what); err != nil {
		return err
	}
	if s.capture != nil {
		s.keep(step{item: item{copy: do}})
		return nil
	}
	s.add(item{copy: do, behind: m.weak.hostNow()})
	return nil
}

// done reports whether all queued work is done.
func (s *stream) done() bool { return len(s.queue) == 0 }

// settled refuses to ask a stream that is being captured.
func (s *stream) settled(what string) error {
	s.gpu.m.mu.Lock()
	defer s.gpu.m.mu.Unlock()
	if s.capture != nil {
		return fmt.Errorf("sim: %s a stream that is being captured", what)
	}
	return nil
}

func (s *stream) Query() (bool, error) {
	if err := s.settled("query"); err != nil {
		return false, err
	}
	return s.gpu.m.query(s.done, func() knowledge { return s.know })
}

func (s *stream) Synchronize(ctx context.Context) error {
	if err := s.settled("synchronize"); err != nil {
		return err
	}
	return s.gpu.m.await(ctx, s.done, func() knowledge { return s.know })
}

func (s *stream) Close() error {
	m := s.gpu.m
	m.mu.Lock()
	defer m.mu.Unlock()
	s.closed = true
	m.dropStreams()
	return nil
}

// dropStreams forgets closed streams without work.
func (m *Machine) dropStreams() {
	m.streams = slices.DeleteFunc(m.streams, func(s *stream) bool {
		ended := s.closed && s.done()
		if ended {
			s.agent.retire()
			s.agent = nil
		}
		return ended
	})
}

// pump starts and completes what is at the heads of the streams, until none can
// proceed.
func (m *Machine) pump() {
	for m.pumpable && m.err == nil {
		m.pumpable = false
		for _, s := range m.streams {
			for s.advance() {
				m.pumpable = true
			}
		}
	}
	m.dropStreams()
	m.cond.Broadcast()
}

// advance completes the head of the queue if it can be; a kernel is started and
// completes later.
func (s *stream) advance() bool {
	m := s.gpu.m
	if len(s.queue) == 0 || s.active != nil || m.err != nil {
		return false
	}
	it := &s.queue[0]
	switch {
	case it.launch != nil:
		s.active = it.launch
		m.start(it.launch)
		return false
	case it.record != nil:
		it.record.complete(it.ticket, m.now)
		if m.weak != nil {
			it.record.leaves(it.ticket, s.know)
		}
	case it.wait != nil:
		if !it.wait.over(it.ticket) {
			return false
		}
		if m.weak != nil {
			s.know = m.weak.joinKnowledge(s.know, it.wait.left(it.ticket))
		}
	case it.copy != nil:
		if err := s.runCopy(it); err != nil {
			m.poison(err)
			return false
		}
	}
	s.pop()
	return true
}

// pop removes the head of the queue.
func (s *stream) pop() {
	s.queue[0] = item{}
	s.queue = s.queue[1:]
	s.active = nil
	s.gpu.m.epoch++
}
