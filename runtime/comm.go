package nccl

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/runtime/internal/launch"
)

var errNilContext = errors.New("context is nil; pass context.Background() to wait without a limit")

// Comm is one rank's communicator. Its methods may be called by any goroutine. Of
// a nil or zero Comm they return ErrInvalidArgument, or zero values where they
// return no error.
type Comm struct {
	rank   int
	device device.Device
	shared *shared
	// serial orders the communicators of the process, for locking several.
	serial uint64

	// failure is the first failure of the rank's device or of a launch.
	failure atomic.Pointer[failure]
	closed  atomic.Bool

	// mu is held while operations are enqueued, and never while waiting for the
	// device.
	mu      sync.Mutex
	queue   *launch.Queue // guarded by mu, but for Idle and Wait
	kernels *launch.Kernels
	// gpuRanks are the ranks on the same GPU; nil if there is no other.
	gpuRanks *gpuRanks
	plans    planCache // guarded by mu
	one      [1]call   // guarded by mu; the group of a single call
	ops      uint64    // guarded by mu; operations enqueued
	// outside are those of ops that were enqueued outside of captures.
	outside uint64 // guarded by mu
	// closedAfter is one more than outside was when c was closed; 0 before.
	closedAfter atomic.Uint64
}

// Rank returns the rank of c in its communicator, from 0.
func (c *Comm) Rank() int {
	if !c.made() {
		return 0
	}
	return c.rank
}

// NumRanks returns how many ranks the communicator has.
func (c *Comm) NumRanks() int {
	if !c.made() {
		return 0
	}
	return len(c.shared.comms)
}

// Device returns the device of the rank.
func (c *Comm) Device() device.Device {
	if !c.made() {
		return nil
	}
	return c.device
}

// made reports whether c comes from InitAll.
func (c *Comm) made() bool { return c != nil && c.shared != nil }

// usable returns the error that a call of the given name is to return because of
// the state c is in.
func (c *Comm) usable(name string) error {
	switch {
	case !c.made():
		return result.New(result.InvalidArgument, name, "communicator is nil or zero; make one with InitAll")
	case c.closed.Load():
		return result.New(result.InvalidUsage, name, "the communicator is closed; make a new one with InitAll").At(c.rank)
	}
	return c.broken(name)
}

// broken returns the error that a call of the given name is to return because c
// was aborted or failed.
func (c *Comm) broken(name string) error {
	if c.shared.aborted.Load() {
		return c.abortedError(name)
	}
	if f := c.failure.Load(); f != nil {
		return f.in(name, c.rank)
	}
	return nil
}

// AsyncError returns what went wrong on the device since the communicator was
// made: a failed kernel is ErrUnhandledCUDA with a [*device.Fault] where the
// device can tell what happened; an abort is ErrInvalidUsage with an
// [*AbortedError]. It is nil while all is well, and does not wait: to wait,
// synchronize the stream first. The first failure is kept.
func (c *Comm) AsyncError() error {
	const name = "AsyncError"
	if !c.made() {
		return c.usable(name)
	}
	if f := c.failure.Load(); f != nil {
		if f.device {
			return f.in(name, c.rank)
		}
		return f.first
	}
	if c.closed.Load() {
		return nil
	}
	if _, err := c.idle(); err != nil {
		return c.failDevice(name, err)
	}
	if c.shared.aborted.Load() {
		return c.abortedError(name)
	}
	return nil
}

// Finalize waits until all operations enqueued on c are done, the device fails
// or ctx ends. It does not close c, and operations enqueued meanwhile are not
// waited for. Of an aborted communicator, whose operations may have ended
// anywhere, it returns an [*AbortedError].
func (c *Comm) Finalize(ctx context.Context) error {
	const name = "Finalize"
	if !c.made() || c.closed.Load() {
		return c.usable(name)
	}
	if ctx == nil {
		return result.New(result.InvalidArgument, name, "%w", errNilContext).At(c.rank)
	}
	if err := c.wait(ctx, name); err != nil {
		return err
	}
	return c.broken(name)
}

// wait waits for what is enqueued.
func (c *Comm) wait(ctx context.Context, name string) error {
	c.shared.mu.RLock()
	defer c.shared.mu.RUnlock()
	if c.shared.memory == nil {
		return nil
	}
	err := c.queue.Wait(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return result.New(result.Timeout, name, "operations are still running; a rank may be missing: Abort releases them: %w", ctx.Err()).At(c.rank)
	default:
		return c.failDevice(name, err)
	}
}

// idle reports whether everything enqueued is done, or the device's failure.
func (c *Comm) idle() (bool, error) {
	c.shared.mu.RLock()
	defer c.shared.mu.RUnlock()
	if c.shared.memory == nil {
		return true, nil
	}
	return c.queue.Idle()
}
