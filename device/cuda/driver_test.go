//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/dl"
)

func TestNoDriver(t *testing.T) {
	_, err := load(filepath.Join(t.TempDir(), "libcuda.so.1"))
	require.ErrorIs(t, err, ErrNoDriver)
	require.ErrorIs(t, err, dl.ErrUnavailable)
	require.ErrorContains(t, err, leastDriver)

	_, err = load("libc.so.6")
	require.ErrorIs(t, err, ErrNoDriver, "a library that is no driver")
	require.ErrorContains(t, err, "cuDriverGetVersion")
}

func TestOldDriver(t *testing.T) {
	_, err := load(compileFake(t, "-DVERSION=11040"))
	var old *OldDriverError
	require.ErrorAs(t, err, &old)
	require.Equal(t, 11040, old.Version)
	require.ErrorContains(t, err, "CUDA 11.4")
	require.ErrorContains(t, err, "CUDA 11.8, driver R520")

	_, err = load(compileFake(t, "-DVERSION=11080"))
	require.NoError(t, err, "the least that works")
}

// An old driver is told from one that lacks functions, whatever it lacks.
func TestOldDriverThatLacksFunctions(t *testing.T) {
	var old *OldDriverError
	_, err := load(compileFake(t, "-DVERSION=9000", "-DNO_GRAPHS"))
	require.ErrorAs(t, err, &old)
}

func TestMissingFunctions(t *testing.T) {
	_, err := load(compileFake(t, "-DNO_GRAPHS"))
	var missing *dl.MissingError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Symbols, 10)
	require.ErrorContains(t, err, "cuGraphLaunch (since CUDA 10.0)")
	require.ErrorContains(t, err, "CUDA 12.4")
}

func TestNoDevice(t *testing.T) {
	_, err := open(newFake(t, "-DDEVICES=0").library, Config{})
	require.ErrorIs(t, err, ErrNoDevice)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "cuInit", e.Call)
}

func TestOldGPU(t *testing.T) {
	drv, err := open(newFake(t, "-DSM=61").library, Config{})
	require.NoError(t, err)
	_, err = drv.Open(1)
	var old *OldGPUError
	require.ErrorAs(t, err, &old)
	require.Equal(t, OldGPUError{Device: 1, Name: "Fake GPU", SM: 61}, *old)
	require.ErrorContains(t, err, "sm_70")
}

func TestDevices(t *testing.T) {
	drv, dev := openFake(t, newFake(t), Config{})
	require.Equal(t, "cuda", drv.Name())
	require.Equal(t, "CUDA 12.4, 2 x Fake GPU (sm_90, 132 SMs)", drv.Describe())
	require.Equal(t, device.Info{
		Name: "Fake GPU", SM: 90, NumSMs: 132, MaxThreadsPerSM: 2048, MaxCTAsPerSM: 32, MaxThreadsPerCTA: 1024,
		SharedPerSM: 233472, SharedPerCTA: 49152, RegistersPerSM: 65536, MemoryBytes: 8 << 30, BusID: "0000:1b:00.0",
	}, dev.Info())
	again, err := drv.Open(0)
	require.NoError(t, err)
	require.Same(t, dev, again)
	for _, i := range []int{-1, 2} {
		_, err := drv.Open(i)
		require.Error(t, err)
	}
}

// The driver is started with enough hardware queues and loads modules whole; its
// environment is the C library's.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		name, set string
		cfg       Config
		want      string
		queues    int
		err       string
	}{
		{"default", "", Config{}, "", 8, ""},
		{"more than the default", "", Config{MaxConnections: 20}, "20", 20, ""},
		{"fewer than the default", "", Config{MaxConnections: 2}, "", 8, ""},
		{"more than was set", "12", Config{MaxConnections: 20}, "20", 20, ""},
		{"what was set is enough", "30", Config{MaxConnections: 20}, "30", 30, ""},
		{"too many", "", Config{MaxConnections: 33}, "", 0, "MaxConnections is 33; allowed are 0, for the default, to 32"},
		{"negative", "", Config{MaxConnections: -1}, "", 0, "MaxConnections"},
		{"nonsense", "many", Config{}, "", 0, `CUDA_DEVICE_MAX_CONNECTIONS is "many"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			t.Setenv(connectionsVariable, test.set)
			drv, err := open(f.library, test.cfg)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.Zero(t, f.calls("cuInit"), "refused before the driver is touched")
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.queues, drv.Connections())
			require.Equal(t, test.want, dl.String(f.connectionsAtInit.Call()))
			require.Equal(t, "EAGER", f.getenv(loadingVariable))
			_, err = open(f.library, Config{MaxConnections: test.queues})
			require.NoError(t, err)
			if test.queues < mostConnections {
				_, err = open(f.library, Config{MaxConnections: test.queues + 1})
				require.ErrorContains(t, err, "was started with")
			}
			require.Equal(t, 1, f.calls("cuInit"))
		})
	}
}

func TestLoadingIsLeftToWhoSetIt(t *testing.T) {
	f := newFake(t)
	t.Setenv(loadingVariable, "LAZY")
	openFake(t, f, Config{})
	require.Equal(t, "LAZY", os.Getenv(loadingVariable))
}

func TestPrimaryContextIsRetainedAndReleased(t *testing.T) {
	f := newFake(t)
	one, dev := openFake(t, f, Config{})
	two, _ := openFake(t, f, Config{})
	require.EqualValues(t, 2, f.retained.Call(0), "each driver holds it")
	require.Zero(t, f.retained.Call(1), "the other device is not opened")

	loadFill(t, dev)
	newStream(t, dev)
	_, err := dev.NewEvent()
	require.NoError(t, err)
	_, err = dev.Alloc(100, "a")
	require.NoError(t, err)
	_, err = dev.AllocHost(100, "b")
	require.NoError(t, err)

	require.NoError(t, one.Close())
	require.EqualValues(t, 1, f.retained.Call(0))
	require.Zero(t, f.blocks.Call(), "memory is freed")
	require.EqualValues(t, 1, f.objects.Call(), "what is left is the other driver's side stream")
	require.NoError(t, one.Close(), "again")
	require.NoError(t, two.Close())
	require.Zero(t, f.retained.Call(0))
	require.Zero(t, f.objects.Call())
	require.Zero(t, f.calls("cuDevicePrimaryCtxReset_v2"))

	_, err = one.Open(0)
	require.ErrorIs(t, err, errClosed)
	_, err = dev.Alloc(100, "a")
	require.ErrorIs(t, err, errClosed)
}

// A device that cannot be opened leaves nothing behind.
func TestOpenFailsHalfWay(t *testing.T) {
	for _, call := range []string{"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate"} {
		t.Run(call, func(t *testing.T) {
			f := newFake(t)
			drv, err := open(f.library, Config{})
			require.NoError(t, err)
			f.failNext(call, outOfMemory)
			_, err = drv.Open(0)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, call, e.Call)
			require.Zero(t, f.retained.Call(0))
			_, err = drv.Open(0)
			require.NoError(t, err, "it can be tried again")
			require.NoError(t, drv.Close())
		})
	}
}

func TestExclusiveDevice(t *testing.T) {
	f := newFake(t)
	drv, err := open(f.library, Config{})
	require.NoError(t, err)
	f.failNext("cuDevicePrimaryCtxRetain", deviceUnavailable)
	_, err = drv.Open(1)
	require.ErrorContains(t, err, "cuDevicePrimaryCtxRetain(GPU 1): CUDA_ERROR_DEVICE_UNAVAILABLE (46): as the driver puts it: ")
	require.ErrorContains(t, err, "exclusive")
}

// Closing with work left waits for nothing and frees nothing.
func TestCloseWithWorkLeft(t *testing.T) {
	for _, closed := range []bool{false, true} {
		f := newFake(t)
		drv, dev := openFake(t, f, Config{})
		s := newStream(t, dev)
		_, err := dev.Alloc(100, "a")
		require.NoError(t, err)
		f.busy.Call(1)
		if closed {
			require.NoError(t, s.Close())
			require.ErrorContains(t, s.Record(nil), "event")
		}
		require.ErrorContains(t, drv.Close(), "GPU 0 stream 0 has work left")
		require.EqualValues(t, 1, f.blocks.Call())
		require.EqualValues(t, 1, f.retained.Call(0))
	}
}

func TestPeers(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	other, err := drv.Open(1)
	require.NoError(t, err)
	require.NoError(t, dev.EnablePeer(other))
	require.NoError(t, dev.EnablePeer(other), "enabled already")
	require.Error(t, dev.EnablePeer(dev))
	_, foreign := openFake(t, newFake(t), Config{})
	require.ErrorContains(t, dev.EnablePeer(foreign), "not of this driver")
	f.noPeer.Call(1)
	err = dev.EnablePeer(other)
	require.ErrorContains(t, err, "GPU 0 (0000:1b:00.0) cannot access the memory of GPU 1 (0000:1c:00.0)")
}
