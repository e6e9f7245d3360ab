package cuda_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/generated"
)

// shipped returns every kernel that is shipped and that the first GPU can run.
func shipped(t testing.TB) ([]generated.Kernel, []device.Source) {
	d, dev := openCached(t, t.TempDir())
	defer func() { require.NoError(t, d.Close()) }()
	kernels := slices.DeleteFunc(slices.Clone(generated.Kernels()), func(k generated.Kernel) bool { return k.SM > dev.Info().SM })
	sources := make([]device.Source, len(kernels))
	for i := range kernels {
		text, err := kernels[i].PTX()
		require.NoError(t, err)
		sources[i] = device.Source{Name: kernels[i].Symbol + ".ptx", PTX: text}
	}
	return kernels, sources
}

// openCached opens the driver with its kernels in dir, or skips the test where
// there is no GPU.
func openCached(t testing.TB, dir string) (*cuda.Driver, device.Device) {
	d, err := cuda.Open(cuda.Config{MaxConnections: 32, Cache: cuda.CacheConfig{Dir: dir}})
	skipWithoutGPU(t, err)
	dev, err := d.Open(0)
	require.NoError(t, err)
	return d, dev
}

// TestShippedKernels assembles every kernel, finds it on disk the second time,
// and needs no memory for registers.
func TestShippedKernels(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	kernels, sources := shipped(t)
	for _, cold := range []bool{true, false} {
		drv, dev := openCached(t, dir)
		modules, err := device.LoadModules(t.Context(), dev, sources, nil)
		require.NoError(t, err)
		for i, m := range modules {
			symbol := fmt.Sprintf("%s for sm_%d", kernels[i].Symbol, kernels[i].SM)
			f, err := m.Function(kernels[i].Symbol)
			require.NoError(t, err)
			k := f.(*cuda.Function)
			assert.Zero(t, k.LocalBytes(), "%s spills", symbol)
			if cold {
				t.Logf("%s: %d registers, %d bytes shared, up to %d threads", symbol, k.Registers(), k.SharedBytes(), k.MaxThreads())
			}
		}
		s := drv.Startup()
		t.Logf("%+v, cache %+v", s, drv.Cache())
		want := [3]int{len(sources), 0, len(sources)}
		if cold {
			want = [3]int{len(sources), len(sources), 0}
		}
		require.Equal(t, want, [3]int{s.Modules, s.Assembled, s.FromDisk})
		require.NoError(t, drv.Close())
	}
}

// BenchmarkLoadModules makes the shipped kernels ready, in as many copies as make
// the number of kernels, with and without an earlier start's cubins on disk.
func BenchmarkLoadModules(b *testing.B) {
	_, originals := shipped(b)
	for _, kernels := range []int{30, 660} {
		for _, cold := range []bool{true, false} {
			b.Run(fmt.Sprintf("kernels=%d/cold=%t", kernels, cold), func(b *testing.B) {
				var sources []device.Source
				dir := filepath.Join(b.TempDir(), "cache")
				var total cuda.Startup
				for i := range b.N {
					b.StopTimer()
					if cold || i == 0 {
						// Texts that nobody has seen, for the driver has a cache too.
						sources = copies(originals, kernels)
					}
					if !cold && i == 0 {
						drv, _ := openCached(b, dir)
						require.NoError(b, drv.Warm(b.Context(), sources, nil))
						require.NoError(b, drv.Close())
					}
					drv, dev := openCached(b, dir)
					b.StartTimer()
					_, err := device.LoadModules(b.Context(), dev, sources, nil)
					b.StopTimer()
					require.NoError(b, err)
					s := drv.Startup()
					total.Contexts += s.Contexts
					total.Cubins += s.Cubins
					total.Linking += s.Linking
					total.Loading += s.Loading
					require.NoError(b, drv.Close())
					b.StartTimer()
				}
				for unit, d := range map[string]time.Duration{
					"context-ms/op": total.Contexts, "cubins-ms/op": total.Cubins, "linking-ms/op": total.Linking, "loading-ms/op": total.Loading,
				} {
					b.ReportMetric(d.Seconds()*1e3/float64(b.N), unit)
				}
			})
		}
	}
}

// copies returns n sources that differ from one another, and from those of any
// other call.
func copies(originals []device.Source, n int) []device.Source {
	now := time.Now().UnixNano()
	sources := make([]device.Source, n)
	for i := range sources {
		s := originals[i%len(originals)]
		sources[i] = device.Source{Name: s.Name, PTX: fmt.Appendf(nil, "%s\n// %d %d\n", s.PTX, now, i)}
	}
	return sources
}
