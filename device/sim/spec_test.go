package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/devicetest"
	"github.com/ncclgo/ncclgo/device/sim"
)

// memories are the memory models, of which every test of a driver passes both.
var memories = []struct {
	name string
	weak *sim.Weak
}{
	{"sequential", nil},
	{"weak", &sim.Weak{}},
	{"weak with all facts", &sim.Weak{Facts: sim.AllFacts}},
}

// TestSpec runs the instruction tests of the PTX ISA.
func TestSpec(t *testing.T) {
	for _, memory := range memories[:2] {
		t.Run(memory.name, func(t *testing.T) {
			devicetest.Spec(t, func(t *testing.T) device.Driver {
				m, err := sim.New(sim.Config{Devices: []device.Info{sim.H200()}, Seed: 1, Weak: memory.weak})
				require.NoError(t, err)
				return m
			})
		})
	}
}

// TestDriver runs the tests of the driver contract.
func TestDriver(t *testing.T) {
	for _, memory := range memories {
		t.Run(memory.name, func(t *testing.T) { devicetest.Run(t, twoGPUs(memory.weak)) })
	}
}

// TestFaults runs the tests of kernels that fail.
func TestFaults(t *testing.T) {
	for _, memory := range memories {
		t.Run(memory.name, func(t *testing.T) { devicetest.Faults(t, twoGPUs(memory.weak)) })
	}
}

func twoGPUs(weak *sim.Weak) func(t *testing.T) device.Driver {
	return func(t *testing.T) device.Driver {
		m, err := sim.New(sim.Config{
			Devices:    []device.Info{sim.H200(), sim.H200()},
			Seed:       1,
			StuckGrace: sim.DefaultStuckGrace,
			Weak:       weak,
		})
		require.NoError(t, err)
		return m
	}
}
