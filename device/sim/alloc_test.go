package sim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

const mib = 1 << 20

// The limit of simulated memory holds for all owners together, and what is freed
// counts no more.
func TestMemoryLimit(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200(), sim.H200()}, MemoryBytes: 8 * mib})
	free := int64(8*mib - 4*outWords)
	first := l.alloc(0, 3*mib, "first")
	h, err := l.devs[1].AllocHost(2*mib, "pinned")
	require.NoError(t, err)
	const refusal = `sim: GPU 1: allocate 4194304 bytes for "second": 5259264 of the 8388608 bytes that the machine may simulate are in use; free some, or make a machine with a larger Config.MemoryBytes`
	_, err = l.devs[1].Alloc(4*mib, "second")
	require.EqualError(t, err, refusal)
	_, err = l.devs[1].AllocHost(4*mib, "second")
	require.ErrorContains(t, err, `host memory: allocate 4194304 bytes for "second": 5259264 of the 8388608 bytes`)
	_, err = l.devs[0].LoadModule("large.ptx", []byte(".version 8.3\n.target sm_90\n.address_size 64\n.global .b8 x[4194304];\n"))
	require.ErrorContains(t, err, `sim: load large.ptx: sim: GPU 0: allocate 4194304 bytes for "x": 5259264 of`)

	require.NoError(t, l.devs[0].Free(first))
	require.NoError(t, h.Free())
	l.alloc(1, free, "all")
	_, err = l.devs[1].Alloc(1, "one more")
	require.ErrorContains(t, err, "8388608 of the 8388608 bytes")
}

// Sizes that no host has are errors, whatever refuses them.
func TestAllocTooMuch(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200()}})
	for _, size := range []int64{85_000_000_000, 1 << 40, 1 << 62, math.MaxInt64} {
		_, err := l.devs[0].Alloc(size, "x")
		require.ErrorContains(t, err, "sim: GPU 0: allocate")
		_, err = l.devs[0].AllocHost(size, "x")
		require.ErrorContains(t, err, "of the 17179869184 bytes that the machine may simulate")
	}
	for _, size := range []int64{0, -1, math.MinInt64} {
		_, err := l.devs[0].Alloc(size, "x")
		require.ErrorContains(t, err, "the size must be positive")
	}

	vast := sim.H200()
	vast.MemoryBytes = math.MaxInt64
	l = newLab(t, sim.Config{Devices: []device.Info{vast}, MemoryBytes: math.MaxInt64})
	_, err := l.devs[0].Alloc(1<<40, "x")
	require.ErrorContains(t, err, "the address space of this owner")
}

// Memory of the operating system is zeroed, can be used up to its last byte, and
// goes back.
func TestLargeAllocations(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200()}})
	for range 8 {
		p := l.alloc(0, 3<<30+1, "large")
		last := []byte{7}
		require.NoError(t, l.devs[0].CopyOut(last, p+3<<30))
		require.Equal(t, []byte{0}, last)
		require.NoError(t, l.devs[0].CopyIn(p+3<<30, []byte{1}))
		require.NoError(t, l.devs[0].CopyOut(last, p+3<<30))
		require.Equal(t, []byte{1}, last)
		require.NoError(t, l.devs[0].Free(p))
		require.ErrorContains(t, l.devs[0].CopyOut(last, p), "freed")
	}
	p := l.alloc(0, 2*mib, "words")
	l.launch(shape{threads: 32}, `
mad.wide.u32 at, t, 65536, a; st.global.u32 [at], t;`, p)
	require.NoError(t, l.sync(0))
	word := make([]byte, 4)
	require.NoError(t, l.devs[0].CopyOut(word, p+31*65536))
	require.Equal(t, []byte{31, 0, 0, 0}, word)
}

// Shared and local memory count when a kernel is launched.
func TestFootprint(t *testing.T) {
	l := newLab(t, sim.Config{MemoryBytes: mib})
	const body = `
st.local.u32 [lo], t; ld.local.u32 x, [lo]; st.global.u32 [at], x;`
	l.launch(shape{grid: 4, threads: 64}, body)
	require.NoError(t, l.sync(0))
	l.alloc(0, mib-4*outWords-4*(256+64*64)+1, "most")
	err := l.streams[0].Launch(&device.Launch{Function: l.function(0, body), Grid: 99, Threads: 64, Args: make([]byte, 24)})
	require.ErrorContains(t, err, "its resident CTAs need 17408 bytes of shared and local memory")
}

// A wrong offset in pinned host memory is a programmer's error.
func TestHostMemPanics(t *testing.T) {
	l := newLab(t, sim.Config{})
	h, err := l.devs[0].AllocHost(8, "pair")
	require.NoError(t, err)
	h.Store32(4, 1)
	h.Write(7, []byte{2})
	h.Write(8, nil)
	require.Equal(t, uint32(2<<24|1), h.Load32(4))
	for _, off := range []int64{-4, 2, 6, 8, math.MaxInt64 - 3, math.MinInt64} {
		require.Panics(t, func() { h.Load32(off) }, off)
		require.Panics(t, func() { h.Store32(off, 0) }, off)
	}
	for _, off := range []int64{-1, 7, 9, math.MaxInt64} {
		require.Panics(t, func() { h.Write(off, []byte{1, 2}) }, off)
	}
	require.NoError(t, h.Free())
	require.Panics(t, func() { h.Load32(0) })
	require.Panics(t, func() { h.Write(0, []byte{1}) })
}
