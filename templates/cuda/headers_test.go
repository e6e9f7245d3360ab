package cuda

import (
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/gen"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/kernel"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

func headers(t *testing.T) []string {
	names, err := filepath.Glob("*.cuh")
	require.NoError(t, err)
	require.Greater(t, len(names), 10)
	return names
}

// Every header is complete: it compiles alone, for every target.
func TestHeadersCompileAlone(t *testing.T) {
	clang := testenv.Clang(t)
	abi, err := gen.RenderABI(os.DirFS(testenv.Root()))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "abi.h"), abi, 0o644))
	for _, name := range headers(t) {
		for _, target := range gen.Targets {
			cmd := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch="+target.String(), "-nocudainc",
				"-nocudalib", "-nostdinc", "-std=c++17", "-Wall", "-Wno-unused-function",
				"-Wno-unused-const-variable", "-Werror", "-fsyntax-only", "-I.", "-I"+dir, name)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s for %s:\n%s", name, target, out)
		}
	}
}

// What is written once stays in one place: asm in ptx.cuh, the compiler in
// device.cuh, fences and flags out of algorithms, ranks out of protocols.
func TestLayers(t *testing.T) {
	comment := regexp.MustCompile(`//.*`)
	for _, name := range headers(t) {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		code := comment.ReplaceAllString(string(raw), "")
		never := func(words string, why string) {
			require.NotRegexp(t, `\b(`+words+`)\b`, code, "%s: %s", name, why)
		}
		if name != "ptx.cuh" {
			never("asm", "inline PTX is in ptx.cuh")
		}
		if name != "device.cuh" {
			never("__CUDACC__|__CUDA_ARCH__|__clang__", "the compiler is known to device.cuh only")
		}
		if !strings.HasPrefix(name, "dtype") && name != "ptx.cuh" {
			never(`(add|mul|min|max|fma|cvt)[A-Za-z]*F\d+\w*`, "arithmetic is in dtype.cuh")
		}
		if strings.HasPrefix(name, "proto_") {
			never("rank|peer|ring|numRanks|prev", "a protocol never mentions a rank")
		}
		if name == "all_reduce.cuh" {
			never(`\w*[fF]ence\w*|\w*[fF]lag|head|tail|sync|ld\w+|st[A-Z]\w+`, "an algorithm never mentions a flag or a fence")
		}
		for i, line := range strings.Split(string(raw), "\n") {
			require.LessOrEqual(t, len([]rune(line)), 120, "%s:%d", name, i+1)
		}
	}
}

// assertion matches "// ptx PATTERN:- "text"", where pattern and minus are
// optional. A pattern matches symbols, or symbols with their target's suffix,
// such as ".sm_90".
var assertion = regexp.MustCompile(`// ptx(?: (\S+?))?:(-?) "([^"]+)"`)

// The assertions in the headers hold for the kernels that ship.
func TestPTXAssertions(t *testing.T) {
	texts := map[string]string{}
	kernels := generated.Kernels()
	for i := range kernels {
		ptx, err := kernels[i].PTX()
		require.NoError(t, err)
		texts[kernel.ModuleName(kernels[i].Symbol, kernels[i].SM)] = string(ptx)
	}
	require.NotEmpty(t, texts)
	for _, name := range headers(t) {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range assertion.FindAllStringSubmatch(string(raw), -1) {
			pattern, absent, want := m[1], m[2] == "-", m[3]
			if !strings.Contains(pattern, ".sm_") {
				pattern = cmp.Or(pattern, "*") + ".sm_*"
			}
			matched := 0
			for module, text := range texts {
				ok, err := path.Match(pattern, module)
				require.NoError(t, err)
				if !ok {
					continue
				}
				matched++
				require.Equal(t, !absent, strings.Contains(text, want), "%s: %s in %s", name, m[0], module)
			}
			require.NotZero(t, matched, "%s: %s: no kernel matches", name, m[0])
		}
	}
}
