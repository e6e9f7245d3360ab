package nccl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

// here returns a Config for two GPUs of this machine, of which the files given and
// NVML tell: two NVLinks that lead to a hidden switch.
func here(t *testing.T, files fstest.MapFS) Config {
	t.Helper()
	_, cfg := machine(t, 2, func(c *sim.Config) {
		for i := range c.Devices {
			c.Devices[i].BusID = fmt.Sprintf("0000:0%d:00.0", i+1)
		}
	})
	const links = `"nvlinks":[{"link":0,"state":1,"remotePci":"ffffffff:ff:ff.0"},{"link":1,"state":1,"remotePci":"ffffffff:ff:ff.0"}]`
	s, err := nvml.ReadSnapshot(strings.NewReader(`{"devices":[
		{"index":0,"busId":"00000000:01:00.0","computeCapability":[9,0],` + links + `},
		{"index":1,"busId":"00000000:02:00.0","computeCapability":[9,0],` + links + `}]}`))
	require.NoError(t, err)
	cfg.System, cfg.Files = nil, files
	cfg.openNVML = func() (nvml.API, error) { return s.Replay(), nil }
	return cfg
}

// Without a System it is this machine that counts.
func TestDetection(t *testing.T) {
	comms := mustInit(t, here(t, fstest.MapFS{}))
	system := comms[0].shared.system
	require.Equal(t, "detected", system.Name)
	require.Equal(t, topo.PathNVL, system.Path(0, 1).Type)
	var notes []string
	for _, n := range system.Notes {
		notes = append(notes, n.Text)
	}
	require.Contains(t, strings.Join(notes, "\n"), "assumed: GPU 0000:01:00.0, 0000:02:00.0: NVLinks lead to one NVSwitch")
}

func TestDetectionWithoutNVML(t *testing.T) {
	cfg := here(t, fstest.MapFS{})
	cfg.openNVML = func() (nvml.API, error) { return nil, nvml.ErrNoNVML }
	comms := mustInit(t, cfg)
	require.Equal(t, topo.PathPHB, comms[0].shared.system.Path(0, 1).Type)
}

// NCCL_TOPO_FILE wins over what is found, and NCCL_TOPO_DUMP_FILE gets what came out.
func TestTopologyVariables(t *testing.T) {
	const file = `<system version="1"><cpu numaid="3" arch="arm64"><pci busid="0000:01:00.0" class="0x03" link_speed="" link_width="0"/></cpu></system>`
	dump := filepath.Join(t.TempDir(), "dump.xml")
	cfg := here(t, fstest.MapFS{"topologies/mine.xml": {Data: []byte(file), Mode: 0o444}})
	cfg.Getenv = variables("NCCL_TOPO_FILE", "/topologies/mine.xml", "NCCL_TOPO_DUMP_FILE", dump)
	comms := mustInit(t, cfg)
	require.Equal(t, "/topologies/mine.xml", comms[0].shared.system.Name)
	text, err := os.ReadFile(dump)
	require.NoError(t, err)
	doc, err := topo.Parse(dump, text)
	require.NoError(t, err)
	require.Empty(t, doc.Notes)
	require.Contains(t, string(text), `<cpu numaid="3" arch="arm64">`)
	require.Contains(t, string(text), `<gpu dev="1" sm="90" rank="1"`)

	for name, want := range map[string]string{
		"/":                  "/: it is no regular file",
		"/topologies":        "no regular file",
		"/topologies/no.xml": "/topologies/no.xml: file does not exist",
		"/bad.xml":           "/bad.xml:1:2: not XML",
		"/large.xml":         "/large.xml is no topology file: it has more than 4 MiB",
	} {
		cfg := here(t, fstest.MapFS{
			"topologies/mine.xml": {}, "bad.xml": {Data: []byte("<"), Mode: 0o444}, "large.xml": {Data: make([]byte, 5<<20), Mode: 0o444},
		})
		cfg.Getenv = variables("NCCL_TOPO_FILE", name)
		_, err := InitAll(t.Context(), cfg)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "NCCL_TOPO_FILE")
		require.ErrorIs(t, err, ErrInvalidArgument)
	}

	cfg = here(t, fstest.MapFS{})
	cfg.Getenv = variables("NCCL_TOPO_DUMP_FILE", filepath.Join(dump, "no"))
	_, err = InitAll(t.Context(), cfg)
	require.ErrorContains(t, err, "NCCL_TOPO_DUMP_FILE")
	require.ErrorIs(t, err, ErrSystem)
}

func TestReadTopologySettings(t *testing.T) {
	s, err := ReadTopologySettings(variables("NCCL_TOPO_FILE", " a.xml ", "NCCL_SOCKET_IFNAME", "^lo", "NCCL_IB_HCA", "mlx5", "NCCL_IB_DISABLE", "1"))
	require.NoError(t, err)
	require.Equal(t, "a.xml", s.File)
	require.Equal(t, "^lo", s.Nets.Sockets)
	require.Equal(t, "mlx5", s.Nets.Verbs)
	require.True(t, s.Nets.NoVerbs)
	_, err = ReadTopologySettings(variables("NCCL_IB_DISABLE", "2"))
	require.ErrorContains(t, err, "NCCL_IB_DISABLE=2: allowed are 0 to 1")
}
