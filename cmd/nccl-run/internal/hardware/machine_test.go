package hardware

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// On a machine with GPUs it is detected, soon, with a rank on each, and so is what a
// capture has of it.
func TestThisMachine(t *testing.T) {
	driver, err := cuda.Open(cuda.Config{Cache: cuda.CacheConfig{Off: true}})
	if err != nil {
		t.Skipf("skipped: needs an NVIDIA GPU: %v", err)
	}
	defer driver.Close()
	inv, err := Take(driver, nvml.Open, os.DirFS("/"))
	require.NoError(t, err)
	machine, err := detect.Detect(inv.Source(), detect.Config{})
	require.NoError(t, err)
	system, err := machine.System()
	require.NoError(t, err)
	require.Equal(t, driver.NumDevices(), system.NRanks())
	t.Logf("%s", system)
	for _, f := range machine.Facts {
		t.Logf("%+v", f)
	}

	capture, err := detect.Record(inv.Source())
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, capture.Write(&file))
	again, err := detect.ReadCapture(&file)
	require.NoError(t, err)
	replayed, err := detect.Detect(again.Source(), detect.Config{})
	require.NoError(t, err)
	require.Equal(t, machine.NUMANode(0), replayed.NUMANode(0))
	second, err := replayed.System()
	require.NoError(t, err)
	require.Equal(t, system.String(), second.String())
}
