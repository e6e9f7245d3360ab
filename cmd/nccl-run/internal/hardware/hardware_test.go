package hardware

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
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

func TestTopology(t *testing.T) {
	tests := map[string]struct {
		nvml func(t *testing.T) func() (nvml.API, error)
		path topo.PathType
		note string
	}{
		"switch": {
			func(t *testing.T) func() (nvml.API, error) { return snapshot(t, pair(hidden, hidden, "OK")) },
			topo.PathNVL, "assumed: NVLinks that lead to no GPU lead to one NVSwitch",
		},
		"direct": {
			func(t *testing.T) func() (nvml.API, error) {
				return snapshot(t, pair("00000000:00:07.0", "00000000:00:06.0", "OK"))
			}, topo.PathNVL, "",
		},
		"links elsewhere": {
			func(t *testing.T) func() (nvml.API, error) { return snapshot(t, pair(hidden, hidden, "NOT_SUPPORTED")) },
			topo.PathPHB, "left out: the 2 NVLinks of GPU 1, which lead to no GPU of this process",
		},
		"no NVML": {
			func(*testing.T) func() (nvml.API, error) { return noNVML }, topo.PathPHB, "assumed: no NVLinks, since NVML tells nothing (no NVML)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// CUDA's order is not that of the addresses.
			inv, err := Take(cards{h200("0000:00:07.0"), h200("0000:00:06.0")}, tt.nvml(t), t.TempDir())
			require.NoError(t, err)
			system, err := inv.Topology()
			require.NoError(t, err)
			require.Equal(t, 2, system.NRanks())
			require.Equal(t, tt.path, system.Path(0, 1).Type, system.String())
			require.Equal(t, "0000:00:07.0", system.RankGPU(0).GPU.BusID.String())
			var notes []string
			for _, n := range system.Notes {
				notes = append(notes, n.Text)
			}
			require.Contains(t, strings.Join(notes, "\n"), tt.note)
			require.Contains(t, notes[len(notes)-1], "assumed: no PCIe switches")
			_, err = topo.SearchRing(system)
			require.NoError(t, err)
		})
	}
}

func TestTake(t *testing.T) {
	sysfs := t.TempDir()
	for bus, node := range map[string]string{"0000:00:06.0": "1\n", "0000:00:07.0": "-1\n"} {
		dir := filepath.Join(sysfs, "bus/pci/devices", bus)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "numa_node"), []byte(node), 0o644))
	}
	inv, err := Take(cards{h200("0000:00:07.0"), h200("0000:00:06.0")}, snapshot(t, pair(hidden, hidden, "OK")), sysfs)
	require.NoError(t, err)
	require.NoError(t, inv.NoNVML)
	require.Equal(t, []int{-1, 1}, []int{inv.GPUs[0].NUMANode, inv.GPUs[1].NUMANode})
	require.Equal(t, 1, inv.GPUs[0].Device.Index, "matched by address")
	require.Len(t, inv.GPUs[0].Links, 2)
	require.Equal(t, []bool{false, true}, inv.GPUs[0].Peer)
	require.Equal(t, []bool{true, false}, inv.GPUs[1].NVLinkPeer)
	require.Equal(t, 2, inv.Usable(90))
	require.Equal(t, 0, inv.Usable(91))
	driver, _ := inv.NVML.Driver.Get()
	require.Equal(t, "580.1", driver)

	inv, err = Take(cards{h200("0000:00:07.0")}, func() (nvml.API, error) { return nil, errors.New("busy") }, sysfs)
	require.NoError(t, err)
	require.EqualError(t, inv.NoNVML, "busy")
	system, err := inv.Topology()
	require.NoError(t, err)
	require.Equal(t, 1, system.NRanks())

	_, err = (&Inventory{GPUs: []GPU{{Info: h200("nowhere")}}}).Topology()
	require.ErrorContains(t, err, "GPU 0")
}
