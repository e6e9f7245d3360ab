package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Source: CUDA driver API, CU_LAUNCH_PARAM_BUFFER_POINTER,
// CU_LAUNCH_PARAM_BUFFER_SIZE and CU_LAUNCH_PARAM_END.
const (
	paramEnd           = 0
	paramBufferPointer = 1
	paramBufferSize    = 2
)

// Source: CUDA driver API, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN and
// CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE.
const (
	attributeSyncDomain = 10
	remoteSyncDomain    = 1
)

// launchConfig is a CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	shared      uint32
	stream      uintptr
	attributes  uintptr
	numbers     uint32 // of attributes
}

// launchAttribute is a CUlaunchAttribute; its value is a union of 64 bytes.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// paramBytes is the parameter space that a block has from the start: what every
// driver and GPU allows (CUDA C++ Programming Guide, "Execution
// Configuration"). A kernel with more makes it grow.
const paramBytes = 4096

// launchBlock is the argument block of a stream's launches, made once and filled
// in again for each. Parts of it hold addresses of others, which is allowed
// because it lies on the heap, and the collector does not move what is there.
type launchBlock struct {
	config    launchConfig
	attribute launchAttribute
	params    []byte
	size      uintptr    // of the parameters in params
	extra     [5]uintptr // the list that tells the driver of params and size
	call      [4]uintptr // the arguments of cuLaunchKernelEx
}

func (b *launchBlock) init(stream uintptr, ownScope bool) {
	b.config = launchConfig{grid: [3]uint32{1, 1, 1}, block: [3]uint32{1, 1, 1}, stream: stream}
	if ownScope {
		b.attribute = launchAttribute{id: attributeSyncDomain, value: [16]uint32{remoteSyncDomain}}
		b.config.attributes = uintptr(unsafe.Pointer(&b.attribute))
		b.config.numbers = 1
	}
	b.grow(paramBytes)
	b.call[0] = uintptr(unsafe.Pointer(&b.config))
}

func (b *launchBlock) grow(n int) {
	b.params = make([]byte, n)
	b.extra = [5]uintptr{
		paramBufferPointer, uintptr(unsafe.Pointer(&b.params[0])),
		paramBufferSize, uintptr(unsafe.Pointer(&b.size)),
		paramEnd,
	}
}

// fill writes a launch into the block.
func (b *launchBlock) fill(f *Function, l *device.Launch) {
	b.config.grid[0], b.config.block[0] = uint32(l.Grid), uint32(l.Threads)
	if len(l.Args) > len(b.params) {
		b.grow(len(l.Args))
	}
	b.size = uintptr(copy(b.params, l.Args))
	b.call[1] = f.handle
	b.call[3] = 0
	if b.size > 0 {
		b.call[3] = uintptr(unsafe.Pointer(&b.extra))
	}
}

// launchable checks a launch on d and returns its function.
func (d *Device) launchable(l *device.Launch) (*Function, error) {
	if l == nil {
		return nil, fmt.Errorf("cuda: GPU %d: launch: no launch given", d.ordinal)
	}
	f, ok := l.Function.(*Function)
	if !ok || f.module.dev != d {
		return nil, fmt.Errorf("cuda: GPU %d: launch: the function is not loaded on this device", d.ordinal)
	}
	switch {
	case f.module.closed.Load():
		return nil, fmt.Errorf("cuda: launch %s: its module is unloaded", f.name)
	case l.Grid < 1 || l.Grid > math.MaxInt32:
		return nil, fmt.Errorf("cuda: launch %s: the grid has %d CTAs; allowed are 1 to %d", f.name, l.Grid, math.MaxInt32)
	case l.Threads < 1 || l.Threads > f.maxThreads:
		return nil, fmt.Errorf("cuda: launch %s: %d threads in a CTA; allowed are 1 to %d", f.name, l.Threads, f.maxThreads)
	case f.paramBytes != unknownParams && len(l.Args) != f.paramBytes:
		return nil, fmt.Errorf("cuda: launch %s: a parameter block of %d bytes; the kernel's has %d", f.name, len(l.Args), f.paramBytes)
	case l.CTALabels != nil && len(l.CTALabels) < l.Grid:
		return nil, fmt.Errorf("cuda: launch %s: %d CTA labels for %d CTAs", f.name, len(l.CTALabels), l.Grid)
	}
	return f, nil
}

// Launch queues a kernel. The driver waits for room if very many are queued.
func (s *Stream) Launch(l *device.Launch) error {
	f, err := s.dev.launchable(l)
	if err != nil {
		return err
	}
	var done *Event
	if l.Done != nil {
		if done, err = s.launchDone(l.Done); err != nil {
			return err
		}
	}
	if err := s.enter("launch"); err != nil {
		return err
	}
	defer s.dev.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != done {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.launch.fill(f, l)
	if rc := s.dev.lib.launchKernelEx.Call(s.launch.call[:]...); Code(rc) != success {
		return s.dev.check("cuLaunchKernelEx", rc, "%s, %s for %q, %d CTAs of %d threads, %d bytes of parameters",
			s, f.name, l.Label, l.Grid, l.Threads, len(l.Args))
	}
	s.last.set(f.name, l.Label)
	if done == nil {
		return nil
	}
	return s.putOff(done)
}
