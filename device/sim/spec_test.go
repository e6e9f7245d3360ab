package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/devicetest"
	"github.com/ncclgo/ncclgo/device/sim"
)

// TestSpec runs the instruction tests of the PTX ISA.
func TestSpec(t *testing.T) {
	devicetest.Spec(t, func(t *testing.T) device.Driver {
		m, err := sim.New(sim.Config{Devices: []device.Info{sim.H200()}, Seed: 1})
		require.NoError(t, err)
		return m
	})
}

// TestDriver runs the tests of the driver contract.
func TestDriver(t *testing.T) {
	devicetest.Run(t, twoGPUs)
}

// TestFaults runs the tests of kernels that fail.
func TestFaults(t *testing.T) {
	devicetest.Faults(t, twoGPUs)
}

func twoGPUs(t *testing.T) device.Driver {
	m, err := sim.New(sim.Config{
		Devices:    []device.Info{sim.H200(), sim.H200()},
		Seed:       1,
		StuckGrace: sim.DefaultStuckGrace,
	})
	require.NoError(t, err)
	return m
}
