package gen

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/archive"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// needsCompiling skips tests that start compilers where those are missing or
// time is short.
func needsCompiling(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: compiles kernels, which -short has no time for")
	}
	testenv.Clang(t)
}

func mustGenerate(t *testing.T, o Options) *Summary {
	t.Helper()
	needsCompiling(t)
	if o.Compiler == "" {
		o.Compiler = "clang"
	}
	o.Workers = 2
	s, err := Generate(t.Context(), o)
	require.NoError(t, err)
	return s
}

// Two modules in folders of different names, one written in two steps, end up
// with the same bytes, in which no path appears.
func TestGenerateIsDeterministic(t *testing.T) {
	first, second := newModule(t), filepath.Join(newModule(t), "deeper")
	copyFiles(t, filepath.Join(first, templateDir, "*"), filepath.Join(second, templateDir))
	copyFiles(t, filepath.Join(first, abiDir, "*"), filepath.Join(second, abiDir))

	s := mustGenerate(t, Options{Root: first})
	require.Equal(t, len(Units()), s.Kernels)
	require.Equal(t, len(Units()), s.Compiled)
	mustGenerate(t, Options{Root: second, Only: mustPattern(t, "* * f32")})
	s = mustGenerate(t, Options{Root: second})
	require.Equal(t, len(Units())-2, s.Compiled, "those of f32 were there")

	files := readDir(t, filepath.Join(first, outputDir))
	require.Equal(t, files, readDir(t, filepath.Join(second, outputDir)))
	require.Len(t, files, 7)
	stored, err := readStored(os.DirFS(first))
	require.NoError(t, err)
	for _, m := range stored {
		require.NotContains(t, string(m.ptx), first)
		require.NotContains(t, string(m.ptx), "/tmp")
		require.NotContains(t, string(m.ptx), ".file")
	}
	for _, text := range files {
		require.NotContains(t, text, first)
	}
}

// Only what changed is compiled, and only files that differ are written.
func TestGenerateIsIncremental(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})

	s := mustGenerate(t, Options{Root: root})
	require.Zero(t, s.Compiled)
	require.Empty(t, s.Changed)

	// A comment changes the hashes, not the kernels.
	edit(t, filepath.Join(root, templateDir, "dtype.cuh"), func(s string) string { return s + "// more\n" })
	s = mustGenerate(t, Options{Root: root})
	require.Equal(t, s.Kernels, s.Compiled)
	require.Equal(t, []string{manifestFile}, s.Changed)

	// A header that nothing includes changes nothing.
	require.NoError(t, os.WriteFile(filepath.Join(root, templateDir, "unused.cuh"), []byte("int x;\n"), 0o644))
	s = mustGenerate(t, Options{Root: root})
	require.Zero(t, s.Compiled)

	// So does a flag.
	edit(t, filepath.Join(root, outputDir, manifestFile), func(s string) string { return strings.Replace(s, `"-O3"`, `"-O1"`, 1) })
	s = mustGenerate(t, Options{Root: root})
	require.Equal(t, s.Kernels, s.Compiled)
}

func TestGenerateOnly(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	before := readDir(t, filepath.Join(root, outputDir))
	edit(t, filepath.Join(root, templateDir, "all_reduce.cuh"), func(s string) string { return strings.Replace(s, "T(1)", "T(2)", 1) })

	var commands []string
	var mu sync.Mutex
	s := mustGenerate(t, Options{Root: root, Only: mustPattern(t, "AllReduce Sum f32 * LL"), Verbose: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, line)
	}})
	require.Equal(t, 1, s.Compiled)
	require.Equal(t, len(Units()), s.Kernels)
	require.Len(t, commands, 1)
	require.Contains(t, commands[0], "--cuda-gpu-arch=sm_70 --cuda-feature=+ptx78")
	require.Equal(t, []string{archiveFile, manifestFile}, s.Changed)

	a, err := archive.Open([]byte(readDir(t, filepath.Join(root, outputDir))[archiveFile]))
	require.NoError(t, err)
	b, err := archive.Open([]byte(before[archiveFile]))
	require.NoError(t, err)
	for i := range a.Len() {
		now, err := a.Module(i)
		require.NoError(t, err)
		then, err := b.Module(i)
		require.NoError(t, err)
		require.Equal(t, a.Name(i) != "AllReduce_Sum_f32_RING_LL.sm_70", string(now) == string(then), a.Name(i))
	}
	// Asked for by name, a kernel is compiled whether it changed or not.
	require.Equal(t, 1, mustGenerate(t, Options{Root: root, Only: mustPattern(t, "AllReduce Sum f32 * LL")}).Compiled)
}

// A full run removes what gen wrote earlier, or left half written, and nothing
// else.
func TestGenerateRemovesStale(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	stale, foreign := filepath.Join(root, outputDir, "zold.go"), filepath.Join(root, outputDir, "notes.txt")
	require.NoError(t, os.WriteFile(stale, []byte(header+"\n\npackage generated\n"), 0o644))
	require.NoError(t, os.WriteFile(foreign, []byte("mine\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, outputDir, ".nccl-gen-17"), []byte("NCCLG"), 0o600))

	mustGenerate(t, Options{Root: root, Only: mustPattern(t, "AllReduce Sum f32 Ring LL")})
	require.FileExists(t, stale, "a partial run leaves it")
	require.Equal(t, []string{".nccl-gen-17", "zold.go"}, mustGenerate(t, Options{Root: root}).Changed)
	require.NoFileExists(t, stale)
	require.FileExists(t, foreign)
}

// A header's mistake is reported once, with its place, and nothing is written.
func TestGenerateReportsMistakes(t *testing.T) {
	needsCompiling(t)
	root := newModule(t)
	edit(t, filepath.Join(root, templateDir, "all_reduce.cuh"), func(s string) string { return strings.Replace(s, "T(1)", "oops", 1) })
	_, err := Generate(t.Context(), Options{Root: root, Compiler: "clang", Workers: 2})
	var list ErrorList
	require.ErrorAs(t, err, &list)
	require.Len(t, list, 1)
	require.Equal(t, "templates/cuda/all_reduce.cuh", list[0].File)
	require.NotZero(t, list[0].Line)
	require.Equal(t, "AllReduce_Sum_u32_RING_LL and 5 more", list[0].Key)
	require.ErrorContains(t, err, "oops")
	require.NoDirExists(t, filepath.Join(root, outputDir))
}

// What verification finds stops the run before anything is written.
func TestGenerateVerifies(t *testing.T) {
	needsCompiling(t)
	root := newModule(t)
	edit(t, filepath.Join(root, templateDir, "all_reduce.cuh"), func(s string) string {
		return strings.Replace(s, "launch_bounds(threads)", "launch_bounds(64)", 1)
	})
	_, err := Generate(t.Context(), Options{Root: root, Compiler: "clang", Workers: 2})
	var list ErrorList
	require.ErrorAs(t, err, &list)
	require.Len(t, list, len(Units()), "every kernel is reported")
	require.ErrorContains(t, err, ".maxntid is [64 1 1]")
	require.NoDirExists(t, filepath.Join(root, outputDir))
}

// A damaged archive is made anew by a full run and refused by a partial one,
// which needs the kernels in it.
func TestGenerateWithDamagedArchive(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	want := readDir(t, filepath.Join(root, outputDir))
	edit(t, filepath.Join(root, outputDir, archiveFile), func(s string) string { return s[:len(s)/2] })
	damaged := readDir(t, filepath.Join(root, outputDir))

	_, err := Generate(t.Context(), Options{Root: root, Compiler: "clang", Only: mustPattern(t, "* * f32")})
	var usage *UsageError
	require.ErrorAs(t, err, &usage)
	var format *archive.FormatError
	require.ErrorAs(t, err, &format)
	require.Equal(t, damaged, readDir(t, filepath.Join(root, outputDir)))

	mustGenerate(t, Options{Root: root})
	require.Equal(t, want, readDir(t, filepath.Join(root, outputDir)))
}

// An archive without its manifest is no empty folder: a partial run would lose
// the kernels that it should leave as they are.
func TestGenerateWithoutManifest(t *testing.T) {
	root := newModule(t)
	mustGenerate(t, Options{Root: root})
	want := readDir(t, filepath.Join(root, outputDir))
	require.NoError(t, os.Remove(filepath.Join(root, outputDir, manifestFile)))

	_, err := Generate(t.Context(), Options{Root: root, Compiler: "clang", Only: mustPattern(t, "* * f32")})
	var usage *UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Check(t.Context(), Options{Root: root})
	require.ErrorAs(t, err, &usage)

	mustGenerate(t, Options{Root: root})
	require.Equal(t, want, readDir(t, filepath.Join(root, outputDir)))
}

// A run that is interrupted while it compiles writes nothing.
func TestGenerateInterrupted(t *testing.T) {
	needsCompiling(t)
	root := newModule(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Generate(ctx, Options{Root: root, Compiler: "clang", Workers: 1, Verbose: func(string) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "interrupted, nothing was written")
	require.NoDirExists(t, filepath.Join(root, outputDir))
}

func TestGenerateRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		message string
	}{
		{"not built", Options{Only: mustPattern(t, "AllReduce Sum f32 Tree")}, "none of the 3 valid variants that the pattern names has sources"},
		{"invalid", Options{Only: mustPattern(t, "AllReduce Prod f32 NVLS Simple")}, "invalid variant: NVLS reduces in the switch"},
		{"all invalid", Options{Only: mustPattern(t, "Broadcast Tree *")}, "all 3 variants that the pattern names are invalid"},
		{"nothing", Options{Only: mustPattern(t, "SendRecv Ring")}, "the pattern names no variant"},
		{"target", Options{Only: mustPattern(t, "* * f16"), Targets: Targets[1:]}, "none of the variants that the pattern names has a source of its own for sm_90;"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Generate(t.Context(), test.options)
			var usage *UsageError
			require.ErrorAs(t, err, &usage)
			require.ErrorContains(t, err, test.message)
		})
	}
}

// What generated/ has is shown without a compiler, and said to be stale if the
// sources have changed.
func TestShowArchived(t *testing.T) {
	o := Options{Root: newModule(t), Compiler: "clang"}
	v := mustVariant(t, "AllReduce_Sum_i32_RING_LL")
	shown, err := ShowArchived(o, v)
	require.NoError(t, err)
	require.Nil(t, shown, "nothing is archived")

	mustGenerate(t, o)
	t.Setenv("PATH", "")
	shown, err = ShowArchived(o, v)
	require.NoError(t, err)
	stored, err := readStored(os.DirFS(o.Root))
	require.NoError(t, err)
	require.Equal(t, stored["AllReduce_Sum_u32_RING_LL.sm_70"].ptx, shown.PTX)
	require.Equal(t, []bool{true, false}, []bool{shown.Archived, shown.Stale})

	edit(t, filepath.Join(o.Root, templateDir, "dtype.cuh"), func(s string) string { return s + "// more\n" })
	shown, err = ShowArchived(o, v)
	require.NoError(t, err)
	require.True(t, shown.Stale)

	require.NoError(t, os.WriteFile(filepath.Join(o.Root, outputDir, archiveFile), []byte("none"), 0o644))
	_, err = ShowArchived(o, v)
	var usage *UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "; -compiler clang shows what the sources give")
}

func TestShow(t *testing.T) {
	needsCompiling(t)
	o := Options{Root: newModule(t), Compiler: "clang"}
	shown, err := Show(t.Context(), o, mustVariant(t, "AllReduce_Sum_i32_RING_LL"))
	require.NoError(t, err)
	require.Equal(t, "AllReduce_Sum_u32_RING_LL.sm_70", shown.Unit.Name())
	require.Contains(t, string(shown.PTX), ".target sm_70")
	require.Equal(t, []string{"generated/abi.h", "templates/cuda/all_reduce.cuh", "templates/cuda/device.cuh", "templates/cuda/dtype.cuh"}, shown.Files)

	o.Targets = Targets[1:]
	shown, err = Show(t.Context(), o, mustVariant(t, "AllReduce_Sum_i32_RING_LL"))
	require.NoError(t, err)
	require.Contains(t, string(shown.PTX), ".target sm_90")

	shown, err = Show(t.Context(), o, mustVariant(t, "SendRecv"))
	require.NoError(t, err)
	require.Nil(t, shown)
	require.NoDirExists(t, filepath.Join(o.Root, outputDir))
}

// Not every clang is the one kernels are made with.
func TestCompilerRefused(t *testing.T) {
	fake := func(name, answer string) string {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '" + answer + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
		return dir
	}
	for _, test := range []struct{ name, compiler, path, message string }{
		{"missing", "clang", t.TempDir(), "clang-19: executable file not found in $PATH; install it"},
		{"other major", "clang", fake("clang", "Debian clang version 18.1.8 (1)"), "clang is clang 18; kernels are compiled with clang 19 only"},
		{"no clang", "clang", fake("clang-19", "hello"), `names no clang version: "hello"`},
		{"no nvcc", "nvcc", t.TempDir(), "nvcc: executable file not found in $PATH; it is part of NVIDIA's CUDA toolkit"},
		{"unknown", "gcc", "", `unknown compiler "gcc"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PATH", test.path)
			_, err := NewCompiler(t.Context(), test.compiler, nil)
			require.ErrorContains(t, err, test.message)
		})
	}
	t.Run("plain name", func(t *testing.T) {
		t.Setenv("PATH", fake("clang", "Ubuntu clang version 19.1.1 (1ubuntu1)"))
		c, err := NewCompiler(t.Context(), "clang", nil)
		require.NoError(t, err)
		require.Equal(t, "19.1.1", c.Version())
	})
}

// A toolkit that has dropped a target says so.
func TestNVCCWithoutTarget(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; fi\n" +
		"echo \"nvcc fatal   : Unsupported gpu architecture 'compute_70'\" >&2; exit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvcc"), []byte(script), 0o755))
	t.Setenv("PATH", dir)
	c, err := NewCompiler(t.Context(), "nvcc", nil)
	require.NoError(t, err)
	require.Equal(t, "13.0.88", c.Version())
	_, err = c.Compile(t.Context(), dir, nil, Targets[0])
	require.ErrorContains(t, err, "nvcc 13.0.88 makes no kernels for sm_70: use an older CUDA toolkit")
}

// The second compiler makes the same kernels of the same headers, as far as
// verification can tell.
func TestNVCC(t *testing.T) {
	testenv.NVCC(t)
	root := newModule(t)
	s := mustGenerate(t, Options{Root: root, Compiler: "nvcc", Only: mustPattern(t, "AllReduce Sum f32 Ring LL")})
	require.Equal(t, 1, s.Compiled)
}
