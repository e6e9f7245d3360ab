package nvml

import (
	"errors"
	"slices"
)

// Snapshot is all that an API tells of a node, to be kept and replayed
// elsewhere. Its file form is JSON: [ReadSnapshot], [Snapshot.Write].
type Snapshot struct {
	System  System
	Devices []DeviceSnapshot // by index
}

// DeviceSnapshot is what an API tells of one GPU.
type DeviceSnapshot struct {
	// Unreachable is why NVML could not reach the GPU; Success if it could, and
	// only then does the rest say anything.
	Unreachable Code

	Device  Device
	NVLinks Fact[[]NVLink]
	C2C     Fact[C2C]
	Fabric  Fact[Fabric]
	P2P     map[int]P2P // by the other GPU's index
}

// Capture asks an API all it knows.
func Capture(api API) (*Snapshot, error) {
	n, err := api.NumDevices()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{System: api.System(), Devices: make([]DeviceSnapshot, n)}
	for i := range s.Devices {
		d, err := captureDevice(api, i)
		var refused *Error
		switch {
		case err == nil:
			s.Devices[i] = d
		case errors.As(err, &refused):
			s.Devices[i].Unreachable = refused.Code
		default:
			return nil, err
		}
	}
	for i := range s.Devices {
		for j := range s.Devices {
			if i == j || s.Devices[i].Unreachable != Success || s.Devices[j].Unreachable != Success {
				continue
			}
			p, err := api.P2P(i, j)
			if err != nil {
				return nil, err
			}
			s.Devices[i].P2P[j] = p
		}
	}
	return s, nil
}

// captureDevice asks all about GPU i by itself.
func captureDevice(api API, i int) (DeviceSnapshot, error) {
	s := DeviceSnapshot{P2P: map[int]P2P{}}
	var err error
	if s.Device, err = api.Device(i); err != nil {
		return s, err
	}
	if s.NVLinks, err = api.NVLinks(i); err != nil {
		return s, err
	}
	if s.C2C, err = api.C2C(i); err != nil {
		return s, err
	}
	s.Fabric, err = api.Fabric(i)
	return s, err
}

// Replay returns an API that tells what s says. s may not change while it is in
// use.
func (s *Snapshot) Replay() API { return &replay{snapshot: s} }

// replay is an API that needs no GPU.
type replay struct {
	snapshot *Snapshot
	closed   bool // guarded by mu
}

// open returns GPU i.
func (r *replay) open(i int) (*DeviceSnapshot, error) {
	mu.Lock()
	defer mu.Unlock()
	c := Success
	switch {
	case r.closed:
		c = Uninitialized
	case i < 0 || i >= len(r.snapshot.Devices):
		c = InvalidArgument
	default:
		c = r.snapshot.Devices[i].Unreachable
	}
	if c != Success {
		return nil, &Error{symHandle.String(), i, c}
	}
	return &r.snapshot.Devices[i], nil
}

func (r *replay) System() System {
	mu.Lock()
	defer mu.Unlock()
	if r.closed {
		return closedSystem
	}
	return r.snapshot.System
}

func (r *replay) NumDevices() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	if r.closed {
		return 0, &Error{symCount.String(), -1, Uninitialized}
	}
	return len(r.snapshot.Devices), nil
}

func (r *replay) Device(i int) (Device, error) {
	d, err := r.open(i)
	if err != nil {
		return Device{}, err
	}
	return d.Device, nil
}

func (r *replay) NVLinks(i int) (Fact[[]NVLink], error) {
	d, err := r.open(i)
	if err != nil {
		return Fact[[]NVLink]{}, err
	}
	links, known := d.NVLinks.Get()
	if !known {
		return d.NVLinks, nil
	}
	return Known(slices.Clone(links)), nil
}

func (r *replay) C2C(i int) (Fact[C2C], error) {
	d, err := r.open(i)
	if err != nil {
		return Fact[C2C]{}, err
	}
	return d.C2C, nil
}

func (r *replay) Fabric(i int) (Fact[Fabric], error) {
	d, err := r.open(i)
	if err != nil {
		return Fact[Fabric]{}, err
	}
	return d.Fabric, nil
}

func (r *replay) P2P(i, j int) (P2P, error) {
	if i == j {
		return P2P{}, &Error{symP2PStatus.String(), i, InvalidArgument}
	}
	d, err := r.open(i)
	if err != nil {
		return P2P{}, err
	}
	if _, err := r.open(j); err != nil {
		return P2P{}, err
	}
	return d.P2P[j], nil
}

func (r *replay) Close() error {
	mu.Lock()
	defer mu.Unlock()
	r.closed = true
	return nil
}
