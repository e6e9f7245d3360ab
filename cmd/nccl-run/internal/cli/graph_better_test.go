package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraphBetter: for people, channels are better than NCCL's where there are any, and
// that is said; NCCL's formats have NCCL's. One variable decides it for all.
func TestGraphBetter(t *testing.T) {
	const said = "nccl-run: node of rank 0: rings of 21.82 GB/s instead of 20, trees of 21.82 GB/s instead of 20; --set NCCLGO_BETTER_CHANNELS=0 keeps NCCL's\n"
	const keep, take = "--set NCCLGO_BETTER_CHANNELS=0", "--set NCCLGO_BETTER_CHANNELS=1"
	for _, c := range []struct {
		args   string
		says   bool
		stdout []string
	}{
		{"pcie8", true, []string{"instead of NCCL's, which carry 20 GB/s together"}},
		{"pcie8 --bound", true, []string{"\n  ring     21.82        22   99%\n", "\n  tree     21.82     27.43   80%\n"}},
		{"pcie8 --bound " + keep, false, []string{"\n  ring        20        22   91%\n", "\n  tree        20     27.43   73%\n"}},
		{"pcie8 --bound --gpus 1", false, []string{"\n  ring      1280  nothing limits a single GPU\n"}},
		{"h200x2 --bound --nodes 2", false, []string{"\n  ring       1.2      1.25   96%\n", "\n  tree       2.4       2.5   96%\n"}},
		{"pcie8 --format svg", true, []string{"<svg ", "pcie8, ring: 2 channels, 21.82 GB/s"}},
		{"pcie8 --format svg " + keep, false, []string{"pcie8, ring: 1 channel, 20 GB/s"}},
		{"pcie8 --format xml", false, []string{`speedintra="20"`}},
		{"pcie8 --format xml " + take, true, []string{`speedintra="10.9091"`}},
		{"dgx-h100 --bound", false, []string{"\n  ring       360     370.8   97%\n"}},
	} {
		status, stdout, stderr := command(append([]string{"graph", "--topo"}, strings.Fields(c.args)...)...)
		require.Equal(t, StatusRight, status, c.args)
		for _, want := range c.stdout {
			require.Contains(t, stdout, want, c.args)
		}
		if c.says {
			require.Equal(t, said, stderr, c.args)
		} else {
			require.Empty(t, stderr, c.args)
		}
	}
	for _, format := range []string{"xml", "json", "svg"} {
		status, _, stderr := command("graph", "--bound", "--format", format)
		require.Equal(t, StatusRefused, status)
		require.Contains(t, stderr, "--bound is for text; --format "+format+" has no place for it")
	}

	alone := filepath.Join(t.TempDir(), "alone.xml")
	require.NoError(t, os.WriteFile(alone, []byte(`<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"><pci busid="0:1:0.0" class="0x030200" link_speed="" link_width="16"><gpu dev="0" sm="90" rank="0"/></pci></cpu></system>`), 0o644))
	status, stdout, stderr := command("graph", "--topo", alone, "--nodes", "2", "--bound")
	require.Equal(t, StatusRight, status, stderr)
	require.Contains(t, stdout, "\n  ring       0.1         0  a guess: no link leads to all others\n")
}
