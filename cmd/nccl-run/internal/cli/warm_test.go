package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// A variant with kernels for two targets is warmed once, with the better of those
// that the oldest GPU has.
func TestSourcesFor(t *testing.T) {
	kernels, err := matching("*_Sum_bf16_RING_SIMPLE")
	require.NoError(t, err)
	require.Len(t, kernels, 2)
	for _, test := range []struct {
		gpus   []device.Info
		target string
	}{
		{[]device.Info{sim.A100()}, "\n.target sm_70\n"},
		{[]device.Info{sim.H100()}, "\n.target sm_90\n"},
		{[]device.Info{sim.H100(), sim.A100()}, "\n.target sm_70\n"},
	} {
		sources, least, err := sourcesFor(kernels, test.gpus)
		require.NoError(t, err)
		require.Len(t, sources, 1)
		require.Contains(t, string(sources[0].PTX), test.target)
		require.Equal(t, test.gpus[len(test.gpus)-1].SM, least)
	}

	kernels, err = matching("AllReduce_Sum_f8e4m3_RING_LL")
	require.NoError(t, err)
	_, _, err = sourcesFor(kernels, []device.Info{sim.A100()})
	require.EqualError(t, err, "no GPU here can run AllReduce_Sum_f8e4m3_RING_LL (sm_90)")
}
