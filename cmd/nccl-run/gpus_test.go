//go:build linux && (amd64 || arm64) && !nodl

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// The scripts of testdata/gpus run where libcuda and libnccl are stand-ins: two
// GPUs on which kernels do nothing, and an NCCL that only an only rank gets right
// results of. They show what is called, not that it works.
func TestGPUScripts(t *testing.T) {
	gcc := testenv.GCC(t)
	lib := t.TempDir()
	for name, args := range map[string][]string{
		"libcuda.so.1": {"-DNO_PARAM_INFO", "-I", filepath.Join(testenv.Root(), "device/cuda/testdata"), "testdata/gpus/libcuda_any.c"},
		"libnccl.so.2": {"-DVERSION=22809", "internal/libnccl/testdata/libnccl.c"},
	} {
		args = append([]string{"-shared", "-fPIC", "-o", filepath.Join(lib, name)}, append(args, "-lpthread")...)
		text, err := exec.Command(gcc, args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	runScripts(t, "testdata/gpus", func(env *testscript.Env) error {
		env.Setenv("LD_LIBRARY_PATH", lib)
		env.Setenv("LIB", lib)
		env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
		return nil
	})
}
