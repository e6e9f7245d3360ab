//go:build linux && (amd64 || arm64) && !nodl

package dl

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

const libc = "libc.so.6"

func TestOpenSaysWhyNot(t *testing.T) {
	_, err := Open("libdoes-not-exist.so.1", "libneither.so")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "libdoes-not-exist.so.1")
	require.ErrorContains(t, err, "libneither.so")
}

func TestOpenTakesTheFirstThatLoads(t *testing.T) {
	l, err := Open("libdoes-not-exist.so.1", libc)
	require.NoError(t, err)
	require.Equal(t, libc, l.Name())
}

func TestBindAndCall(t *testing.T) {
	l, err := Open(libc)
	require.NoError(t, err)
	var abs, strlen, absent Proc
	require.NoError(t, l.Bind([]Symbol{
		{Name: "abs", Proc: &abs}, {Name: "strlen", Proc: &strlen},
		{Name: "no_such_function", Proc: &absent, Optional: true},
	}))
	require.False(t, absent.Bound())
	require.EqualValues(t, 7, int32(abs.Call(^uintptr(6))))

	text := []byte("three ranks\x00")
	require.EqualValues(t, 11, strlen.Call(uintptr(unsafe.Pointer(&text[0]))))
	runtime.KeepAlive(text)
	require.Equal(t, "three ranks", String(uintptr(unsafe.Pointer(&text[0]))))
	require.Empty(t, String(0))
}

func TestBindListsAllThatIsMissingAndSetsNothing(t *testing.T) {
	l, err := Open(libc)
	require.NoError(t, err)
	var abs, one, two Proc
	err = l.Bind([]Symbol{
		{Name: "abs", Proc: &abs},
		{Name: "no_such_one", Proc: &one, Since: "CUDA 13.9"},
		{Name: "no_such_two", Proc: &two},
	})
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Symbols, 2)
	require.EqualError(t, err, libc+" lacks no_such_one (since CUDA 13.9), no_such_two")
	require.False(t, abs.Bound())
}

func TestForeignMemory(t *testing.T) {
	l, err := Open(libc)
	require.NoError(t, err)
	var calloc, free Proc
	require.NoError(t, l.Bind([]Symbol{{Name: "calloc", Proc: &calloc}, {Name: "free", Proc: &free}}))
	p := calloc.Call(4, 4)
	require.NotZero(t, p)
	*Word(p + 4) = 0x01020304
	require.Equal(t, []byte{0, 0, 0, 0, 4, 3, 2, 1}, Bytes(p, 8))
	free.Call(p)
}

// deepen makes the stack grow, and so move.
//
//go:noinline
func deepen(n int) byte {
	var page [1024]byte
	if n > 0 {
		page[n] = deepen(n - 1)
	}
	return page[n] + 1
}

// Variables whose addresses are passed stay in place while the stack moves.
func TestOutParameters(t *testing.T) {
	l, err := Open(libc)
	require.NoError(t, err)
	var strtol Proc
	require.NoError(t, l.Bind([]Symbol{{Name: "strtol", Proc: &strtol}}))
	done := make(chan bool)
	for range 50 {
		go func() {
			text := [...]byte{'4', '2', 'x', 0}
			var end uintptr
			got := strtol.Call(uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&end)), 10)
			deepen(200)
			done <- got == 42 && end == uintptr(unsafe.Pointer(&text[0]))+2
		}()
		require.True(t, <-done)
	}
}

func TestCallWithKeptArgumentsAllocatesNothing(t *testing.T) {
	l, err := Open(libc)
	require.NoError(t, err)
	var abs Proc
	require.NoError(t, l.Bind([]Symbol{{Name: "abs", Proc: &abs}}))
	args := []uintptr{1}
	require.Zero(t, testing.AllocsPerRun(100, func() { abs.Call(args...) }))
}

func BenchmarkCall(b *testing.B) {
	l, err := Open(libc)
	require.NoError(b, err)
	var abs Proc
	require.NoError(b, l.Bind([]Symbol{{Name: "abs", Proc: &abs}}))
	args := []uintptr{1}
	b.Run("listed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			abs.Call(1)
		}
	})
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			abs.Call(args...)
		}
	})
}
