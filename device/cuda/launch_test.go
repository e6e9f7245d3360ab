//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// Sizes and offsets of the driver's structures, from cuda.h on a 64-bit
// platform.
func TestLayout(t *testing.T) {
	var c launchConfig
	require.EqualValues(t, 56, unsafe.Sizeof(c))
	require.EqualValues(t, 12, unsafe.Offsetof(c.block))
	require.EqualValues(t, 24, unsafe.Offsetof(c.shared))
	require.EqualValues(t, 32, unsafe.Offsetof(c.stream))
	require.EqualValues(t, 40, unsafe.Offsetof(c.attributes))
	require.EqualValues(t, 48, unsafe.Offsetof(c.numbers))
	var a launchAttribute
	require.EqualValues(t, 72, unsafe.Sizeof(a))
	require.EqualValues(t, 8, unsafe.Offsetof(a.value))
}

func TestLaunch(t *testing.T) {
	for _, test := range []struct {
		name       string
		defines    []string
		cfg        Config
		attributes uint32
	}{
		{"own memory synchronization domain", nil, Config{}, 1},
		{"everybody's", nil, Config{OneSyncDomain: true}, 0},
		{"the driver knows no domains", []string{"-DVERSION=11080"}, Config{}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, test.defines...)
			_, dev := openFake(t, f, test.cfg)
			s := newStream(t, dev)
			l := fillLaunch(loadFill(t, dev))
			require.NoError(t, s.Launch(l))
			got := f.lastLaunch()
			require.Equal(t, [3]uint32{3, 1, 1}, got.Grid)
			require.Equal(t, [3]uint32{64, 1, 1}, got.Block)
			require.Equal(t, l.Args, got.Params[:got.Size])
			require.Equal(t, test.attributes, got.Attributes)
			if test.attributes > 0 {
				require.EqualValues(t, attributeSyncDomain, got.ID)
				require.EqualValues(t, remoteSyncDomain, got.Domain)
			}
		})
	}
}

// Where the driver cannot say how many bytes of parameters a kernel has, any
// block is passed on; large ones and none at all arrive.
func TestLaunchWithoutParamInfo(t *testing.T) {
	f := newFake(t, "-DNO_PARAM_INFO")
	_, dev := openFake(t, f, Config{})
	s := newStream(t, dev)
	l := fillLaunch(loadFill(t, dev))
	for _, args := range [][]byte{{1, 2, 3}, nil, bytes.Repeat([]byte{5, 6}, 4096), {7}} {
		l.Args = args
		require.NoError(t, s.Launch(l))
		got := f.lastLaunch()
		require.True(t, bytes.Equal(args, got.Params[:got.Size]), "%d bytes", len(args))
	}
}

func TestLaunchRefuses(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	s, fn := newStream(t, dev), loadFill(t, dev)
	other, err := drv.Open(1)
	require.NoError(t, err)
	gone := loadFill(t, dev)
	require.NoError(t, gone.module.Unload())
	for _, test := range []struct {
		name string
		edit func(l *device.Launch)
		says string
	}{
		{"no function", func(l *device.Launch) { l.Function = nil }, "not loaded on this device"},
		{"a function of another device", func(l *device.Launch) { l.Function = loadFill(t, other.(*Device)) }, "not loaded on this device"},
		{"an unloaded function", func(l *device.Launch) { l.Function = gone }, "unloaded"},
		{"no CTAs", func(l *device.Launch) { l.Grid = 0 }, "0 CTAs"},
		{"a grid beyond 31 bits", func(l *device.Launch) { l.Grid = 1 << 31 }, "2147483648 CTAs"},
		{"too many threads", func(l *device.Launch) { l.Threads = 641 }, "allowed are 1 to 640"},
		{"few arguments", func(l *device.Launch) { l.Args = l.Args[:15] }, "15 bytes; the kernel's has 16"},
		{"few labels", func(l *device.Launch) { l.CTALabels = []string{"ch 0"} }, "1 CTA labels for 3"},
	} {
		l := fillLaunch(fn)
		test.edit(l)
		require.ErrorContains(t, s.Launch(l), test.says, test.name)
	}
	require.ErrorContains(t, s.Launch(nil), "no launch")
	require.Zero(t, f.calls("cuLaunchKernelEx"))

	f.failNext("cuLaunchKernelEx", launchOutOfResources)
	require.ErrorContains(t, s.Launch(fillLaunch(fn)), `cuLaunchKernelEx(GPU 0 stream 0, fill for "rank 3", 3 CTAs of 64 threads, 16 bytes of parameters)`)
	require.NoError(t, s.Close())
	require.ErrorContains(t, s.Launch(fillLaunch(fn)), "closed")
}

func TestHotPathAllocatesNothing(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	s, l := newStream(t, dev), fillLaunch(loadFill(t, dev))
	e, err := dev.NewEvent()
	require.NoError(t, err)
	require.NoError(t, s.BeginCapture())
	g, err := s.EndCapture()
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"launch":       func() error { return s.Launch(l) },
		"query":        func() error { _, err := s.Query(); return err },
		"record":       func() error { return s.Record(e) },
		"wait":         func() error { return s.Wait(e) },
		"query event":  func() error { _, err := e.Query(); return err },
		"launch graph": func() error { return g.Launch(s) },
	} {
		require.NoError(t, call(), name)
		require.Zero(t, testing.AllocsPerRun(200, func() { _ = call() }), name)
	}
}

// BenchmarkLaunch is the host time of a launch above the driver's own: the
// stand-in does next to nothing.
func BenchmarkLaunch(b *testing.B) {
	_, dev := openFake(b, newFake(b), Config{})
	s, l := newStream(b, dev), fillLaunch(loadFill(b, dev))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Launch(l); err != nil {
			b.Fatal(err)
		}
	}
}
