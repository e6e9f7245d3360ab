package cuda_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/device/devicetest"
)

// openGPUs opens the driver, or skips the test where there is no GPU.
func openGPUs(t *testing.T) device.Driver {
	d, err := cuda.Open(cuda.Config{MaxConnections: 32, Cache: cuda.CacheConfig{Off: true}})
	skipWithoutGPU(t, err)
	return d
}

// skipWithoutGPU skips the test if err of [cuda.Open] says that there is no GPU.
func skipWithoutGPU(t testing.TB, err error) {
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skipf("skipped: needs a GPU (%v)", err)
	}
	require.NoError(t, err)
}

// TestOpenSaysWhatIsMissing is for machines without a GPU.
func TestOpenSaysWhatIsMissing(t *testing.T) {
	d, err := cuda.Open(cuda.Config{})
	if err == nil {
		require.NoError(t, d.Close())
		t.Skip("skipped: this machine has a GPU")
	}
	require.Nil(t, d)
	require.True(t, errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice), "%v", err)
	_, again := cuda.Open(cuda.Config{})
	require.Equal(t, err.Error(), again.Error())
}

// TestSpec runs the instruction tests of the PTX ISA.
func TestSpec(t *testing.T) {
	require.NoError(t, openGPUs(t).Close())
	devicetest.Spec(t, openGPUs)
}

// TestConversions runs the conversions of reductions over all operands.
func TestConversions(t *testing.T) { devicetest.Conversions(t, openGPUs) }

// TestDriver runs the tests of the driver contract, one at a time: while the
// kernel of one waits for the host, the driver would make the loading and
// freeing of another wait too.
func TestDriver(t *testing.T) {
	require.NoError(t, openGPUs(t).Close())
	var turn sync.Mutex
	devicetest.Run(t, func(t *testing.T) device.Driver {
		turn.Lock()
		t.Cleanup(turn.Unlock)
		return openGPUs(t)
	})
}

// faultVariable names, in a child process, the test of kernels that fail that it
// is to run.
const faultVariable = "NCCLGO_TEST_FAULT"

// TestFaults runs the tests of kernels that fail, each in a process of its own:
// after a fault the process can use the GPU no more.
func TestFaults(t *testing.T) {
	if os.Getenv(faultVariable) != "" {
		devicetest.Faults(t, openGPUs)
		return
	}
	require.NoError(t, openGPUs(t).Close())
	for _, name := range []string{"access", "trap"} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			child := exec.Command(self, "-test.run=^TestFaults$/^"+name+"$", "-test.v")
			child.Env = append(os.Environ(), faultVariable+"="+name)
			text, err := child.CombinedOutput()
			require.NoError(t, err, "%s", text)
			require.True(t, strings.Contains(string(text), "--- PASS: TestFaults/"+name), "%s", text)
		})
	}
}
