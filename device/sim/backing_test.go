//go:build linux || darwin

package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// What the host refuses is an error, not the end of the process.
func TestHostRefuses(t *testing.T) {
	a := &alloc{}
	require.Error(t, a.back(1<<60))
	require.Nil(t, a.data)

	m, err := New(Config{Devices: []device.Info{H200()}, MemoryBytes: 1 << 62})
	require.NoError(t, err)
	defer m.Close()
	r := &region{gpu: -1, end: 1 << 62}
	_, err = m.allocate(r, 1<<60, "x")
	require.ErrorContains(t, err, `sim: host memory: allocate 1152921504606846976 bytes for "x": this host has no memory for it, with 0 bytes in use: `)
	require.Zero(t, r.used)
	require.Zero(t, m.used)
	require.Zero(t, r.next)
}
