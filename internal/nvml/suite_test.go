package nvml

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// testAPI holds an API to what a snapshot says of the node it must be.
func testAPI(t *testing.T, want *Snapshot, open func() API) {
	t.Helper()
	api := open()
	defer func() { require.NoError(t, api.Close()) }()

	require.Equal(t, want.System, api.System())
	n, err := api.NumDevices()
	require.NoError(t, err)
	require.Equal(t, len(want.Devices), n)
	for i, d := range want.Devices {
		if d.Unreachable != Success {
			testUnreachable(t, api, i, d.Unreachable)
			continue
		}
		device, err := api.Device(i)
		require.NoError(t, err)
		require.Equal(t, d.Device, device)
		links, err := api.NVLinks(i)
		require.NoError(t, err)
		require.Equal(t, d.NVLinks, links, "NVLinks of GPU %d", i)
		c2c, err := api.C2C(i)
		require.NoError(t, err)
		require.Equal(t, d.C2C, c2c, "C2C of GPU %d", i)
		fabric, err := api.Fabric(i)
		require.NoError(t, err)
		require.Equal(t, d.Fabric, fabric, "fabric of GPU %d", i)
		for j, p := range d.P2P {
			got, err := api.P2P(i, j)
			require.NoError(t, err)
			require.Equal(t, p, got, "peer access of GPU %d to %d", i, j)
		}
		_, err = api.P2P(i, i)
		requireCode(t, InvalidArgument, err)
	}
	testUnreachable(t, api, len(want.Devices), InvalidArgument)
	testUnreachable(t, api, -1, InvalidArgument)

	got, err := Capture(api)
	require.NoError(t, err)
	require.Equal(t, want, got)
	testConcurrency(t, api, want)

	require.NoError(t, api.Close())
	require.NoError(t, api.Close(), "closing twice")
	require.Equal(t, Uninitialized, api.System().Driver.Why())
	_, err = api.NumDevices()
	requireCode(t, Uninitialized, err)
	testUnreachable(t, api, 0, Uninitialized)

	again := open()
	require.Equal(t, want.System, again.System(), "opened again")
	require.NoError(t, again.Close())
}

func requireCode(t *testing.T, want Code, err error) {
	t.Helper()
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, want, refused.Code)
}

// testUnreachable asks everything of a GPU that cannot be had.
func testUnreachable(t *testing.T, api API, i int, want Code) {
	t.Helper()
	_, err := api.Device(i)
	requireCode(t, want, err)
	_, err = api.NVLinks(i)
	requireCode(t, want, err)
	_, err = api.C2C(i)
	requireCode(t, want, err)
	_, err = api.Fabric(i)
	requireCode(t, want, err)
	_, err = api.P2P(i, i+1)
	requireCode(t, want, err)
}

// testConcurrency asks from several goroutines. The race detector judges, and
// the compiled library, which refuses a second caller.
func testConcurrency(t *testing.T, api API, want *Snapshot) {
	t.Helper()
	got := make(chan *Snapshot)
	for range 4 {
		go func() {
			var s *Snapshot
			for range 4 {
				s, _ = Capture(api)
			}
			got <- s
		}()
	}
	for range 4 {
		require.Equal(t, want, <-got)
	}
}
