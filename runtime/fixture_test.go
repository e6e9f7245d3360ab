package nccl

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
	"github.com/ncclgo/ncclgo/topo"
)

// fakeInfo describes a small GPU, so that limits are near.
var fakeInfo = device.Info{Name: "fake", SM: 90, NumSMs: 4, MaxThreadsPerSM: 2048, MaxThreadsPerCTA: 1024}

// fakes returns a driver with n fake devices and a Config for a rank on each.
func fakes(t testing.TB, n int) (*fakedevice.Driver, Config) {
	t.Helper()
	driver := fakedevice.New(n, fakeInfo)
	return driver, Config{Devices: open(t, driver), System: builtin(t, "dgx-h100")}
}

func builtin(t testing.TB, name string) *topo.System {
	t.Helper()
	system, err := topo.Builtin(name)
	require.NoError(t, err)
	return system
}

// open returns all devices of a driver.
func open(t testing.TB, driver device.Driver) []device.Device {
	t.Helper()
	devices := make([]device.Device, driver.NumDevices())
	for i := range devices {
		var err error
		devices[i], err = driver.Open(i)
		require.NoError(t, err)
	}
	return devices
}

// longestTest is after what time the communicators of a test that hangs are
// aborted: their errors then say who waited for whom.
const longestTest = 2 * time.Minute

// mustInit makes communicators that are aborted and closed when the test ends.
func mustInit(t testing.TB, cfg Config) []*Comm {
	t.Helper()
	comms, err := InitAll(context.Background(), cfg)
	require.NoError(t, err)
	if _, ok := t.(*testing.T); ok {
		late := time.AfterFunc(longestTest, func() { _ = comms[0].Abort() })
		t.Cleanup(func() { late.Stop() })
	}
	t.Cleanup(func() {
		for _, c := range comms {
			_ = c.Abort()
		}
		for _, c := range comms {
			_ = c.Close()
		}
	})
	return comms
}

// named returns a stream of a fake device that the log calls "rank.name".
func named(c *Comm, name string) device.Stream {
	return c.Device().(*fakedevice.Device).NamedStream(fmt.Sprintf("rank %d %s", c.Rank(), name))
}

// sumF32 is the group that sums count floats at address at, in place, on all
// comms' streams called s.
func sumF32(comms []*Comm, at device.Ptr, count uint64) func(*Calls) error {
	return func(g *Calls) error {
		for _, c := range comms {
			if err := g.AllReduce(c, at, at, count, coll.Float32, coll.OpSum, named(c, "s")); err != nil {
				return err
			}
		}
		return nil
	}
}
