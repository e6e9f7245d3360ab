package launch

import (
	"errors"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// order makes the launches of one communicator follow one another whatever
// streams they are on. State that kernels keep on the device (steps) is loaded
// when a kernel starts and stored when it ends, so two that overlap would corrupt
// it.
//
// Launches that a capture records follow one another inside the graph by events
// of that capture. Between graphs, and between graphs and launches outside of
// any, one event does it: a graph waits for done before the first launch and
// records it after the last, so that whoever launches something, graph or not,
// waits for what was launched before. Nobody says which launch of a capture is the
// last; the device moves the record behind each. An event of a capture cannot be
// waited for outside of it, nor the other way around, hence the external forms.
type order struct {
	dev device.Device
	// mixing says that graphs take part.
	mixing bool

	last device.Stream // of the last launch outside of captures; nil before the first
	// done is recorded after every launch rather than when the stream changes: by
	// then last may have been closed, be part of a capture, or carry work that has
	// nothing to do with the communicator. A device need not make a record for each
	// of a row of launches (device.Launch.Done).
	done device.Event
	// join is recorded on further streams of a group.
	join device.Event

	captured bool       // graphs may have recorded done since last
	captures []*capture // under way, and some that are over
	current  *capture   // between enter and leave; nil: outside of any
	run      runState   // since enter
}

// runState says what a run of launches has queued so far.
type runState int

const (
	runEmpty    runState = iota
	runQueued            // work, and done is not recorded behind it
	runRecorded          // work with done behind it
)

// capture is what order keeps for a capture.
type capture struct {
	id   uint64
	last device.Capturer // stream of the last launch
	done device.Event    // inside the capture, after the last launch
}

func (o *order) open(dev device.Device) (err error) {
	o.dev = dev
	if o.done, err = newEvent(dev); err != nil {
		return err
	}
	o.join, err = newEvent(dev)
	return err
}

func (o *order) close() error {
	errs := []error{closeEvent(o.done), closeEvent(o.join)}
	for _, c := range o.captures {
		errs = append(errs, closeEvent(c.done))
	}
	return errors.Join(errs...)
}

func newEvent(dev device.Device) (e device.Event, err error) {
	if d, ok := dev.(device.UntimedEvents); ok {
		e, err = d.NewUntimedEvent()
	} else {
		e, err = dev.NewEvent()
	}
	if err != nil {
		return nil, fmt.Errorf("new event: %w", err)
	}
	return e, nil
}

func closeEvent(e device.Event) error {
	if e == nil {
		return nil
	}
	return e.Close()
}

// CaptureOf returns the ID of the capture that s is part of, 0 if there is none.
func CaptureOf(s device.Stream) (uint64, error) {
	if c, ok := s.(device.Capturer); ok {
		return c.CaptureID()
	}
	return 0, nil
}

// enter makes what follows on s come after the last launch and after what is on
// the other streams. All streams are part of the capture with the given ID.
func (o *order) enter(id uint64, s device.Stream, others []device.Stream) error {
	o.current, o.run = nil, runEmpty
	var err error
	if id != 0 {
		err = o.enterCapture(id, s.(device.Capturer))
	} else if o.captured || o.last != nil && o.last != s {
		err = s.Wait(o.done)
	}
	if err != nil {
		return fmt.Errorf("wait for the launch before: %w", err)
	}
	for _, other := range others {
		if err := other.Record(o.join); err != nil {
			return fmt.Errorf("record event: %w", err)
		}
		if err := s.Wait(o.join); err != nil {
			return fmt.Errorf("wait for another stream of the group: %w", err)
		}
	}
	return nil
}

// enterCapture is the part of enter that concerns the launch before.
func (o *order) enterCapture(id uint64, s device.Capturer) error {
	for _, c := range o.captures {
		if c.id == id {
			o.current = c
			if c.last != s {
				return s.Wait(c.done)
			}
			return nil
		}
	}
	c, err := o.newCapture(s)
	if err != nil {
		return err
	}
	c.id, c.last, o.current = id, s, c
	if !o.mixing {
		return nil
	}
	o.captured = true
	return s.WaitExternal(o.done)
}

// newCapture returns what a capture that s is part of is to be kept in: that of
// one which is over, if there is.
func (o *order) newCapture(s device.Capturer) (*capture, error) {
	for _, c := range o.captures {
		if f, ok := c.last.(device.Foreign); ok && f.Foreign() && c.last != s {
			continue // it may be gone, so it cannot be asked
		}
		// A stream that cannot be asked is closed, or its capture is broken.
		if id, err := c.last.CaptureID(); err != nil || id != c.id {
			return c, nil
		}
	}
	done, err := newEvent(o.dev)
	if err != nil {
		return nil, err
	}
	c := &capture{done: done}
	o.captures = append(o.captures, c)
	return c, nil
}

// leave makes s the last stream, and later work on the other streams come after
// what is on s. Outside of captures a run on one stream that queued nothing leaves
// everything as it was.
func (o *order) leave(s device.Stream, others []device.Stream) error {
	done := o.done
	c := o.current
	if c == nil && o.run == runEmpty && len(others) == 0 {
		return nil
	}
	if c != nil {
		c.last = s.(device.Capturer)
		done = c.done
		if o.mixing {
			if err := c.last.RecordExternal(o.done); err != nil {
				return fmt.Errorf("record event: %w", err)
			}
		}
	} else {
		o.last = s
	}
	if c != nil || o.run != runRecorded {
		if err := s.Record(done); err != nil {
			return fmt.Errorf("record event: %w", err)
		}
	}
	for _, other := range others {
		if err := other.Wait(done); err != nil {
			return fmt.Errorf("wait for the group's launch: %w", err)
		}
	}
	return nil
}
