//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

func TestAlloc(t *testing.T) {
	for _, offset := range []uintptr{0, 256} {
		f := newFake(t)
		f.offset.Call(offset)
		_, dev := openFake(t, f, Config{})
		p, err := dev.Alloc(1000, "a")
		require.NoError(t, err)
		require.Zero(t, p%allocAlign)
		got := bytes.Repeat([]byte{1}, 1000)
		require.NoError(t, dev.CopyOut(got, p))
		require.Equal(t, make([]byte, 1000), got)
		require.NoError(t, dev.CopyIn(p+10, []byte{7, 8, 9}))
		require.NoError(t, dev.CopyOut(got[:4], p+9))
		require.Equal(t, []byte{0, 7, 8, 9}, got[:4])
		require.NoError(t, dev.Free(p))
		require.Zero(t, f.blocks.Call())
	}
}

// Large copies arrive whole, several at once, in several pieces each, and do
// without pinned memory if there is none.
func TestLargeCopies(t *testing.T) {
	const size = 5*stageBytes + 12345
	for _, pinned := range []bool{true, false} {
		f := newFake(t)
		drv, dev := openFake(t, f, Config{})
		p, err := dev.Alloc(2*maxLanes*size, "a")
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range 2 * maxLanes {
			if !pinned {
				f.failNext("cuMemHostAlloc", outOfMemory)
			}
			copies := func() {
				at := p + device.Ptr(i*size)
				for _, n := range []int{laneBytes, stageBytes, 2 * stageBytes, size} {
					in, out := make([]byte, n), make([]byte, n)
					for j := range in {
						in[j] = byte(j*(j>>8) + i)
					}
					assert.NoError(t, dev.CopyIn(at, in))
					if !pinned {
						f.failNext("cuMemHostAlloc", outOfMemory)
					}
					assert.NoError(t, dev.CopyOut(out, at))
					assert.True(t, bytes.Equal(in, out), "%d bytes", n)
				}
			}
			if pinned {
				wg.Go(copies)
			} else {
				copies()
			}
		}
		wg.Wait()
		require.NoError(t, drv.Close())
		require.Zero(t, f.blocks.Call())
		require.Zero(t, f.objects.Call())
	}
}

// No memory is pinned while a kernel may be running, which the driver could wait
// for.
func TestNothingIsPinnedBesideKernels(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	s, buf := newStream(t, dev), make([]byte, laneBytes)
	p, err := dev.Alloc(laneBytes, "a")
	require.NoError(t, err)
	require.NoError(t, s.Launch(fillLaunch(loadFill(t, dev))))
	require.NoError(t, dev.CopyIn(p, buf))
	require.Zero(t, f.calls("cuMemHostAlloc"))
	done, err := s.Query()
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, dev.CopyIn(p, buf))
	require.Equal(t, 2, f.calls("cuMemHostAlloc"), "two stages")
	require.NoError(t, s.Launch(fillLaunch(loadFill(t, dev))))
	before := f.calls("cuMemcpyHtoDAsync_v2")
	require.NoError(t, dev.CopyIn(p, buf))
	require.Equal(t, before+1, f.calls("cuMemcpyHtoDAsync_v2"))
	require.Equal(t, 2, f.calls("cuMemHostAlloc"), "what is there is used")
}

// What goes wrong in the middle of a large copy is reported and leaves the device
// of use.
func TestLargeCopyFails(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	buf := make([]byte, 3*stageBytes)
	p, err := dev.Alloc(int64(len(buf)), "a")
	require.NoError(t, err)
	for _, test := range []struct {
		call string
		copy func() error
	}{
		{"cuMemcpyHtoDAsync_v2", func() error { return dev.CopyIn(p, buf) }},
		{"cuMemcpyDtoHAsync_v2", func() error { return dev.CopyOut(buf, p) }},
		{"cuStreamSynchronize", func() error { return dev.CopyIn(p, buf) }},
		{"cuStreamSynchronize", func() error { return dev.CopyOut(buf, p) }},
	} {
		f.failNext(test.call, invalidValue)
		require.ErrorContains(t, test.copy(), strings.TrimSuffix(test.call, "_v2"))
		require.NoError(t, test.copy())
	}
}

func TestAllocFails(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	_, err := dev.Alloc(1<<50, "rank 3 staging")
	require.ErrorContains(t, err, `cuMemAlloc(GPU 0, 1125899906842624 bytes for "rank 3 staging"): CUDA_ERROR_OUT_OF_MEMORY (2)`)
	_, err = dev.AllocHost(1<<50, "rank 3 flags")
	require.ErrorContains(t, err, "rank 3 flags")
	for _, size := range []int64{0, -1} {
		_, err := dev.Alloc(size, "a")
		require.ErrorContains(t, err, "must be positive")
		_, err = dev.AllocHost(size, "a")
		require.ErrorContains(t, err, "must be positive")
	}
	f.failNext("cuMemsetD8Async", invalidValue)
	_, err = dev.Alloc(100, "a")
	require.ErrorContains(t, err, "cuMemsetD8Async")
	require.Zero(t, f.blocks.Call(), "what could not be filled is freed")
}

func TestAddressesAreNamed(t *testing.T) {
	_, dev := openFake(t, newFake(t), Config{})
	p, err := dev.Alloc(4096, "rank 3 staging")
	require.NoError(t, err)
	dev.Label(p+1024, 512, "rank 3 ch 1 LL recv from 2")
	dev.Label(p+4000, 500, "does not fit")
	buf := make([]byte, 4096)
	for _, test := range []struct {
		err  error
		says string
	}{
		{dev.CopyIn(p+1024, buf), "(rank 3 ch 1 LL recv from 2)"},
		{dev.CopyOut(buf, p+1032), "(rank 3 ch 1 LL recv from 2 +0x8)"},
		{dev.CopyOut(buf, p+4064), "(rank 3 staging +0xfe0)"},
		{dev.CopyOut(buf, p+4100), "(4 bytes beyond the 4096 of rank 3 staging)"},
		{dev.CopyOut(buf, 8), "(no allocation lies below)"},
		{dev.Free(p + 4), "(rank 3 staging +0x4)"},
	} {
		require.ErrorContains(t, test.err, test.says)
	}
	s := newStream(t, dev)
	require.ErrorContains(t, s.MemsetAsync(p+4000, 0, 100), "rank 3 staging")
	require.ErrorContains(t, s.CopyAsync(p, p+4000, 100), "copy from")
	require.ErrorContains(t, s.CopyAsync(p+4000, p, 100), "copy to")
	require.ErrorContains(t, s.MemsetAsync(p, 0, -1), "negative")
	require.NoError(t, s.MemsetAsync(p, 5, 100))
	require.NoError(t, s.CopyAsync(p+100, p, 100))
	require.NoError(t, dev.CopyOut(buf[:201], p))
	require.Equal(t, append(bytes.Repeat([]byte{5}, 200), 0), buf[:201])
	require.NoError(t, dev.Free(p))
	require.ErrorContains(t, dev.Free(p), "no allocation of this device starts there")
}

// Memory that another library allocated can be copied to and from.
func TestForeignMemory(t *testing.T) {
	f := newFake(t)
	_, theirs := openFake(t, f, Config{})
	_, ours := openFake(t, f, Config{})
	p, err := theirs.Alloc(100, "theirs")
	require.NoError(t, err)
	require.NoError(t, ours.CopyIn(p+50, make([]byte, 50)))
	require.Error(t, ours.CopyIn(p+50, make([]byte, 51)))
	require.Error(t, ours.Free(p))
}

func TestHostMem(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	h, err := dev.AllocHost(64, "flags")
	require.NoError(t, err)
	require.Zero(t, h.Load32(60))
	h.Store32(60, 0xdeadbeef)
	require.Equal(t, uint32(0xdeadbeef), h.Load32(60))
	got := make([]byte, 4)
	require.NoError(t, dev.CopyOut(got, h.Ptr()+60))
	require.Equal(t, []byte{0xef, 0xbe, 0xad, 0xde}, got)
	for _, off := range []int64{-4, 2, 61, 64} {
		require.Panics(t, func() { h.Load32(off) }, "%d", off)
	}
	require.Error(t, dev.Free(h.Ptr()), "it is not device memory")
	require.NoError(t, h.Free())
	require.Error(t, h.Free())
	require.Panics(t, func() { h.Store32(0, 1) })
	require.Zero(t, f.blocks.Call())
}

func TestLedgerKeepsNeighboursApart(t *testing.T) {
	var l ledger
	for _, base := range []uint64{3000, 1000, 2000} {
		l.add(&block{base: base, size: 500, label: "x"})
	}
	for addr, want := range map[uint64]bool{999: false, 1000: true, 1499: true, 1500: false, 2100: true, 3400: true, 3500: false} {
		require.Equal(t, want, l.holds(addr, 1), "%d", addr)
	}
	require.True(t, l.holds(2000, 500))
	require.False(t, l.holds(2000, 501))
	require.False(t, l.holds(2000, 1<<63))
	require.Nil(t, l.take(2001, nil, false))
	require.NotNil(t, l.take(2000, nil, false))
	require.False(t, l.holds(2000, 1))
	require.Len(t, l.takeAll(nil), 2)
}

var _ device.HostMem = (*hostMem)(nil)
