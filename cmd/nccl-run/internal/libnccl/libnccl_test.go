//go:build linux && (amd64 || arm64) && !nodl

package libnccl

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/dl"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// fake is testdata/libnccl.c, a stand-in for NCCL.
type fake struct {
	*Library
	calls, fail dl.Proc
}

func newFake(t *testing.T, version string) *fake {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libnccl.so.2")
	text, err := exec.Command(testenv.GCC(t), "-shared", "-fPIC", "-DVERSION="+version, "-o", path,
		filepath.Join("testdata", "libnccl.c")).CombinedOutput()
	require.NoError(t, err, "%s", text)
	l, err := Open(path)
	require.NoError(t, err)
	opened, err := dl.Open(path)
	require.NoError(t, err)
	f := &fake{Library: l}
	require.NoError(t, opened.Bind([]dl.Symbol{{Name: "fake_calls", Proc: &f.calls}, {Name: "fake_fail", Proc: &f.fail}}))
	return f
}

func (f *fake) log() string { return dl.String(f.calls.Call()) }

func (f *fake) failAt(call string, code result.Code) {
	b := append([]byte(call), 0)
	f.fail.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(code))
}

// Calls reach NCCL in order, with its numbers for types and operators.
func TestCalls(t *testing.T) {
	f := newFake(t, "22809")
	require.Equal(t, 22809, f.Version())
	require.Equal(t, "2.28.9", f.VersionText())
	comms, err := f.InitAll([]int{3, 1})
	require.NoError(t, err)
	scaled, err := comms[1].NewPreMulSum(coll.BFloat16, 0x4000)
	require.NoError(t, err)
	require.NoError(t, f.Group(func() error {
		for rank, c := range comms {
			if err := c.AllReduce(0x1000, 0x2000, 5, coll.BFloat16, []Op{Op(coll.OpMin), scaled}[rank], uintptr(0x70+rank)); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, comms[0].Close())
	require.NoError(t, comms[1].Abort())
	require.Equal(t, `init 2: 3 1
premulsum 1: 0x4000 type 9 residence 1
start
all-reduce 0: 0x1000 0x2000 5 type 9 op 3 stream 0x70 depth 1
all-reduce 1: 0x1000 0x2000 5 type 9 op 6 stream 0x71 depth 1
end
destroy 0
abort 1
`, f.log())
}

func TestVersionText(t *testing.T) {
	require.Equal(t, "2.8.4", (&Library{version: 2804}).VersionText())
	require.Equal(t, "2.30.7", (&Library{version: 23007}).VersionText())
}

// A call that fails says which, and the group it was in is ended all the same.
func TestErrors(t *testing.T) {
	f := newFake(t, "22809")
	comms, err := f.InitAll([]int{0})
	require.NoError(t, err)
	f.failAt("ncclAllReduce", result.InvalidArgument)
	err = f.Group(func() error { return comms[0].AllReduce(1, 2, 3, coll.Int8, Op(coll.OpSum), 4) })
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, Error{Call: "ncclAllReduce", Code: result.InvalidArgument, Text: "invalid argument", Detail: "what was wrong"}, *failed)
	require.EqualError(t, err, "ncclAllReduce: invalid argument (4): what was wrong; NCCL_DEBUG=WARN says more")
	require.Contains(t, f.log(), "\nend\n")

	own := errors.New("own")
	require.ErrorIs(t, f.Group(func() error { return own }), own)
	f.failAt("ncclGroupEnd", result.UnhandledCUDAError)
	require.ErrorContains(t, f.Group(func() error { return nil }), "ncclGroupEnd: unhandled cuda error (1)")
	f.failAt("ncclCommInitAll", result.InvalidArgument)
	_, err = f.InitAll([]int{0, 0})
	require.ErrorContains(t, err, "ncclCommInitAll")
}

func TestOpenRefuses(t *testing.T) {
	_, err := Open("/no/such/libnccl.so.2")
	require.ErrorIs(t, err, dl.ErrUnavailable)
	require.ErrorContains(t, err, "/no/such/libnccl.so.2")

	_, err = Open("libc.so.6")
	var missing *dl.MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "ncclAllReduce")
	require.ErrorContains(t, err, "this is no libnccl")
}
