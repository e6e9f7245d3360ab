package litmus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

const (
	// locationBytes is the size of a location: a word for each of 128 threads, or
	// four lines of LL128.
	locationBytes = 512
	// runMemory limits the simulated memory of one run, far above what any needs.
	runMemory = 1 << 20
	// hostPatience is how long kernels may wait for a store of the host. None
	// waits for long: the host's goroutine is the one that runs the machine.
	hostPatience = time.Minute
)

// Run runs the case once and returns its outcome: the observed words, or the kind
// of the fault and the fault. The same seed gives the same run. An err is none of
// these: the test could not run.
func (c *Case) Run(ctx context.Context, seed uint64) (outcome string, fault *device.Fault, err error) {
	fail := func(err error) error { return fmt.Errorf("litmus %s: seed %d: %w", c.Name, seed, err) }
	r, err := c.prepare(seed)
	if err != nil {
		return "", nil, fail(err)
	}
	defer r.m.Close()
	err = r.launch()
	if err == nil {
		err = r.finish(ctx)
	}
	switch {
	case errors.As(err, &fault):
		return string(fault.Kind), fault, nil
	case err != nil:
		return "", nil, fail(err)
	}
	outcome, err = r.observe()
	if err != nil {
		return "", nil, fail(err)
	}
	return outcome, nil, nil
}

// running is a case on a machine of its own.
type running struct {
	c         *Case
	seed      uint64
	m         *sim.Machine
	gpus      []device.Device
	modules   []device.Module // by GPU
	locations map[string]location
	streams   []device.Stream // by launch
	out       []device.Ptr    // by launch
}

// location is one of x, y and z.
type location struct {
	at   device.Ptr
	gpu  device.Device  // nil in host memory
	host device.HostMem // nil in a GPU's
}

// prepare makes the machine, with memory and modules.
func (c *Case) prepare(seed uint64) (*running, error) {
	cfg := sim.Config{
		Seed: seed, MemoryBytes: runMemory,
		Weak: &sim.Weak{Facts: c.Facts},
	}
	for range c.gpus() {
		cfg.Devices = append(cfg.Devices, sim.H200())
	}
	if c.PCIe {
		cfg.Weak.PCIe = func(a, b int) bool { return a != b }
	}
	if len(c.During) > 0 {
		cfg.StuckGrace = hostPatience
	}
	m, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	r := &running{c: c, seed: seed, m: m, locations: map[string]location{}}
	if err := r.furnish(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return r, nil
}

func (r *running) furnish() error {
	text := r.c.module()
	for i := range r.m.NumDevices() {
		d, err := r.m.Open(i)
		if err != nil {
			return err
		}
		module, err := d.LoadModule(r.c.File+".ptx", text)
		if err != nil {
			return err
		}
		r.gpus, r.modules = append(r.gpus, d), append(r.modules, module)
	}
	for _, d := range r.gpus {
		for _, other := range r.gpus {
			if d == other {
				continue
			}
			if err := d.EnablePeer(other); err != nil {
				return err
			}
		}
	}
	for i, name := range []string{"x", "y", "z"} {
		if err := r.place(name, []Place{r.c.X, r.c.Y, r.c.Z}[i]); err != nil {
			return err
		}
	}
	for _, s := range r.c.Before {
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], s.Value)
		r.locations[s.To].host.Write(0, word[:])
	}
	return nil
}

func (r *running) place(name string, p Place) error {
	var l location
	var err error
	if p == Host {
		if l.host, err = r.gpus[0].AllocHost(locationBytes, name); err == nil {
			l.at = l.host.Ptr()
		}
	} else {
		l.gpu = r.gpus[p]
		l.at, err = l.gpu.Alloc(locationBytes, name)
	}
	r.locations[name] = l
	return err
}

// launch queues the kernels.
func (r *running) launch() error {
	x, y, z := r.locations["x"].at, r.locations["y"].at, r.locations["z"].at
	for i, l := range r.c.Launches {
		d := r.gpus[l.GPU]
		out, err := d.Alloc(locationBytes, l.Kernel+"'s output")
		if err != nil {
			return err
		}
		stream, err := r.stream(i)
		if err != nil {
			return err
		}
		r.out, r.streams = append(r.out, out), append(r.streams, stream)
		f, err := r.modules[l.GPU].Function(l.Kernel)
		if err != nil {
			return err
		}
		args := []device.Ptr{x, y, z, out}
		if l.Swap {
			args[0], args[1] = y, x
		}
		var block []byte
		for _, a := range args {
			block = binary.LittleEndian.AppendUint64(block, uint64(a))
		}
		if err := stream.Launch(&device.Launch{Function: f, Grid: 1, Threads: max(l.Threads, 1), Args: block}); err != nil {
			return err
		}
	}
	return nil
}

// stream returns the stream of launch i, ordered as the test says.
func (r *running) stream(i int) (device.Stream, error) {
	l := &r.c.Launches[i]
	if l.After == SameStream {
		return r.streams[i-1], nil
	}
	s, err := r.gpus[l.GPU].NewStream()
	if err != nil || l.After == Unordered {
		return s, err
	}
	e, err := r.gpus[r.c.Launches[i-1].GPU].NewEvent()
	if err != nil {
		return nil, err
	}
	return s, errors.Join(r.streams[i-1].Record(e), s.Wait(e))
}

// finish runs the kernels, with the host's stores once they have begun.
func (r *running) finish(ctx context.Context) error {
	for i, s := range r.c.During {
		// A query runs a part of what is queued: the kernels come to wait. Between
		// two stores they run with every other seed.
		if i == 0 || r.seed&1 == 0 {
			if _, err := r.streams[0].Query(); err != nil {
				return err
			}
		}
		r.locations[s.To].host.Store32(0, s.Value)
	}
	for _, s := range r.streams {
		if err := s.Synchronize(ctx); err != nil {
			return err
		}
	}
	return nil
}

// observe reads what the test is about.
func (r *running) observe() (string, error) {
	var values []string
	for i, l := range r.c.Launches {
		words := make([]byte, 4*l.Words)
		if err := r.gpus[l.GPU].CopyOut(words, r.out[i]); err != nil {
			return "", err
		}
		for w := range l.Words {
			values = append(values, decimal(binary.LittleEndian.Uint32(words[4*w:])))
		}
	}
	for _, name := range r.c.Final {
		l := r.locations[name]
		if l.host != nil {
			values = append(values, decimal(l.host.Load32(0)))
			continue
		}
		var word [4]byte
		if err := l.gpu.CopyOut(word[:], l.at); err != nil {
			return "", err
		}
		values = append(values, decimal(binary.LittleEndian.Uint32(word[:])))
	}
	return strings.Join(values, " "), nil
}

func decimal(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
