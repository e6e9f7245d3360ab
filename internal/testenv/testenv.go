// Package testenv says what a test may need of the machine: a compiler, data
// beside the repository, GPUs. A need that is not met skips the test by name;
// in CI (CI=true) what CI must have is a failure instead, so that no test
// disappears unseen.
//
// Start reading at [Clang]. Only tests import it.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// CI reports whether the tests run where nothing may be missing.
func CI() bool { return os.Getenv("CI") == "true" }

// Root returns the module's directory.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Clang returns the path of clang-19, the compiler of kernels. Without it the
// test is skipped; in CI it fails.
func Clang(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("clang-19")
	if err != nil {
		Missing(t, "needs clang-19 (Debian: apt-get install clang-19)")
	}
	return path
}

// GCC returns the path of a C compiler, for libraries that stand in for a
// driver's. Without it the test is skipped; in CI it fails.
func GCC(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("gcc")
	if err != nil {
		Missing(t, "needs gcc (Debian: apt-get install gcc libc6-dev)")
	}
	return path
}

// NVCC returns the path of nvcc, the second compiler. Without it the test is
// skipped, in CI too: CI has no CUDA toolkit.
func NVCC(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("nvcc")
	if err != nil {
		t.Skip("skipped: needs nvcc (a CUDA toolkit)")
	}
	return path
}

// Shared returns the path of name inside the folder of reference data that may
// lie beside the repository: $NCCLGO_SHARED, or ../shared. Without it the test
// is skipped.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("NCCLGO_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: needs the reference data %s (set NCCLGO_SHARED to its folder)", name)
	}
	return path
}

// Missing skips the test for lack of something that CI has; in CI it fails.
func Missing(t testing.TB, need string) {
	t.Helper()
	if CI() {
		t.Fatalf("%s; in CI this may not be missing", need)
	}
	t.Skipf("skipped: %s", need)
}
