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
type order struct {
	last device.Stream // of the last launch; nil before the first
	// done is recorded after every launch rather than when the stream changes: by
	// then last may have been closed, or carry work that has nothing to do with
	// the communicator.
	done device.Event
	// join is recorded on further streams of a group.
	join device.Event
}

func (o *order) open(dev device.Device) (err error) {
	if o.done, err = newEvent(dev); err != nil {
		return err
	}
	o.join, err = newEvent(dev)
	return err
}

func (o *order) close() error { return errors.Join(closeEvent(o.done), closeEvent(o.join)) }

func newEvent(dev device.Device) (device.Event, error) {
	e, err := dev.NewEvent()
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

// enter makes what follows on s come after the last launch and after what is on
// the other streams.
func (o *order) enter(s device.Stream, others []device.Stream) error {
	if o.last != nil && o.last != s {
		if err := s.Wait(o.done); err != nil {
			return fmt.Errorf("wait for the launch before: %w", err)
		}
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

// leave makes s the last stream, and later work on the other streams come after
// what is on s.
func (o *order) leave(s device.Stream, others []device.Stream) error {
	if err := s.Record(o.done); err != nil {
		return fmt.Errorf("record event: %w", err)
	}
	o.last = s
	for _, other := range others {
		if err := other.Wait(o.done); err != nil {
			return fmt.Errorf("wait for the group's launch: %w", err)
		}
	}
	return nil
}
