package ptx

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// compile returns the PTX that clang makes of a CUDA file.
func compile(t testing.TB, file, arch, ptx string, flags ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + arch, "--cuda-feature=+" + ptx,
		"-nocudainc", "-nocudalib", "-nostdinc++", "-std=c++17", "-ffp-contract=off", "-S", "-o", "-"}, flags...)
	cmd := exec.Command(testenv.Clang(t), append(args, file)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	return stdout.Bytes()
}

// TestClang parses what clang emits for the files of testdata/cuda, optimised
// and not, with debugging data and without.
func TestClang(t *testing.T) {
	files, err := filepath.Glob("testdata/cuda/*.cu")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		for _, target := range [][2]string{{"sm_70", "ptx78"}, {"sm_90", "ptx81"}} {
			for _, flags := range [][]string{{"-O3"}, {"-O1", "-gline-tables-only"}} {
				name := strings.TrimSuffix(filepath.Base(file), ".cu")
				t.Run(fmt.Sprint(name, target, flags), func(t *testing.T) {
					t.Parallel()
					text := compile(t, file, target[0], target[1], flags...)
					m, err := Parse(name+".ptx", text)
					require.NoError(t, err)
					require.Len(t, m.Entries, 1)
					e := m.Entries[0]
					require.Equal(t, name, e.Name)
					require.Greater(t, len(e.Code), 50)
					requireFixpoint(t, m)
					if name == "memory" {
						require.Equal(t, [3]int{512, 1, 1}, e.MaxNTID)
						require.Equal(t, 400, e.LocalSize)
						require.Equal(t, 256, e.SharedSize)
						require.Equal(t, 3124, e.ParamBytes)
					}
				})
			}
		}
	}
}
