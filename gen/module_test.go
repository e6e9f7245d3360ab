package gen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// newModule lays out a module with the headers of testdata, the real template
// of units and the real structs, and returns its folder. Until the test ends
// only six kernels have sources, so that compiling them all is quick.
func newModule(t *testing.T) string {
	t.Helper()
	all := families
	t.Cleanup(func() { families = all })
	few := families[0]
	few.Protos = []coll.Proto{coll.LL, coll.Simple}
	few.Ops = []coll.RedOp{coll.Sum}
	few.Types = []coll.DataType{coll.Int32, coll.Float32, coll.Float64}
	families = []family{few}

	root := t.TempDir()
	copyFiles(t, filepath.Join("testdata", "headers", "*.cuh"), filepath.Join(root, templateDir))
	copyFiles(t, filepath.Join(testenv.Root(), templateDir, unitTemplate), filepath.Join(root, templateDir))
	copyFiles(t, filepath.Join(testenv.Root(), abiDir, "*.go"), filepath.Join(root, abiDir))
	return root
}

func copyFiles(t *testing.T, pattern, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644))
	}
}

func mustPattern(t *testing.T, s string) *Pattern {
	t.Helper()
	p, err := ParsePattern(s)
	require.NoError(t, err)
	return p
}

// readDir returns the files of a folder by name.
func readDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		files[entry.Name()] = string(text)
	}
	return files
}

// edit replaces a part of a file.
func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(change(string(text))), 0o644))
}
