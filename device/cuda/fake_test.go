//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/dl"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// fake is testdata/libcuda.c, a stand-in for the driver: compiled for each test,
// so that each has its state for itself.
type fake struct {
	*library
	count, fail, retained, busy, offset, noPeer, blocks, objects dl.Proc
	loseContext, env, connectionsAtInit, launched                dl.Proc
	linkDelay, mostLinks, breakCapture                           dl.Proc
	records, lastRecordFollows                                   dl.Proc
}

// compiled holds the stand-ins built so far, by their -D flags.
var compiled = map[string][]byte{}

// compileFake builds the stand-in with the given -D flags and returns the path
// of a copy that no other test loads.
func compileFake(t testing.TB, defines ...string) string {
	t.Helper()
	gcc := testenv.GCC(t)
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	key := strings.Join(defines, " ")
	if compiled[key] == nil {
		args := append([]string{"-shared", "-fPIC", "-o", path, filepath.Join("testdata", "libcuda.c"), "-lpthread"}, defines...)
		text, err := exec.Command(gcc, args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
		compiled[key], err = os.ReadFile(path)
		require.NoError(t, err)
		return path
	}
	require.NoError(t, os.WriteFile(path, compiled[key], 0o755))
	return path
}

func newFake(t testing.TB, defines ...string) *fake {
	t.Helper()
	// The driver sets variables; t.Setenv puts back what was there.
	t.Setenv(connectionsVariable, "")
	t.Setenv(loadingVariable, "")
	l, err := load(compileFake(t, defines...))
	require.NoError(t, err)
	f := &fake{library: l}
	require.NoError(t, l.Bind([]dl.Symbol{
		{Name: "fake_count", Proc: &f.count},
		{Name: "fake_fail", Proc: &f.fail},
		{Name: "fake_retained", Proc: &f.retained},
		{Name: "fake_busy", Proc: &f.busy},
		{Name: "fake_offset", Proc: &f.offset},
		{Name: "fake_no_peer", Proc: &f.noPeer},
		{Name: "fake_blocks", Proc: &f.blocks},
		{Name: "fake_objects", Proc: &f.objects},
		{Name: "fake_lose_context", Proc: &f.loseContext},
		{Name: "fake_env", Proc: &f.env},
		{Name: "fake_connections_at_init", Proc: &f.connectionsAtInit},
		{Name: "fake_launched", Proc: &f.launched},
		{Name: "fake_link_delay", Proc: &f.linkDelay},
		{Name: "fake_most_links", Proc: &f.mostLinks},
		{Name: "fake_records", Proc: &f.records},
		{Name: "fake_last_record_follows", Proc: &f.lastRecordFollows},
		{Name: "fake_break_capture", Proc: &f.breakCapture, Optional: true},
	}))
	return f
}

// calls returns how often a function of the driver was called.
func (f *fake) calls(name string) int {
	b := terminated([]byte(name))
	return int(f.count.Call(uintptr(unsafe.Pointer(&b[0]))))
}

// failNext makes the next call of a function return code; codes of faults stay.
func (f *fake) failNext(name string, code Code) {
	b := terminated([]byte(name))
	f.fail.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(code))
}

// getenv asks the C library.
func (f *fake) getenv(name string) string {
	b := terminated([]byte(name))
	return dl.String(f.env.Call(uintptr(unsafe.Pointer(&b[0]))))
}

// launchRecord is what the stand-in saw of the last launch.
type launchRecord struct {
	Grid, Block            [3]uint32
	Attributes, ID, Domain uint32
	_                      uint32
	Size                   uint64
	Params                 [8192]byte
}

func (f *fake) lastLaunch() launchRecord {
	address := f.launched.Call()
	return **(**launchRecord)(unsafe.Pointer(&address))
}

// openFake returns a driver over the stand-in and its first device. It keeps
// kernels on disk only where cfg says in which directory.
func openFake(t testing.TB, f *fake, cfg Config) (*Driver, *Device) {
	t.Helper()
	cfg.Cache.Off = cfg.Cache.Dir == ""
	drv, err := open(f.library, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = drv.Close() })
	dev, err := drv.Open(0)
	require.NoError(t, err)
	return drv, dev.(*Device)
}

const goodPTX = ".version 7.8\n.target sm_70\n.address_size 64\n"

func loadFill(t testing.TB, dev *Device) *Function {
	t.Helper()
	m, err := dev.LoadModule("fill.ptx", []byte(goodPTX))
	require.NoError(t, err)
	f, err := m.Function("fill")
	require.NoError(t, err)
	return f.(*Function)
}

func newStream(t testing.TB, dev *Device) *Stream {
	t.Helper()
	s, err := dev.NewStream()
	require.NoError(t, err)
	return s.(*Stream)
}

// fillLaunch is a launch of the stand-in's kernel.
func fillLaunch(f *Function) *device.Launch {
	return &device.Launch{Function: f, Grid: 3, Threads: 64, Args: []byte(strings.Repeat("ab", 8)), Label: "rank 3"}
}
