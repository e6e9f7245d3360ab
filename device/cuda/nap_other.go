//go:build !linux

package cuda

import "time"

func nap(d time.Duration) { time.Sleep(d) }
