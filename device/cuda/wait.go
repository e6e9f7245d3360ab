package cuda

import (
	"context"
	"fmt"
	"time"
)

// Waiting asks again and again, since the driver's own waiting cannot be
// cancelled: without a pause at first, then with pauses that are a fraction of
// the time waited, so that the answer is late by little more than that fraction.
const (
	spinTime   = 20 * time.Microsecond
	pausePart  = 16
	longestNap = 500 * time.Microsecond
)

// wait returns when query says that it is done or fails, or when ctx ends; who
// names what is waited for.
func wait(ctx context.Context, who fmt.Stringer, query func() (bool, error)) error {
	for start := time.Now(); ; {
		done, err := query()
		if done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cuda: %s: wait: %w", who, err)
		}
		if waited := time.Since(start); waited > spinTime {
			nap(min(waited/pausePart, longestNap))
		}
	}
}
