package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ncclgo/ncclgo/device"
)

// event is a mark in a stream. It implements [device.Event]. Each Record has a
// ticket; the event is complete when its last ticket is. Records on several streams
// may be done in another order than that of their tickets.
type event struct {
	m *Machine

	// What follows is guarded by m.mu.

	recorded uint64
	pending  []uint64 // tickets of Records that are not done
	at       uint64   // simulated nanoseconds at which the last Record was done
	closed   bool
	mark     *mark      // of the last Record, if it was in a capture
	known    []ticketed // in the weak model: what the last Records left behind
}

// ticketed is what the work before a Record left behind.
type ticketed struct {
	ticket uint64
	knowledge
}

// keptTickets is how many Records an event tells apart.
const keptTickets = 16

// leaves notes what the work before a Record that is complete left behind.
func (e *event) leaves(ticket uint64, k knowledge) {
	if len(e.known) == keptTickets {
		e.known = slices.Delete(e.known, 0, 1)
	}
	e.known = append(e.known, ticketed{ticket, k})
}

// left returns what the work before a Record left behind, or before the next one
// that is known.
func (e *event) left(ticket uint64) knowledge {
	best := ticketed{^uint64(0), nothingKnown}
	for _, t := range e.known {
		if ticket > 0 && t.ticket >= ticket && t.ticket < best.ticket {
			best = t
		}
	}
	return best.knowledge
}

// expect gives the next Record its ticket.
func (e *event) expect() (ticket uint64) {
	e.recorded++
	e.pending = append(e.pending, e.recorded)
	return e.recorded
}

// complete marks a Record as done.
func (e *event) complete(ticket, now uint64) {
	e.pending = slices.DeleteFunc(e.pending, func(t uint64) bool { return t == ticket })
	if ticket == e.recorded {
		e.at = now
	}
}

// over reports whether the Record of a ticket is done. There is none of ticket 0.
func (e *event) over(ticket uint64) bool { return !slices.Contains(e.pending, ticket) }

// ownEvent returns e as one of this machine's.
func (m *Machine) ownEvent(what string, e device.Event) (*event, error) {
	ev, ok := e.(*event)
	switch {
	case !ok || ev.m != m:
		return nil, fmt.Errorf("sim: %s: the event is not of this machine", what)
	case ev.closed:
		return nil, fmt.Errorf("sim: %s: the event is closed", what)
	}
	return ev, nil
}

func (e *event) done() bool { return e.over(e.recorded) }

// settled refuses to ask an event that marks a place in a graph.
func (e *event) settled(what string) error {
	if e.mark != nil {
		return fmt.Errorf("sim: %s an event that was last recorded in a capture", what)
	}
	return nil
}

func (e *event) Query() (bool, error) {
	e.m.mu.Lock()
	err := e.settled("query")
	e.m.mu.Unlock()
	if err != nil {
		return false, err
	}
	return e.m.query(e.done, func() knowledge { return e.left(e.recorded) })
}

// Synchronize waits for the Record that is the last when it is called.
func (e *event) Synchronize(ctx context.Context) error {
	e.m.mu.Lock()
	err, ticket := e.settled("synchronize"), e.recorded
	e.m.mu.Unlock()
	if err != nil {
		return err
	}
	return e.m.await(ctx, func() bool { return e.over(ticket) }, func() knowledge { return e.left(ticket) })
}

func (e *event) Elapsed(start device.Event) (float64, error) {
	if err := e.m.lock(); err != nil {
		return 0, err
	}
	defer e.m.mu.Unlock()
	s, err := e.m.ownEvent("elapsed", start)
	if err != nil {
		return 0, err
	}
	for _, ev := range []*event{s, e} {
		if err := ev.settled("elapsed of"); err != nil {
			return 0, err
		}
		if ev.recorded == 0 || !ev.done() {
			return 0, errors.New("sim: elapsed: both events must be recorded and complete")
		}
	}
	return (float64(e.at) - float64(s.at)) / 1e3, nil
}

func (e *event) Close() error {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	e.closed = true
	return nil
}
