package cuda

import (
	"syscall"
	"time"
)

// nap pauses for d. time.Sleep in an otherwise idle program lasts a millisecond
// at least, since the Go scheduler then waits in epoll; the kernel's timer is
// good for some 50 microseconds. A signal ends the pause early, which does no
// harm.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
