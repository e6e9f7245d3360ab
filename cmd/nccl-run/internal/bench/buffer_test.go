package bench

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/check"
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

	for _, place := range []struct{ shift, size int }{{0, 1000}, {8, 1000}, {4, 0}, {0, 17}} {
		b.place(place.shift, place.size)
		require.NoError(t, b.write(t.Context(), poison))
		d, err := b.compare(t.Context(), poison, 1)
		require.NoError(t, err)
		require.Equal(t, difference{first: -1}, d)
		first := int(b.data()) - hostBase
		require.Equal(t, bytes.Repeat([]byte{0xa5}, place.size), m.bytes[first:first+place.size])

		// What touches the data on either side is watched, and no data byte is.
		m.bytes[first-1]++
		m.bytes[first+place.size]++
		for i := range place.size {
			m.bytes[first+i]++
		}
		d, err = b.compare(t.Context(), check.Constant(0xa6), 1)
		require.NoError(t, err)
		require.Equal(t, difference{damaged: 2, first: -1}, d, "%+v", place)
	}
}

// Of a buffer that is written and read in several parts, every byte is watched,
// and the first wrong element is the first of all parts.
func TestBufferParts(t *testing.T) {
	const size = 3*window + 40
	m := &hostMemory{}
	b, err := newBuffer(m, size, 8, "rank 0 recv")
	require.NoError(t, err)
	b.place(8, size)
	data, err := check.Case{Type: coll.Float64, Op: coll.OpProd, NumRanks: 2, Count: size / 8}.Expected(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.write(t.Context(), data))
	want := make([]byte, size)
	data.Fill(want, 0)
	first := int(b.data()) - hostBase
	require.True(t, bytes.Equal(want, m.bytes[first:first+size]))

	for _, at := range []int{-guardBytes - 8, -1, size, size + guardBytes - 1} {
		m.bytes[first+at] ^= 1
	}
	for _, at := range []int{window - 1, window, 2*window + 5, size - 1} {
		m.bytes[first+at] ^= 1
	}
	d, err := b.compare(t.Context(), data, 8)
	require.NoError(t, err)
	require.Equal(t, difference{damaged: 4, wrong: 4, first: window/8 - 1}, d)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.write(ctx, data), context.Canceled)
}

// A canary that moved by a few bytes is not mistaken for a whole one.
func TestCanaryNeighboursDiffer(t *testing.T) {
	for shift := 1; shift <= 16; shift++ {
		require.NotEqual(t, canary(100), canary(100+shift))
	}
}
