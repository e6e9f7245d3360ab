package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraphNotes: what is odd in a file is said on standard error, once for each
// kind, with its first place, and does not disturb the output.
func TestGraphNotes(t *testing.T) {
	for _, c := range []struct {
		gpus, kinds, lines int
		first, last        string
	}{
		{1, 1, 1, ``, ``},
		{30, 1, 1, ` (30 times)`, ` (30 times)`},
		{30, 30, maxNotes + 1, ``, `: and 10 more`},
	} {
		var file strings.Builder
		file.WriteString("<system version=\"1\">\n<cpu numaid=\"0\" arch=\"arm64\">\n")
		for i := range c.gpus {
			fmt.Fprintf(&file, `<pci busid="0000:%02x:00.0" class="0x030200" link_speed="fast%d" link_width="16"><gpu dev="%d" sm="90" rank="%d" gdr="1"/></pci>`+"\n", i, i%c.kinds, i, i)
		}
		file.WriteString("</cpu>\n</system>\n")
		path := filepath.Join(t.TempDir(), "odd.xml")
		require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o644))

		status, stdout, stderr := command("graph", "--topo", path, "--gpus", "1", "--format", "xml")
		require.Equal(t, StatusRight, status, stderr)
		require.True(t, strings.HasPrefix(stdout, "<graphs "), stdout)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		require.Len(t, lines, c.lines)
		require.Equal(t, `nccl-run: `+path+`:3:1: unknown link_speed "fast0": 6 Gbit/s a lane assumed`+c.first, lines[0])
		require.True(t, strings.HasSuffix(lines[c.lines-1], c.last), lines)
	}
}
