//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModule(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	cubin, err := dev.Assemble("good.ptx", []byte(goodPTX))
	require.NoError(t, err)
	require.Equal(t, "\x7fELF"+goodPTX+"\x00", string(cubin), "a copy, made before the link was destroyed")
	before := f.objects.Call()
	m, err := dev.LoadModule("good.cubin", cubin)
	require.NoError(t, err)
	require.Equal(t, 1, f.calls("cuLinkAddData_v2"), "a cubin is not assembled")

	fn, err := m.Function("fill")
	require.NoError(t, err)
	k := fn.(*Function)
	require.Equal(t, "fill", k.Name())
	require.Equal(t, []int{640, 48, 1024, 16, 16}, []int{k.MaxThreads(), k.Registers(), k.SharedBytes(), k.LocalBytes(), k.paramBytes})
	n, err := k.Occupancy(512)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	for _, threads := range []int{0, -1, 641} {
		_, err := k.Occupancy(threads)
		require.ErrorContains(t, err, "allowed are 1 to 640")
	}
	none, err := m.Function("none")
	require.NoError(t, err)
	require.Zero(t, none.(*Function).paramBytes)
	for _, name := range []string{"", "Fill", "fill\x00"} {
		fn, err := m.Function(name)
		require.Error(t, err, "%q", name)
		require.Nil(t, fn)
	}

	require.NoError(t, m.Unload())
	require.NoError(t, m.Unload())
	require.Equal(t, before, f.objects.Call())
	_, err = m.Function("fill")
	require.ErrorContains(t, err, "unloaded")
	_, err = k.Occupancy(32)
	require.ErrorContains(t, err, "unloaded")
}

func TestAssemblerErrors(t *testing.T) {
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	before := f.objects.Call()
	m, err := dev.LoadModule("bad.ptx", []byte(goodPTX+"frobnicate"))
	require.Nil(t, m)
	require.EqualError(t, err, "cuLinkAddData(GPU 0, bad.ptx): CUDA_ERROR_INVALID_PTX (218): as the driver puts it: "+
		"ptxas bad.ptx, line 7; error   : Not a name of any known instruction: 'frobnicate'\n  ptxas fatal   : Ptx assembly aborted")
	require.Equal(t, before, f.objects.Call(), "the link is destroyed")
	_, err = dev.LoadModule("empty.ptx", nil)
	require.ErrorContains(t, err, "empty.ptx: the text is empty")
	_, err = dev.LoadModule("good.ptx", []byte(goodPTX))
	require.NoError(t, err)
}

func TestAssembleSideBySide(t *testing.T) {
	_, dev := openFake(t, newFake(t), Config{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				_, err := dev.Assemble("good.ptx", []byte(goodPTX))
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
}
