package fakedevice

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/device"
)

// Driver is a set of fake devices.
type Driver struct {
	devices []*Device

	mu   sync.Mutex
	next device.Ptr                  // guarded by mu; next free address
	mem  map[device.Ptr][]byte       // guarded by mu; by first address
	log  []string                    // guarded by mu; what was asked, in order
	fail func(request string) error  // guarded by mu; nil, or may make a request fail
	seen func(launch *device.Launch) // guarded by mu; nil, or told of launches

	queues int // guarded by mu; hardware queues of a device

	// quiet stops the log and its cost.
	quiet atomic.Bool
}

// New returns a Driver with n devices of the given properties.
func New(n int, info device.Info) *Driver {
	d := &Driver{next: 1 << 32, mem: map[device.Ptr][]byte{}, queues: math.MaxInt}
	for i := range n {
		d.devices = append(d.devices, &Device{driver: d, ordinal: i, info: info})
	}
	return d
}

// Fail makes every request fail for which f, given its line in the log, returns
// an error. Nil ends that.
func (d *Driver) Fail(f func(request string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = f
}

// OnLaunch has f called with every launch. Nil ends that.
func (d *Driver) OnLaunch(f func(*device.Launch)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = f
}

// SetHardwareQueues says how many hardware queues each device has; at first there
// is no bound.
func (d *Driver) SetHardwareQueues(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues = n
}

// Quiet makes requests on streams cost nothing: neither logged, nor failing, nor
// shown to OnLaunch.
func (d *Driver) Quiet() { d.quiet.Store(true) }

// TakeLog returns what was asked since the last TakeLog.
func (d *Driver) TakeLog() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	log := d.log
	d.log = nil
	return log
}

// Live returns how many allocations were not freed.
func (d *Driver) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.mem)
}

// request writes a line of the log and returns the error it is to fail with.
func (d *Driver) request(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	d.log = append(d.log, line)
	if d.fail != nil {
		return d.fail(line)
	}
	return nil
}

// Name returns "fake".
func (d *Driver) Name() string { return "fake" }

// Describe returns what this is.
func (d *Driver) Describe() string { return fmt.Sprintf("%d fake devices", len(d.devices)) }

// NumDevices returns the number of devices.
func (d *Driver) NumDevices() int { return len(d.devices) }

// Open returns device i.
func (d *Driver) Open(i int) (device.Device, error) { return d.devices[i], nil }

// Close does nothing.
func (d *Driver) Close() error { return nil }

// at returns the memory from p on.
func (d *Driver) at(p device.Ptr, size int) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for first, mem := range d.mem {
		if p >= first && p+device.Ptr(size) <= first+device.Ptr(len(mem)) {
			return mem[p-first:][:size], nil
		}
	}
	return nil, fmt.Errorf("no memory at %#x", uint64(p))
}

func (d *Driver) alloc(size int64) device.Ptr {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.next
	d.next += device.Ptr(size+511) &^ 511
	d.mem[p] = make([]byte, size)
	return p
}

func (d *Driver) free(p device.Ptr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mem[p] == nil {
		return fmt.Errorf("free of %#x, which is not allocated", uint64(p))
	}
	delete(d.mem, p)
	return nil
}

// Device is a fake device.
type Device struct {
	driver  *Driver
	ordinal int
	info    device.Info
}

// Ordinal returns the index of d.
func (d *Device) Ordinal() int { return d.ordinal }

// Info returns the properties New was given.
func (d *Device) Info() device.Info { return d.info }

// HardwareQueues returns what SetHardwareQueues said.
func (d *Device) HardwareQueues() (n int, more string) {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.driver.queues, "set FAKE_QUEUES"
}

// Alloc returns memory.
func (d *Device) Alloc(size int64, label string) (device.Ptr, error) {
	if err := d.driver.request("gpu %d: alloc %d %s", d.ordinal, size, label); err != nil {
		return 0, err
	}
	return d.driver.alloc(size), nil
}

// AllocHost returns memory.
func (d *Device) AllocHost(size int64, label string) (device.HostMem, error) {
	if err := d.driver.request("gpu %d: alloc host %d %s", d.ordinal, size, label); err != nil {
		return nil, err
	}
	return &hostMem{d.driver, d.driver.alloc(size)}, nil
}

// Label does nothing.
func (d *Device) Label(device.Ptr, int64, string) {}

// Free frees memory.
func (d *Device) Free(p device.Ptr) error { return d.driver.free(p) }

// CopyIn writes memory.
func (d *Device) CopyIn(dst device.Ptr, src []byte) error {
	mem, err := d.driver.at(dst, len(src))
	copy(mem, src)
	return err
}

// CopyOut reads memory.
func (d *Device) CopyOut(dst []byte, src device.Ptr) error {
	mem, err := d.driver.at(src, len(dst))
	copy(dst, mem)
	return err
}

// EnablePeer only writes it down.
func (d *Device) EnablePeer(other device.Device) error {
	return d.driver.request("gpu %d: enable peer %d", d.ordinal, other.Ordinal())
}

// LoadModule accepts anything.
func (d *Device) LoadModule(name string, _ []byte) (device.Module, error) {
	if err := d.driver.request("gpu %d: load %s", d.ordinal, name); err != nil {
		return nil, err
	}
	return &module{d, name}, nil
}

// NewStream returns a stream on which everything is done at once.
func (d *Device) NewStream() (device.Stream, error) { return d.NamedStream("stream"), nil }

// NamedStream returns a stream that the log calls name. Launches with a Done have
// a line more, "name: done", since it need not cost what a record does.
func (d *Device) NamedStream(name string) device.Capturer { return &stream{device: d, name: name} }

// NewEvent returns an event that is always complete.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.driver.request("gpu %d: new event", d.ordinal); err != nil {
		return nil, err
	}
	return &event{driver: d.driver}, nil
}

type hostMem struct {
	driver *Driver
	p      device.Ptr
}

func (h *hostMem) Ptr() device.Ptr { return h.p }
func (h *hostMem) Free() error     { return h.driver.free(h.p) }

func (h *hostMem) Load32(off int64) uint32 {
	mem, err := h.driver.at(h.p+device.Ptr(off), 4)
	if err != nil {
		panic(err)
	}
	return uint32(mem[0]) | uint32(mem[1])<<8 | uint32(mem[2])<<16 | uint32(mem[3])<<24
}

func (h *hostMem) Store32(off int64, v uint32) {
	mem, err := h.driver.at(h.p+device.Ptr(off), 4)
	if err != nil {
		panic(err)
	}
	mem[0], mem[1], mem[2], mem[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

func (h *hostMem) Write(off int64, src []byte) {
	mem, err := h.driver.at(h.p+device.Ptr(off), len(src))
	if err != nil {
		panic(err)
	}
	copy(mem, src)
}

type module struct {
	device *Device
	name   string
}

func (m *module) Function(name string) (device.Function, error) {
	return &function{m.device, name}, nil
}
func (m *module) Unload() error {
	return m.device.driver.request("gpu %d: unload %s", m.device.ordinal, m.name)
}

type function struct {
	device *Device
	name   string
}

func (f *function) Name() string    { return f.name }
func (f *function) MaxThreads() int { return f.device.info.MaxThreadsPerCTA }
func (f *function) Occupancy(threads int) (int, error) {
	return f.device.info.MaxThreadsPerSM / threads, nil
}

type stream struct {
	device  *Device
	name    string
	capture *capture // guarded by device.driver.mu; the last one it was in
}

func (s *stream) Device() device.Device { return s.device }

func (s *stream) Launch(l *device.Launch) error {
	if s.device.driver.quiet.Load() {
		return nil
	}
	s.device.driver.mu.Lock()
	seen := s.device.driver.seen
	s.device.driver.mu.Unlock()
	if seen != nil {
		seen(l)
	}
	if err := s.device.driver.request("%s: launch %s grid %d threads %d", s.name, l.Function.Name(), l.Grid, l.Threads); err != nil || l.Done == nil {
		return err
	}
	s.recordIn(l.Done.(*event))
	return s.device.driver.request("%s: done", s.name)
}

func (s *stream) Record(e device.Event) error {
	if s.device.driver.quiet.Load() {
		return nil
	}
	s.recordIn(e.(*event))
	return s.device.driver.request("%s: record", s.name)
}

func (s *stream) Wait(e device.Event) error {
	if s.device.driver.quiet.Load() {
		return nil
	}
	if err := s.joinOf(e.(*event)); err != nil {
		return err
	}
	return s.device.driver.request("%s: wait", s.name)
}

func (s *stream) CopyAsync(dst, src device.Ptr, size int64) error {
	if err := s.device.driver.request("%s: copy %d", s.name, size); err != nil {
		return err
	}
	from, err := s.device.driver.at(src, int(size))
	if err != nil {
		return err
	}
	to, err := s.device.driver.at(dst, int(size))
	copy(to, from)
	return err
}

func (s *stream) MemsetAsync(dst device.Ptr, value byte, size int64) error {
	to, err := s.device.driver.at(dst, int(size))
	for i := range to {
		to[i] = value
	}
	return err
}

func (s *stream) Query() (bool, error)                  { return true, nil }
func (s *stream) Synchronize(ctx context.Context) error { return ctx.Err() }
func (s *stream) Close() error                          { return nil }

type event struct {
	driver  *Driver
	capture *capture // guarded by driver.mu; that of the last Record
}

func (e *event) Query() (bool, error)                        { return true, e.driver.request("query event") }
func (e *event) Synchronize(ctx context.Context) error       { return ctx.Err() }
func (e *event) Elapsed(start device.Event) (float64, error) { return 0, nil }
func (e *event) Close() error                                { return nil }

// Grep returns the lines of log that contain part.
func Grep(log []string, part string) []string {
	return slices.DeleteFunc(slices.Clone(log), func(line string) bool { return !strings.Contains(line, part) })
}
