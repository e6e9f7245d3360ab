package devicetest

import (
	"bytes"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

func testOpen(b *bench) {
	n := b.driver.NumDevices()
	require.Positive(b, n)
	for i := range n {
		require.Equal(b, i, b.open(i).Ordinal())
	}
	require.Same(b, b.dev, b.open(0), "opening twice gives the same device")
	for _, i := range []int{-1, n, n + 100} {
		_, err := b.driver.Open(i)
		require.Error(b, err, "device %d", i)
	}
	require.NotEmpty(b, b.driver.Name())
	require.NotEmpty(b, b.driver.Describe())
	require.NotContains(b, b.driver.Describe(), "\n")
}

func testInfo(b *bench) {
	for i := range b.driver.NumDevices() {
		info := b.open(i).Info()
		require.NotEmpty(b, info.Name)
		require.GreaterOrEqual(b, info.SM, 70)
		require.Positive(b, info.NumSMs)
		require.Positive(b, info.MaxCTAsPerSM)
		require.GreaterOrEqual(b, info.MaxThreadsPerCTA, 512)
		require.GreaterOrEqual(b, info.MaxThreadsPerSM, info.MaxThreadsPerCTA)
		require.GreaterOrEqual(b, info.SharedPerCTA, 48<<10)
		require.GreaterOrEqual(b, info.SharedPerSM, info.SharedPerCTA)
		require.GreaterOrEqual(b, info.RegistersPerSM, 1<<15)
		require.Positive(b, info.MemoryBytes)
	}
}

func testAlloc(b *bench) {
	var ptrs []device.Ptr
	for _, size := range []int64{1, 3, 512, 513, 1 << 20} {
		p := b.alloc(b.dev, size)
		require.NotZero(b, p)
		require.Zero(b, uint64(p)%512, "alignment of %#x", uint64(p))
		got := bytes.Repeat([]byte{1}, int(size))
		require.NoError(b, b.dev.CopyOut(got, p))
		require.Equal(b, make([]byte, size), got, "new memory is zero")
		ptrs = append(ptrs, p)
	}
	// Allocations do not overlap.
	for i, p := range ptrs {
		require.NoError(b, b.dev.CopyIn(p, []byte{byte(i + 1)}))
	}
	for i, p := range ptrs {
		got := make([]byte, 1)
		require.NoError(b, b.dev.CopyOut(got, p))
		require.Equal(b, byte(i+1), got[0])
	}
	// Memory that was freed and comes back is zero again.
	for range 4 {
		p := b.alloc(b.dev, 4096)
		got := make([]byte, 4096)
		require.NoError(b, b.dev.CopyOut(got, p))
		require.Equal(b, make([]byte, 4096), got)
		require.NoError(b, b.dev.CopyIn(p, bytes.Repeat([]byte{0xee}, 4096)))
		require.NoError(b, b.dev.Free(p))
	}
	for _, size := range []int64{0, -1, 1 << 60} {
		_, err := b.dev.Alloc(size, "too much")
		require.Error(b, err, "%d bytes", size)
		_, err = b.dev.AllocHost(size, "too much")
		require.Error(b, err, "%d bytes of host memory", size)
	}
}

func testFree(b *bench) {
	p := b.alloc(b.dev, 64)
	require.Error(b, b.dev.Free(p+4), "the middle of an allocation")
	require.NoError(b, b.dev.Free(p))
	require.Error(b, b.dev.Free(p), "twice")
	require.Error(b, b.dev.Free(0x10), "what was never allocated")
}

func testCopy(b *bench) {
	const size = 10_000
	p := b.alloc(b.dev, size)
	want := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		at := r.IntN(size)
		part := make([]byte, r.IntN(size-at)+1)
		for i := range part {
			part[i] = byte(r.Uint32())
		}
		require.NoError(b, b.dev.CopyIn(p+device.Ptr(at), part))
		copy(want[at:], part)
		from := r.IntN(size)
		got := make([]byte, r.IntN(size-from)+1)
		require.NoError(b, b.dev.CopyOut(got, p+device.Ptr(from)))
		require.Equal(b, want[from:from+len(got)], got)
	}
	require.NoError(b, b.dev.CopyIn(p, nil), "nothing to copy")
	require.NoError(b, b.dev.CopyOut(nil, p), "nothing to copy")
}

// testStray copies to and from where there is no memory.
func testStray(b *bench) {
	p := b.alloc(b.dev, 4096)
	buf := make([]byte, 4096)
	for _, stray := range []device.Ptr{0, 8, p + 1<<45} {
		require.Error(b, b.dev.CopyIn(stray, buf), "%#x", uint64(stray))
		require.Error(b, b.dev.CopyOut(buf, stray), "%#x", uint64(stray))
	}
	require.NoError(b, b.dev.CopyIn(p, buf), "a refused copy leaves the device usable")
}

func testHostMem(b *bench) {
	h := b.allocHost(b.dev, 256)
	require.NotZero(b, h.Ptr())
	for off := int64(0); off < 256; off += 4 {
		require.Zero(b, h.Load32(off))
	}
	h.Store32(4, 0xdeadbeef)
	require.Equal(b, uint32(0xdeadbeef), h.Load32(4))
	require.Zero(b, h.Load32(0))
	require.Zero(b, h.Load32(8))

	h.Write(13, []byte{1, 2, 3, 4})
	require.Equal(b, uint32(0x03020100), h.Load32(12))
	require.Equal(b, uint32(0x04), h.Load32(16))

	// A running kernel sees what the host stores, and the host what it stores.
	b.launch(b.stream, b.mod, "wait", 1, uint64(h.Ptr()), 7, uint64(h.Ptr())+64)
	h.Store32(0, 7)
	b.sync(b.stream)
	require.Equal(b, uint32(8), h.Load32(64))

	// Kernels of every device reach it.
	for i := range b.driver.NumDevices() {
		d := b.open(i)
		s := b.newStream(d)
		b.launch(s, b.load(d), "fill", 8, uint64(h.Ptr())+128, uint64(100*i))
		b.sync(s)
		for k := range int64(8) {
			require.Equal(b, uint32(100*i)+uint32(k), h.Load32(128+4*k))
		}
	}
	require.NoError(b, h.Free())
}

func testAsync(b *bench) {
	x, y := b.alloc(b.dev, 1000), b.alloc(b.dev, 1000)
	require.NoError(b, b.stream.MemsetAsync(x, 0x5a, 1000))
	require.NoError(b, b.stream.MemsetAsync(x+3, 0x01, 7))
	require.NoError(b, b.stream.CopyAsync(y+1, x, 999))
	require.NoError(b, b.stream.CopyAsync(y, x, 0))
	require.NoError(b, b.stream.MemsetAsync(y, 9, 0))
	b.sync(b.stream)
	want := bytes.Repeat([]byte{0x5a}, 1000)
	copy(want[3:], bytes.Repeat([]byte{1}, 7))
	got := make([]byte, 1000)
	require.NoError(b, b.dev.CopyOut(got, x))
	require.Equal(b, want, got)
	require.NoError(b, b.dev.CopyOut(got, y))
	require.Equal(b, append([]byte{0}, want[:999]...), got)
}

func testPeer(b *bench) {
	other := b.second()
	far := b.alloc(other, 4096)
	near := b.alloc(b.dev, 4096)

	// Copies need no permission.
	require.NoError(b, other.CopyIn(far, bytes.Repeat([]byte{3}, 4096)))
	require.NoError(b, b.stream.CopyAsync(near, far, 4096))
	b.sync(b.stream)
	require.Equal(b, uint32(0x03030303), b.read(b.dev, near, 1)[0])

	require.NoError(b, b.dev.EnablePeer(other))
	require.NoError(b, b.dev.EnablePeer(other), "again")
	b.launch(b.stream, b.mod, "fill", 64, uint64(far), 1000)
	b.launch(b.stream, b.mod, "add", 64, uint64(near), uint64(far), 5)
	b.sync(b.stream)
	for i, v := range b.read(b.dev, near, 64) {
		require.Equal(b, uint32(1005+i), v)
	}
	for i, v := range b.read(other, far, 64) {
		require.Equal(b, uint32(1000+i), v)
	}
}
