package hardware

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// cards is a CUDA driver with the GPUs given; all can access each other.
type cards []device.Info

func (c cards) Infos() []device.Info                 { return c }
func (c cards) CanAccessPeer(_, _ int) (bool, error) { return true, nil }

func h200(bus string) device.Info {
	return device.Info{Name: "NVIDIA H200", SM: 90, NumSMs: 132, BusID: bus}
}

// snapshot is NVML as a document says it is.
func snapshot(t *testing.T, text string) func() (nvml.API, error) {
	t.Helper()
	s, err := nvml.ReadSnapshot(strings.NewReader(text))
	require.NoError(t, err)
	return func() (nvml.API, error) { return s.Replay(), nil }
}

func noNVML() (nvml.API, error) { return nil, nvml.ErrNoNVML }

// gpu is a device of a snapshot with two links to remote.
func gpu(index, bus, peer, remote, nvlink string) string {
	link := `{"link":N,"state":1,"remotePci":"` + remote + `"}`
	return `{"index":` + index + `,"busId":"` + bus + `","computeCapability":[9,0],"nvlinks":[` +
		strings.Replace(link, "N", "0", 1) + `,` + strings.Replace(link, "N", "1", 1) +
		`],"p2p":{"` + peer + `":{"read":"OK","write":"OK","nvlink":"` + nvlink + `"}}}`
}

func pair(remote0, remote1, nvlink string) string {
	return `{"version":1,"driver":"580.1","devices":[` + gpu("0", "00000000:00:06.0", "1", remote0, nvlink) + `,` +
		gpu("1", "00000000:00:07.0", "0", remote1, nvlink) + `]}`
}

const hidden = "ffffffff:ff:ff.0"

// The machine that detection sees is that of CUDA and NVML.
func TestSource(t *testing.T) {
	tests := map[string]struct {
		nvml func(t *testing.T) func() (nvml.API, error)
		path topo.PathType
	}{
		"switch": {
			func(t *testing.T) func() (nvml.API, error) { return snapshot(t, pair(hidden, hidden, "OK")) }, topo.PathNVL,
		},
		"direct": {
			func(t *testing.T) func() (nvml.API, error) {
				return snapshot(t, pair("00000000:00:07.0", "00000000:00:06.0", "OK"))
			}, topo.PathNVL,
		},
		"no peer access": {
			func(t *testing.T) func() (nvml.API, error) { return snapshot(t, pair(hidden, hidden, "NOT_SUPPORTED")) }, topo.PathPHB,
		},
		"no NVML": {
			func(*testing.T) func() (nvml.API, error) { return noNVML }, topo.PathPHB,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// CUDA's order is not that of the addresses.
			inv, err := Take(cards{h200("0000:00:07.0"), h200("0000:00:06.0")}, tt.nvml(t), fstest.MapFS{})
			require.NoError(t, err)
			machine, err := detect.Detect(inv.Source(), detect.Config{})
			require.NoError(t, err)
			system, err := machine.System()
			require.NoError(t, err)
			require.Equal(t, 2, system.NRanks())
			require.Equal(t, tt.path, system.Path(0, 1).Type, system.String())
			require.Equal(t, "0000:00:07.0", system.RankGPU(0).GPU.BusID.String())
			require.Equal(t, -1, machine.NUMANode(0))
		})
	}
}

func TestTake(t *testing.T) {
	inv, err := Take(cards{h200("0000:00:07.0"), h200("0000:00:06.0")}, snapshot(t, pair(hidden, hidden, "OK")), fstest.MapFS{})
	require.NoError(t, err)
	require.NoError(t, inv.NoNVML)
	require.Equal(t, 1, inv.GPUs[0].Device.Index, "matched by address")
	require.True(t, inv.GPUs[0].Managed)
	require.Equal(t, 2, inv.GPUs[0].Links)
	require.Equal(t, []bool{false, true}, inv.GPUs[0].Peer)
	require.Equal(t, []bool{true, false}, inv.GPUs[1].NVLinkPeer)
	driver, _ := inv.NVML.Driver.Get()
	require.Equal(t, "580.1", driver)

	inv, err = Take(cards{h200("0000:00:07.0")}, func() (nvml.API, error) { return nil, errors.New("busy") }, fstest.MapFS{})
	require.NoError(t, err)
	require.EqualError(t, inv.NoNVML, "busy")
	require.EqualError(t, inv.Source().NoNVML, "busy")
	require.Len(t, inv.Source().GPUs, 1)
	require.Nil(t, Source(nil, inv.NoNVML, nil, nil).GPUs)
}
