// Package device says what a place that runs kernels must offer: devices with
// memory, modules, streams and events. Two packages implement it: device/cuda
// on real GPUs and device/sim on the PTX machine; one test suite
// (device/devicetest) holds them to the same behaviour.
//
// It knows no collective: what an implementation reports about ranks and
// channels are text labels that its caller attached to allocations and
// launches ("rank 3 ch 1 LL recv from 2").
//
// Start reading at [Driver], then [Device] and [Stream]. Everything may be
// used by several goroutines at once. Who creates a thing closes it; closing a
// Device frees what was allocated on it. Errors that kernels cause are
// [*Fault] where the implementation can tell, and sticky: every later call on
// that device reports the first.
package device

import "context"

// Ptr is an address in the unified address space of a Driver's devices and
// pinned host memory. It is never dereferenced by Go code.
type Ptr uint64

// Driver is one kind of place where kernels run, with its devices.
type Driver interface {
	// Name is "cuda" or "sim".
	Name() string
	// Describe says in one line what this is ("PTX machine, 8 x sm_90, 132 SMs").
	Describe() string
	// NumDevices returns how many devices there are.
	NumDevices() int
	// Open returns device i, 0 <= i < NumDevices. Opening twice gives the same
	// Device.
	Open(i int) (Device, error)
	// Close frees everything. It waits for nothing: running kernels are stopped
	// where the implementation can, and their streams report it.
	Close() error
}

// Info is what is known of a device.
type Info struct {
	Name             string
	SM               int // compute capability times 10: 90 is sm_90
	NumSMs           int
	MaxThreadsPerSM  int
	MaxCTAsPerSM     int
	MaxThreadsPerCTA int
	SharedPerSM      int // bytes
	SharedPerCTA     int // bytes
	RegistersPerSM   int // 32-bit registers
	MemoryBytes      int64
	BusID            string // PCI address, lower case; empty if there is none
	// GPUDirectRDMA and DMABuf say whether network cards may access its memory, and
	// whether the driver hands it out as dma-buf.
	GPUDirectRDMA bool
	DMABuf        bool
}

// Device is one GPU.
type Device interface {
	Ordinal() int
	Info() Info

	// Alloc returns size > 0 bytes of zeroed device memory, aligned to 512
	// bytes. The label names it in faults and reports.
	Alloc(size int64, label string) (Ptr, error)
	// AllocHost returns size > 0 bytes of zeroed pinned host memory that
	// kernels of every device can access at HostMem.Ptr.
	AllocHost(size int64, label string) (HostMem, error)
	// Label names part of an allocation, so that faults and reports say what
	// lies there.
	Label(p Ptr, size int64, label string)
	// Free frees device memory. The caller makes sure that no kernel uses it.
	Free(p Ptr) error

	// CopyIn writes src to device memory and returns when it is there. It is
	// not ordered with streams.
	CopyIn(dst Ptr, src []byte) error
	// CopyOut reads device memory. It is not ordered with streams.
	CopyOut(dst []byte, src Ptr) error

	// EnablePeer lets kernels of this device access memory of other. Doing it
	// again changes nothing.
	EnablePeer(other Device) error

	// LoadModule makes the kernels of a PTX module ready. name appears in
	// errors in place of a file name.
	LoadModule(name string, ptx []byte) (Module, error)

	NewStream() (Stream, error)
	NewEvent() (Event, error)
}

// HostMem is pinned host memory that kernels can access. An offset outside it, or
// one of a word that is not aligned, is a programmer's error, as an index out of
// range is, and so is using it after Free: Load32, Store32 and Write panic.
type HostMem interface {
	Ptr() Ptr
	// Load32 and Store32 access the aligned 32-bit word at byte offset off as
	// one relaxed system-scope access.
	Load32(off int64) uint32
	Store32(off int64, v uint32)
	// Write copies src to byte offset off, with ordinary stores: work that is
	// queued later sees them.
	Write(off int64, src []byte)
	Free() error
}

// Module is a loaded PTX module.
type Module interface {
	// Function returns the kernel called name.
	Function(name string) (Function, error)
	// Unload frees the module. No kernel of it may be running.
	Unload() error
}

// Function is a kernel of a loaded module.
type Function interface {
	Name() string
	// MaxThreads is the largest number of threads a CTA of it may have.
	MaxThreads() int
	// Occupancy returns how many CTAs of the given number of threads one SM
	// holds at once.
	Occupancy(threads int) (int, error)
}

// Launch is what a kernel launch needs. An implementation reads it before
// Stream.Launch returns and keeps only the strings.
type Launch struct {
	Function Function
	Grid     int    // CTAs
	Threads  int    // threads of a CTA
	Args     []byte // the kernel's parameter block, in its layout

	// Done, if not nil, is an event of the stream's device that is recorded behind
	// the kernel, as Stream.Record does. The device may put the record off for as
	// long as nobody can tell, so that of a row of launches with the same Done only
	// the last one costs a record, if that; only the time of the event, which says
	// when it was recorded, may be late. It is nil for launches that a capture
	// records.
	Done Event

	// Label names the launch in faults and reports ("rank 3").
	Label string
	// CTALabels, if not nil, names each CTA ("ch 1"). It is shared, not copied.
	CTALabels []string
}

// Stream is a queue of work on one device, done in order.
type Stream interface {
	Device() Device
	// Launch queues a kernel. It does not wait for it.
	Launch(l *Launch) error
	// Record queues an event: it is complete when all work queued before is.
	Record(e Event) error
	// Wait makes later work wait for the last Record of e, of any device.
	Wait(e Event) error
	// CopyAsync queues a copy between device memory of any devices.
	CopyAsync(dst, src Ptr, size int64) error
	// MemsetAsync queues a fill of size bytes.
	MemsetAsync(dst Ptr, value byte, size int64) error
	// Query reports whether all queued work is done.
	Query() (bool, error)
	// Synchronize waits until all queued work is done, a kernel fails or ctx
	// ends, and returns the failure or ctx's error.
	Synchronize(ctx context.Context) error
	// Close waits for nothing; queued work still runs.
	Close() error
}

// Event marks a point in a stream.
type Event interface {
	Query() (bool, error)
	Synchronize(ctx context.Context) error
	// Elapsed returns the microseconds from start's completion to this one's.
	// On the PTX machine this is simulated time and means nothing.
	Elapsed(start Event) (float64, error)
	Close() error
}

// UntimedEvents is a Device with events that cost less because they take no time.
type UntimedEvents interface {
	Device
	// NewUntimedEvent is NewEvent for an event of which Elapsed is an error.
	NewUntimedEvent() (Event, error)
}

// Foreign is a Stream that may belong to others.
type Foreign interface {
	Stream
	// Foreign reports whether others made the stream, who may end it at any time
	// between its uses here: it must not be asked anything but by who was just given
	// it. It is false once Close was called.
	Foreign() bool
}

// QueueLimiter is a Device on which only so many streams make progress side by
// side.
type QueueLimiter interface {
	Device
	// HardwareQueues returns how many, and what to do to have more. With more
	// streams, work on one may have to wait for a kernel on another to end.
	HardwareQueues() (n int, more string)
}

// Capturer is a Stream whose work can be recorded instead of run, and run later
// any number of times. Streams of real GPUs and of the PTX machine are Capturers.
type Capturer interface {
	Stream
	// BeginCapture makes the stream record what is queued from now on, by any
	// goroutine. Streams that wait for one of its events join the capture and must
	// be waited for in turn before it ends. Query and Synchronize are not allowed
	// meanwhile, nor is waiting for an event that was recorded outside.
	BeginCapture() error
	// CaptureID identifies the capture that the stream is part of, whoever began
	// it: no two captures of a process have the same. It is 0 if there is none, and
	// an error if a wrong call has broken the capture.
	CaptureID() (uint64, error)
	// RecordExternal and WaitExternal are Record and Wait for the graph instead of
	// the capture: every launch of the graph records e, or waits for the last
	// Record of e at that time, as if they were called then. They are allowed
	// during a capture only. What is queued later does not wait for the record of
	// RecordExternal. If a capture has several of one event, each must follow the
	// one before, and takes its place.
	RecordExternal(e Event) error
	WaitExternal(e Event) error
	// EndCapture ends the capture and returns what was recorded.
	EndCapture() (Graph, error)
}

// Graph is work that was captured from a stream.
type Graph interface {
	// Launch queues all of the work on a stream of the same driver. Launches of
	// one graph run one after another.
	Launch(s Stream) error
	// Close waits for nothing; launches under way still run.
	Close() error
}
