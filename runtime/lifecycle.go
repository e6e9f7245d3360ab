package nccl

import (
	"context"
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/internal/result"
)

// Abort makes the kernels of the communicator leave wherever they wait, on all
// ranks of this process: none can finish without the others. Buffers of
// operations under way are left with any content. It does not wait; afterwards
// every operation is refused with ErrInvalidUsage and an [*AbortedError], which
// says what each channel was waiting for, and Close frees. Abort may be called
// at any time and repeatedly, also while another goroutine is inside a call of
// the communicator.
func (c *Comm) Abort() error {
	if !c.made() {
		return c.usable("Abort")
	}
	c.shared.abort()
	return nil
}

// abortedError is the error of a call on an aborted communicator.
func (c *Comm) abortedError(name string) error {
	idle, err := c.idle()
	if err != nil {
		return c.failDevice(name, err)
	}
	reports, err := c.shared.reports()
	if err != nil {
		return result.New(result.InternalError, name, "read reports: %w", err).At(c.rank)
	}
	return result.New(result.InvalidUsage, name, "%w", &AbortedError{Reports: reports, Running: !idle}).At(c.rank)
}

// peersOpen refuses a call that would make c's operations as many as ops if a
// rank was closed after fewer: it will never come. A rank whose Close waits for
// operations that c has still to enqueue is no reason. Captured operations do not
// count, since nobody knows how often their graph is launched.
func (c *Comm) peersOpen(name string, ops uint64) error {
	var closed []string
	for _, peer := range c.shared.comms {
		if after := peer.closedAfter.Load(); after != 0 && ops > after-1 {
			closed = append(closed, fmt.Sprintf("rank %d (after %d operations)", peer.rank, after-1))
		}
	}
	if closed == nil {
		return nil
	}
	return result.New(result.InvalidUsage, name,
		"closed already and will not take part: %s; close a rank after its last operation, or make new communicators with InitAll",
		strings.Join(closed, ", ")).At(c.rank)
}

// Close waits until the operations enqueued on c are done, and ends it; use
// [Comm.Finalize] to wait with a limit, and [Comm.Abort] to not wait for ranks
// that do not come. Device memory is freed when the last rank of this process is
// closed, since peers write into it until then. Closing again does nothing. A
// failure of the device is returned, but c is closed all the same.
func (c *Comm) Close() error {
	const name = "Close"
	if !c.made() {
		return c.usable(name)
	}
	c.mu.Lock()
	first := !c.closed.Swap(true)
	if first {
		c.closedAfter.Store(c.outside + 1)
		c.shared.anyClosed.Store(true)
	}
	c.mu.Unlock()
	if !first {
		return nil
	}
	err := c.wait(context.Background(), name)
	if freed := c.shared.leave(); err == nil {
		err = result.Wrap(result.UnhandledCUDAError, name, freed)
	}
	return err
}
