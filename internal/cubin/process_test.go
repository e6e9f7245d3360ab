//go:build linux

package cubin

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a process that a test started, roleVariable names what it is to do and
// dirVariable where.
const (
	roleVariable = "NCCLGO_TEST_ROLE"
	dirVariable  = "NCCLGO_TEST_DIR"
)

var roles = map[string]func(t *testing.T, dir string){
	"race": race, "read-only": readOnly, "full": full,
}

// TestRole is what the processes run that tests start.
func TestRole(t *testing.T) {
	name, started := os.LookupEnv(roleVariable)
	if !started {
		return // in a test run of its own it has no part
	}
	role := roles[name]
	require.NotNil(t, role, "no role is called %q", name)
	role(t, os.Getenv(dirVariable))
}

// play runs a role in a process of its own.
func play(t *testing.T, role, dir string) {
	self, err := os.Executable()
	if !assert.NoError(t, err) {
		return
	}
	child := exec.Command(self, "-test.run=^TestRole$", "-test.v", fmt.Sprintf("-test.short=%t", testing.Short()))
	child.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	text, err := child.CombinedOutput()
	assert.NoError(t, err, "%s", text)
	assert.Contains(t, string(text), "--- PASS: TestRole")
}

// Processes that write, read and evict the same entries never see a wrong one,
// and none of them fails.
func TestProcessesRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { play(t, "race", dir) })
	}
	wg.Wait()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	u, err := Open(Config{Dir: dir}).Usage()
	require.NoError(t, err)
	require.Len(t, files, u.Entries, "only entries are left")
}

func race(t *testing.T, dir string) {
	var seen trouble
	s := Open(Config{Dir: dir, MaxBytes: 20 * fileBytes, Report: seen.report})
	hits := 0
	rounds := 2000
	if testing.Short() {
		rounds = 400
	}
	for range rounds {
		i := rand.IntN(50)
		got, ok := s.Get(keyOf(i))
		if !ok {
			s.Put(keyOf(i), cubinOf(i))
			continue
		}
		hits++
		require.Equal(t, cubinOf(i), got)
	}
	require.Positive(t, hits)
	require.Empty(t, seen)
}

// A store that cannot be written still serves what it has.
func TestReadOnlyDirectory(t *testing.T) {
	base, err := os.MkdirTemp("", "cubin")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	require.NoError(t, os.Chmod(base, 0o777))
	play(t, "read-only", base)
}

func readOnly(t *testing.T, base string) {
	if os.Geteuid() == 0 { // whom no permission binds
		const nobody = 65534
		require.NoError(t, syscall.Setresuid(-1, nobody, -1))
	}
	dir := filepath.Join(base, "c")
	Open(Config{Dir: dir}).Put(keyOf(1), cubinOf(1))
	require.NoError(t, os.Chmod(dir, 0o500))
	defer func() { _ = os.Chmod(dir, 0o700) }()
	var seen trouble
	s := Open(Config{Dir: dir, Report: seen.report})
	_, ok := s.Get(keyOf(1))
	require.True(t, ok)
	require.Empty(t, seen)
	for range 2 {
		s.Put(keyOf(2), cubinOf(2))
	}
	require.Len(t, seen, 1)
	require.Contains(t, seen[0], "permission denied")
	require.ErrorIs(t, s.Problem(), os.ErrPermission)
	_, ok = s.Get(keyOf(1))
	require.True(t, ok)

	require.NoError(t, os.Chmod(dir, 0o300))
	require.NoError(t, os.Chmod(s.path(keyOf(1)), 0))
	_, ok = s.Get(keyOf(1))
	require.False(t, ok)
	require.Len(t, seen, 2)
	require.Contains(t, seen[1], "assembled again")
}

// A disk that is full, as far as a process can arrange it: files end early.
func TestFullDisk(t *testing.T) { play(t, "full", t.TempDir()) }

func full(t *testing.T, base string) {
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: fileBytes / 2, Max: fileBytes / 2}))
	var seen trouble
	s := Open(Config{Dir: filepath.Join(base, "c"), Report: seen.report})
	s.Put(keyOf(1), cubinOf(1))
	require.Len(t, seen, 1)
	require.ErrorIs(t, s.Problem(), syscall.EFBIG)
	files, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Empty(t, files)
}
