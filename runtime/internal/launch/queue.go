package launch

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// Queue launches one rank's kernels.
type Queue struct {
	order
	overflow overflow

	// What a launch needs is built once: only what differs is written before each.
	args   abi.KernelArgs
	launch device.Launch
	// ctaLabels names the CTAs of the largest grid.
	ctaLabels []string
}

// NewQueue returns the queue of the rank whose abi.Comm is at comm, on dev, for
// grids of up to channels CTAs. Label names its launches in faults ("rank 3").
// With mixing, launches that captures record and others are ordered with one
// another; without, that is up to the user.
func NewQueue(dev device.Device, comm device.Ptr, channels int, label string, mixing bool) (*Queue, error) {
	q := &Queue{ctaLabels: make([]string, channels)}
	q.mixing = mixing
	for i := range q.ctaLabels {
		q.ctaLabels[i] = fmt.Sprintf("ch %d", i)
	}
	q.args.Comm = abi.Ptr(comm)
	q.launch.Label = label
	q.launch.Args = unsafe.Slice((*byte)(unsafe.Pointer(&q.args)), unsafe.Sizeof(q.args))
	err := q.order.open(dev)
	if err == nil {
		err = q.overflow.open(dev, label)
	}
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// Enter begins a run of launches on s that follows all earlier launches and what
// is queued on the other streams. All streams are part of the capture of the
// given ID, 0 for none. [Queue.Leave] with the same streams ends the run.
func (q *Queue) Enter(capture uint64, s device.Stream, others []device.Stream) error {
	return q.enter(capture, s, others)
}

// Leave ends a run of launches; later work on the other streams follows it.
func (q *Queue) Leave(s device.Stream, others []device.Stream) error { return q.leave(s, others) }

// Launch queues kernel f on s with a grid of channels CTAs of threads threads
// each, to perform works in order, and returns those that are left for the next
// launch: works that do not fit in the kernel's parameter lie in device memory,
// and that may be in use by launches that still run. A graph's do not. How works are split over
// launches is the same to the other ranks.
func (q *Queue) Launch(s device.Stream, f device.Function, channels, threads int, works []abi.Work) (rest []abi.Work, err error) {
	q.launch.Function, q.launch.Grid, q.launch.Threads = f, channels, threads
	q.launch.CTALabels = q.ctaLabels[:channels]
	inline := min(len(works), abi.InlineWorks)
	copy(q.args.Works[:], works[:inline])
	rest = works[inline:]
	var block *overflowBlock
	q.launch.Done = nil
	if q.current == nil {
		q.launch.Done = q.done
		if block, err = q.overflow.take(s, rest); err != nil {
			return nil, err
		}
	}
	q.args.NumWorks = uint32(inline)
	q.args.Overflow = 0
	if block != nil {
		q.args.NumWorks += uint32(block.works)
		q.args.Overflow = abi.Ptr(block.at)
		rest = rest[block.works:]
	}
	q.run = runQueued
	if err := s.Launch(&q.launch); err != nil {
		return nil, fmt.Errorf("launch %s: %w", f.Name(), err)
	}
	q.run = runRecorded
	return rest, block.record(s)
}

// Copy queues a copy of size bytes on s, between [Queue.Enter] and [Queue.Leave].
func (q *Queue) Copy(s device.Stream, dst, src device.Ptr, size int64) error {
	q.run = runQueued
	return s.CopyAsync(dst, src, size)
}

// Idle reports whether everything launched is done, by graphs too with mixing,
// or the device's failure.
func (q *Queue) Idle() (bool, error) { return q.done.Query() }

// Wait waits until everything launched before it was called is done.
func (q *Queue) Wait(ctx context.Context) error { return q.done.Synchronize(ctx) }

// Close frees what the queue holds. Nothing it launched may be running.
func (q *Queue) Close() error { return errors.Join(q.overflow.close(), q.order.close()) }
