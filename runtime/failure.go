package nccl

import "github.com/ncclgo/ncclgo/internal/result"

// What to do about a failure. Errors that a kernel caused stay with the device.
const (
	adviceLaunch = "an earlier failure; abort, close and make new communicators"
	adviceDevice = "the device failed, for good: close the communicators; then, on a GPU, end the process, on the PTX machine, close the driver and make a new machine"
)

// failure is the first failure of a rank: of a launch, or of its device.
type failure struct {
	first  *Error // of the call that met it
	cause  error
	device bool // the device is of no more use, not only the launch
}

// in returns the error of a later call of the given name because of f.
func (f *failure) in(name string, rank int) *Error {
	advice, cause := adviceLaunch, error(f.first)
	if f.device {
		advice, cause = adviceDevice, f.cause
	}
	return result.New(f.first.Code, name, "%s: %w", advice, cause).At(rank)
}

// fail keeps err, of a launch, as the failure of c unless it has one, and returns
// the error of the call of the given name.
//
// Preconditions: c.mu is held.
func (c *Comm) fail(name string, err error) *Error {
	// Whoever cannot even be asked has failed as a whole.
	if _, failed := c.idle(); failed != nil {
		return c.failDevice(name, err)
	}
	return c.keep(&failure{first: result.New(result.UnhandledCUDAError, name, "%w", err).At(c.rank), cause: err}, name)
}

// failDevice is fail for what the device answers when it is asked or waited for.
func (c *Comm) failDevice(name string, err error) *Error {
	return c.keep(&failure{
		first: result.New(result.UnhandledCUDAError, name, "%s: %w", adviceDevice, err).At(c.rank), cause: err, device: true,
	}, name)
}

func (c *Comm) keep(f *failure, name string) *Error {
	if !c.failure.CompareAndSwap(nil, f) {
		return c.failure.Load().in(name, c.rank)
	}
	c.shared.log.Error("device failed", "subsys", "COLL", "rank", c.rank, "err", f.cause)
	return f.first
}
