package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// hostBase is the address of the first byte of a hostMemory.
const hostBase = 4096

// hostMemory is a device whose memory is one byte slice.
type hostMemory struct {
	device.Device
	bytes []byte
}

func (m *hostMemory) Alloc(size int64, _ string) (device.Ptr, error) {
	m.bytes = make([]byte, size)
	return hostBase, nil
}

func (m *hostMemory) CopyIn(dst device.Ptr, src []byte) error {
	copy(m.bytes[dst-hostBase:], src)
	return nil
}

func (m *hostMemory) CopyOut(dst []byte, src device.Ptr) error {
	copy(dst, m.bytes[src-hostBase:])
	return nil
}

func TestBufferCanaries(t *testing.T) {
	m := &hostMemory{}
	b, err := newBuffer(m, 1000, 8, "rank 0 send")
	require.NoError(t, err)
	require.Len(t, m.bytes, 1000+8+2*guardBytes)
	stage := make([]byte, len(m.bytes))

	for _, place := range []struct{ shift, size int }{{0, 1000}, {8, 1000}, {4, 0}, {0, 17}} {
		b.place(place.shift, place.size)
		require.NoError(t, b.write(stage, poison))
		data, damaged, err := b.read(stage)
		require.NoError(t, err)
		require.Zero(t, damaged)
		require.Len(t, data, place.size)
		for _, v := range data {
			require.Equal(t, byte(0xa5), v)
		}

		// What touches the data on either side is watched, and no data byte is.
		first := int(b.data()) - hostBase
		m.bytes[first-1]++
		m.bytes[first+place.size]++
		for i := range place.size {
			m.bytes[first+i]++
		}
		_, damaged, err = b.read(stage)
		require.NoError(t, err)
		require.Equal(t, 2, damaged, "%+v", place)
	}
}

// A canary that moved by a few bytes is not mistaken for a whole one.
func TestCanaryNeighboursDiffer(t *testing.T) {
	for shift := 1; shift <= 16; shift++ {
		require.NotEqual(t, canary(100), canary(100+shift))
	}
}
