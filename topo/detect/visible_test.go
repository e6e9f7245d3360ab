package detect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
)

const twoOfNVML = "nvml 0000:01:00.0 sm=90 uuid=GPU-aa11\nnvml 0000:02:00.0 sm=90 uuid=GPU-aa22\n"

// Where CUDA cannot be asked, the variable chooses as it does there, and what it does
// is said.
func TestVisible(t *testing.T) {
	tests := map[string]struct {
		list, said string
		buses      []string // none: an error, which says what is said
	}{
		"number":          {"1", `CUDA_VISIBLE_DEVICES "1" leaves 1 of 2`, []string{"0000:02:00.0"}},
		"order, spaces":   {"1, 0", `leaves 2 of 2`, []string{"0000:02:00.0", "0000:01:00.0"}},
		"UUID":            {"GPU-aa2", `leaves 1 of 2`, []string{"0000:02:00.0"}},
		"old partition":   {"MIG-GPU-aa11/1/0", `leaves 1 of 2`, []string{"0000:01:00.0"}},
		"until nothing":   {"0,7,1", `leaves 1 of 2; "7" names no GPU`, []string{"0000:01:00.0"}},
		"nothing":         {"", `no GPU: nobody asked CUDA, and CUDA_VISIBLE_DEVICES="" leaves 0 of 2 of NVML's`, nil},
		"-1":              {"-1", `CUDA_VISIBLE_DEVICES="-1" leaves 0 of 2`, nil},
		"nonsense":        {"all\x1b[2J", `CUDA_VISIBLE_DEVICES="all\x1b[2J" leaves 0 of 2`, nil},
		"large number":    {"99999999999999999999", `leaves 0 of 2`, nil},
		"several of UUID": {"GPU-aa", `leaves 0 of 2`, nil},
		"twice":           {"0,0", `CUDA_VISIBLE_DEVICES: "0" names a GPU again`, nil},
		"partition":       {"MIG-1234", `"MIG-1234" is a partition (MIG)`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := parseLayout(t, twoOfNVML)
			m, err := Detect(l.src, Config{Visible: &tt.list})
			if tt.buses == nil {
				var typed *result.Error
				require.ErrorAs(t, err, &typed)
				require.ErrorContains(t, err, tt.said)
				return
			}
			require.NoError(t, err)
			system, err := m.System()
			require.NoError(t, err)
			var buses []string
			for rank := range system.NRanks() {
				buses = append(buses, system.RankGPU(rank).GPU.BusID.String())
			}
			require.Equal(t, tt.buses, buses)
			said := false
			for _, f := range m.Facts {
				text := f.Name + " " + f.Value
				if f.Why != "" {
					text += "; " + f.Why
				}
				said = said || f.From == fromEnvironment && strings.Contains(text, tt.said)
			}
			require.True(t, said, "%+v", m.Facts)
		})
	}
}

// doubled is NVML that has its second GPU where the first is.
type doubled struct{ nvml.API }

func (d doubled) Device(i int) (nvml.Device, error) {
	device, err := d.API.Device(i)
	device.BusID = "00000000:01:00.0"
	return device, err
}

func TestTwoOfNVMLAtOneAddress(t *testing.T) {
	l := parseLayout(t, twoOfNVML)
	l.src.NVML = doubled{l.nvml.Replay()}
	m, err := Detect(l.src, Config{})
	require.NoError(t, err)
	require.Len(t, m.gpus(), 1)
	require.Contains(t, documents(t, m), "NVML: GPU 0000:01:00.0: NVML's number 0; GPU 1 is said to be there too, and does not count")
}
