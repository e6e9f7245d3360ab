package gen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// What is committed is what the sources give: hashes and tables, which needs no
// compiler.
func TestGeneratedIsCurrent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	result, err := Check(t.Context(), Options{Root: testenv.Root()})
	require.NoError(t, err)
	require.Equal(t, len(Units()), result.Kernels)
	require.False(t, result.Compared)
}

// ... and the bytes of kernels of each protocol and operator and of each way to
// compute. (nccl-gen -check, of make check, compares all.)
func TestGeneratedIsReproducible(t *testing.T) {
	needsCompiling(t)
	result, err := Check(t.Context(), Options{Root: testenv.Root(), Workers: 2,
		Only: mustPattern(t, "AllReduce * u64 * LL | AllReduce Sum bf16|f8e4m3 * LL128 | AllReduce MinMax f16 * Simple")})
	require.NoError(t, err)
	require.Equal(t, 9, result.Kernels)
}

// rewrite changes the stored kernels and writes generated/ as if they had been
// made so.
func rewrite(t *testing.T, root string, change func(*made)) {
	t.Helper()
	stored, err := readStored(os.DirFS(root))
	require.NoError(t, err)
	for _, m := range stored {
		change(m)
	}
	p, err := keep(stored, nil)
	require.NoError(t, err)
	p.sort()
	src, err := readSources(os.DirFS(root))
	require.NoError(t, err)
	files, err := p.emit(src)
	require.NoError(t, err)
	_, err = writeFiles(root, files, true)
	require.NoError(t, err)
}

func TestCheck(t *testing.T) {
	current := newModule(t)
	mustGenerate(t, Options{Root: current})
	for _, test := range []struct {
		name   string
		change func(t *testing.T, root string)
		stale  string // "" if it passes
	}{
		{"right", func(*testing.T, string) {}, ""},
		{"header", func(t *testing.T, root string) {
			edit(t, filepath.Join(root, templateDir, "dtype.cuh"), func(s string) string { return s + "\n" })
		}, "AllReduce_Sum_f32_RING_LL.sm_70 was made before its sources changed"},
		{"struct", func(t *testing.T, root string) {
			edit(t, filepath.Join(root, abiDir, "abi.go"), func(s string) string { return s + "\n// Twin is new.\ntype Twin struct{ A uint32 }\n" })
		}, "was made before its sources changed"},
		{"flags", func(t *testing.T, root string) {
			edit(t, filepath.Join(root, outputDir, manifestFile), func(s string) string { return strings.Replace(s, `"-O3"`, `"-O1"`, 1) })
		}, "was made before the compiler's flags changed"},
		{"table", func(t *testing.T, root string) {
			edit(t, filepath.Join(root, outputDir, "zdispatch.go"), func(s string) string { return strings.Replace(s, "-1", "-2", 1) })
		}, "generated/zdispatch.go is not what nccl-gen writes"},
		{"missing file", func(t *testing.T, root string) {
			require.NoError(t, os.Remove(filepath.Join(root, outputDir, "abi.h")))
		}, "generated/abi.h is not what nccl-gen writes"},
		{"stale file", func(t *testing.T, root string) {
			require.NoError(t, os.WriteFile(filepath.Join(root, outputDir, "zold.go"), []byte(header+"\npackage generated\n"), 0o644))
		}, "generated/zold.go is not what nccl-gen writes"},
		{"new kernel", func(*testing.T, string) {
			families[0].Ops = append(families[0].Ops, coll.Prod)
		}, "AllReduce_Prod_f32_RING_LL.sm_70 has sources but no kernel"},
		{"orphan", func(*testing.T, string) {
			families[0].Protos = []coll.Proto{coll.LL}
		}, "AllReduce_Sum_f32_RING_SIMPLE.sm_70 has no sources any more"},
		{"bytes", func(t *testing.T, root string) {
			// A kernel that verification passes, but that is not what clang makes.
			rewrite(t, root, func(m *made) { m.ptx = append(m.ptx, "// more\n"...) })
		}, "has other bytes than clang 19."},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := newModule(t)
			copyFiles(t, filepath.Join(current, outputDir, "*"), filepath.Join(root, outputDir))
			test.change(t, root)
			before := readDir(t, filepath.Join(root, outputDir))
			result, err := Check(t.Context(), Options{Root: root, Workers: 2})
			require.Equal(t, before, readDir(t, filepath.Join(root, outputDir)), "a check writes nothing")
			if test.stale == "" {
				require.NoError(t, err)
				require.True(t, result.Compared)
				require.Contains(t, result.String(), "checked 6 kernels: source hashes, tables, and bytes with clang 19.")
				return
			}
			var stale *StaleError
			require.ErrorAs(t, err, &stale)
			require.ErrorContains(t, err, test.stale)
			require.ErrorContains(t, err, "to bring it up to date: go generate ./gen")
		})
	}
}

// Without the manifest's compiler the bytes are not compared, and it says so.
func TestCheckWithoutCompiler(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	t.Run("missing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		result, err := Check(t.Context(), Options{Root: root})
		require.NoError(t, err)
		require.False(t, result.Compared)
		require.Regexp(t, `source hashes and tables; not bytes, which clang 19\..* made: clang-19: executable file not found`, result.String())
	})
	t.Run("other version", func(t *testing.T) {
		rewrite(t, root, func(m *made) { m.build.Version = "19.0.0" })
		result, err := Check(t.Context(), Options{Root: root})
		require.NoError(t, err)
		require.False(t, result.Compared)
		require.Contains(t, result.String(), "which clang 19.0.0 made: here is clang 19.")
	})
}

func TestCheckDamaged(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	edit(t, filepath.Join(root, outputDir, archiveFile), func(s string) string { return s[:100] })
	_, err := Check(t.Context(), Options{Root: root})
	var usage *UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "generated/kernels.archive: kernel archive: has 100 bytes, its header says")
}
