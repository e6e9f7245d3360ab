package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
)

// Module is a loaded module. It implements [device.Module].
type Module struct {
	dev    *Device
	name   string
	image  []byte // the cubin
	handle uintptr
	closed atomic.Bool
}

// isCubin reports whether image is an ELF file.
func isCubin(image []byte) bool { return bytes.HasPrefix(image, []byte("\x7fELF")) }

// Unload frees the module. The driver waits until the device is idle.
func (m *Module) Unload() error {
	if m.closed.Swap(true) {
		return nil
	}
	return m.dev.drop(m)
}

func (m *Module) destroy() error {
	return m.dev.check("cuModuleUnload", m.dev.lib.moduleUnload.Call(m.handle), "GPU %d, %s", m.dev.ordinal, m.name)
}

// Source: CUDA driver API, enum CUfunction_attribute.
const (
	functionMaxThreads  = 0
	functionSharedBytes = 1
	functionLocalBytes  = 3
	functionRegisters   = 4
)

// Function is a kernel. It implements [device.Function].
type Function struct {
	module     *Module
	name       string
	handle     uintptr
	maxThreads int
	registers  int
	shared     int
	local      int
	paramBytes int
}

// Function returns the kernel called name.
func (m *Module) Function(name string) (device.Function, error) {
	d := m.dev
	switch {
	case m.closed.Load():
		return nil, fmt.Errorf("cuda: %s: function %s: the module is unloaded", m.name, name)
	case name == "" || strings.ContainsRune(name, 0):
		return nil, fmt.Errorf("cuda: %s: %q names no function", m.name, name)
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	f := &Function{module: m, name: name}
	symbol := terminated([]byte(name))
	rc := d.lib.moduleGetFunction.Call(uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(&symbol[0])))
	if err := d.check("cuModuleGetFunction", rc, "GPU %d, %s of %s", d.ordinal, name, m.name); err != nil {
		return nil, err
	}
	for _, q := range []struct {
		attribute uintptr
		to        *int
	}{
		{functionMaxThreads, &f.maxThreads},
		{functionSharedBytes, &f.shared},
		{functionLocalBytes, &f.local},
		{functionRegisters, &f.registers},
	} {
		var v int32
		rc := d.lib.funcGetAttribute.Call(uintptr(unsafe.Pointer(&v)), q.attribute, f.handle)
		if err := d.check("cuFuncGetAttribute", rc, "GPU %d, attribute %d of %s", d.ordinal, q.attribute, name); err != nil {
			return nil, err
		}
		*q.to = int(v)
	}
	var err error
	if f.paramBytes, err = f.params(); err != nil {
		return nil, err
	}
	return f, nil
}

// Name returns the kernel's name.
func (f *Function) Name() string { return f.name }

// MaxThreads returns the largest number of threads that a CTA may have.
func (f *Function) MaxThreads() int { return f.maxThreads }

// Registers returns the number of 32-bit registers of a thread.
func (f *Function) Registers() int { return f.registers }

// SharedBytes returns the static shared memory of a CTA.
func (f *Function) SharedBytes() int { return f.shared }

// LocalBytes returns the local memory of a thread, which is where registers are
// spilled to.
func (f *Function) LocalBytes() int { return f.local }

// Occupancy returns how many CTAs of the given number of threads an SM holds.
func (f *Function) Occupancy(threads int) (int, error) {
	if threads < 1 || threads > f.maxThreads {
		return 0, fmt.Errorf("cuda: occupancy of %s: %d threads in a CTA; allowed are 1 to %d", f.name, threads, f.maxThreads)
	}
	d := f.module.dev
	if f.module.closed.Load() {
		return 0, errors.New("cuda: occupancy of " + f.name + ": its module is unloaded")
	}
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var n int32
	rc := d.lib.maxActiveBlocks.Call(uintptr(unsafe.Pointer(&n)), f.handle, uintptr(threads), 0)
	return int(n), d.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", rc, "GPU %d, %s, %d threads", d.ordinal, f.name, threads)
}
