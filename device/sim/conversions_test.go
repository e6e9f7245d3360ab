package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/devicetest"
	"github.com/ncclgo/ncclgo/device/sim"
)

// TestConversions runs the conversions of reductions over all operands.
func TestConversions(t *testing.T) {
	devicetest.Conversions(t, func(t *testing.T) device.Driver {
		m, err := sim.New(sim.Config{Devices: []device.Info{sim.H200()}, Seed: 1})
		require.NoError(t, err)
		return m
	})
}
