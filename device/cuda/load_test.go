//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// someSources returns n different modules.
func someSources(n int) []device.Source {
	sources := make([]device.Source, n)
	for i := range sources {
		sources[i] = device.Source{Name: fmt.Sprintf("k%d.ptx", i), PTX: fmt.Appendf(nil, "%s// %d\n", goodPTX, i)}
	}
	return sources
}

// cachedIn returns a configuration with a cache and what is logged.
func cachedIn(dir string) (Config, *strings.Builder) {
	var log strings.Builder
	return Config{Cache: CacheConfig{Dir: dir}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

// cacheDir returns a directory for a cache, which is not there yet.
func cacheDir(t *testing.T) string { return filepath.Join(t.TempDir(), "cache") }

// linksFor loads sources with a driver of its own, as another process would, and
// returns how many were assembled.
func linksFor(t *testing.T, dir string, sources []device.Source, defines ...string) int {
	t.Helper()
	f := newFake(t, defines...)
	cfg, log := cachedIn(dir)
	_, dev := openFake(t, f, cfg)
	modules, err := dev.LoadModules(t.Context(), sources, nil)
	require.NoError(t, err)
	require.Len(t, modules, len(sources))
	require.Empty(t, log)
	return f.calls("cuLinkAddData_v2")
}

func TestKeptCubinsAreNotAssembled(t *testing.T) {
	dir, sources := cacheDir(t), someSources(5)
	require.Equal(t, 5, linksFor(t, dir, sources))
	require.Equal(t, 0, linksFor(t, dir, sources))
	more := append(someSources(5), device.Source{Name: "more.ptx", PTX: []byte(goodPTX)})
	require.Equal(t, 1, linksFor(t, dir, more), "only what is new")
	sources[0].Name = "other.ptx"
	require.Equal(t, 0, linksFor(t, dir, sources), "names do not matter")
	require.Equal(t, 5, linksFor(t, dir, sources, "-DVERSION=13000"), "another driver")
	require.Equal(t, 5, linksFor(t, dir, sources, "-DSM=80"), "another GPU")
	require.Equal(t, 5, linksFor(t, dir, sources, "-DROOM=65536"), "another build of the driver")
	require.Equal(t, 0, linksFor(t, dir, sources))
}

func TestLoadModules(t *testing.T) {
	f := newFake(t)
	drv, dev := openFake(t, f, Config{})
	sources := someSources(20)
	sources[7].PTX = append([]byte("\x7fELF"), goodPTX...)
	var steps []int
	modules, err := device.LoadModules(t.Context(), dev, sources, func(done, total int) {
		assert.Equal(t, 20, total)
		steps = append(steps, done)
	})
	require.NoError(t, err)
	for i, m := range modules {
		require.Equal(t, sources[i].Name, m.(*Module).name)
		_, err := m.Function("fill")
		require.NoError(t, err)
	}
	require.Len(t, steps, 20)
	for i, done := range steps {
		require.Equal(t, i+1, done)
	}
	s := drv.Startup()
	for _, d := range []time.Duration{s.Library, s.Init, s.Contexts, s.Cubins, s.Linking, s.Loading} {
		require.Positive(t, d)
	}
	require.Equal(t, [4]int{20, 0, 19, 0}, [4]int{s.Modules, s.FromDisk, s.Assembled, s.Shared})

	none, err := dev.LoadModules(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, drv.Close())
	_, err = dev.LoadModules(t.Context(), sources, nil)
	require.Equal(t, errClosed, err)
}

// Devices of one kind assemble once between them, at the same time or not.
func TestDevicesShareCubins(t *testing.T) {
	f := newFake(t)
	drv, one := openFake(t, f, Config{})
	two, err := drv.Open(1)
	require.NoError(t, err)
	f.linkDelay.Call(1000)
	sources := someSources(10)
	var wg sync.WaitGroup
	for _, dev := range []device.Device{one, two, one} {
		wg.Go(func() {
			modules, err := device.LoadModules(t.Context(), dev, sources, nil)
			assert.NoError(t, err)
			assert.Len(t, modules, len(sources))
		})
	}
	wg.Wait()
	require.Equal(t, 10, f.calls("cuLinkAddData_v2"))
	require.Equal(t, 30, f.calls("cuModuleLoadData"))
	s := drv.Startup()
	require.Equal(t, [4]int{30, 0, 10, 20}, [4]int{s.Modules, s.FromDisk, s.Assembled, s.Shared})
}

func TestAssemblyUsesAllCores(t *testing.T) {
	const cores = 6
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	f.linkDelay.Call(20_000)
	_, err := dev.LoadModules(t.Context(), someSources(4*cores), nil)
	require.NoError(t, err)
	require.EqualValues(t, cores, f.mostLinks.Call())
}

func TestDamagedEntryIsAssembledAgain(t *testing.T) {
	dir, sources := cacheDir(t), someSources(3)
	linksFor(t, dir, sources)
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.NoError(t, os.Truncate(entries[1], 100))

	f := newFake(t)
	cfg, log := cachedIn(dir)
	_, dev := openFake(t, f, cfg)
	_, err = dev.LoadModules(t.Context(), sources, nil)
	require.NoError(t, err)
	require.Equal(t, 1, f.calls("cuLinkAddData_v2"))
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.Contains(t, log.String(), entries[1])
	require.Equal(t, 0, linksFor(t, dir, sources))
}

// An entry may be whole and no cubin, or one that the driver refuses.
func TestRefusedEntryIsAssembledAgain(t *testing.T) {
	dir, sources := cacheDir(t), someSources(2)
	linksFor(t, dir, sources)
	for _, code := range []Code{invalidImage, noBinaryForGPU} {
		f := newFake(t)
		cfg, _ := cachedIn(dir)
		_, dev := openFake(t, f, cfg)
		f.failNext("cuModuleLoadData", code)
		_, err := dev.LoadModules(t.Context(), sources, nil)
		require.NoError(t, err)
		require.Equal(t, 1, f.calls("cuLinkAddData_v2"))

		_, other := openFake(t, f, Config{})
		f.failNext("cuModuleLoadData", code)
		_, err = other.LoadModules(t.Context(), sources, nil)
		var e *Error
		require.ErrorAs(t, err, &e, "what was just assembled is not assembled again")
		require.Equal(t, code, e.Code)
	}

	f := newFake(t)
	cfg, _ := cachedIn(dir)
	drv, dev := openFake(t, f, cfg)
	a, err := dev.assembly(t.Context(), sources[0])
	require.NoError(t, err)
	require.True(t, a.fromDisk)
	drv.store.Put(a.key, nil)
	require.Equal(t, 1, linksFor(t, dir, sources))
}

func TestUnusableCacheIsNoFailure(t *testing.T) {
	dir := cacheDir(t)
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	cfg, log := cachedIn(dir)
	drv, dev := openFake(t, newFake(t), cfg)
	for range 2 {
		_, err := dev.LoadModules(t.Context(), someSources(3), nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log)
	require.Contains(t, log.String(), "is no directory")
	require.Contains(t, log.String(), "subsys=INIT")
	require.ErrorContains(t, drv.Cache().Problem, "is no directory")
	require.EqualError(t, drv.Warm(t.Context(), someSources(3), nil), drv.Cache().Problem.Error())
}

func TestInspectCache(t *testing.T) {
	dir := cacheDir(t)
	require.Equal(t, Cache{Dir: dir, MaxBytes: 256 << 20}, InspectCache(CacheConfig{Dir: dir}))
	linksFor(t, dir, someSources(3))
	c := InspectCache(CacheConfig{Dir: dir, MaxBytes: 1 << 20})
	require.Equal(t, 3, c.Entries)
	require.Greater(t, c.Bytes, int64(3*len(goodPTX)))
	require.EqualValues(t, 1<<20, c.MaxBytes)
	require.NoError(t, c.Problem)
	none := func(string) (string, bool) { return "", false }
	require.ErrorContains(t, InspectCache(CacheConfig{Getenv: none}).Problem, "XDG_CACHE_HOME")
	require.ErrorContains(t, InspectCache(CacheConfig{Off: true}).Problem, "off")
}

// What is wrong with several modules is said at once, and nothing stays loaded.
func TestLoadErrors(t *testing.T) {
	f := newFake(t)
	dir := cacheDir(t)
	cfg, _ := cachedIn(dir)
	_, dev := openFake(t, f, cfg)
	before := f.objects.Call()
	sources := someSources(6)
	for _, i := range []int{1, 4} {
		sources[i].PTX = append(sources[i].PTX, "frobnicate"...)
	}
	sources[5].PTX = nil
	modules, err := dev.LoadModules(t.Context(), sources, nil)
	require.Nil(t, modules)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 5, "%v", err)
	require.Contains(t, lines[0], "cuLinkAddData(GPU 0, k1.ptx)")
	require.Contains(t, lines[0], "ptxas k1.ptx, line 7; error")
	require.Contains(t, lines[2], "ptxas k4.ptx, line 7; error")
	require.Contains(t, lines[4], "k5.ptx: the text is empty")
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, before, f.objects.Call())
	require.Zero(t, f.calls("cuModuleLoadData"))
	require.Equal(t, 0, linksFor(t, dir, []device.Source{sources[0], sources[2], sources[3]}), "the good ones are kept")

	many := someSources(25)
	for i := range many {
		many[i].PTX = nil
	}
	_, err = dev.LoadModules(t.Context(), many, nil)
	require.Equal(t, 11, strings.Count(err.Error(), "\n")+1)
	require.ErrorContains(t, err, "and 15 more of 25 modules")

	f.failNext("cuModuleLoadData", outOfMemory)
	_, err = dev.LoadModules(t.Context(), someSources(6), nil)
	require.ErrorContains(t, err, "cuModuleLoadData(GPU 0, k0.ptx, a cubin of")
	require.Equal(t, before, f.objects.Call(), "those that were loaded are unloaded")
	_, err = dev.LoadModules(t.Context(), someSources(6), nil)
	require.NoError(t, err)
}

func TestLoadIsCancelled(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	f := newFake(t)
	_, dev := openFake(t, f, Config{})
	before := f.objects.Call()
	f.linkDelay.Call(1000)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := dev.LoadModules(ctx, someSources(50), func(done, _ int) {
		if done == 3 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "GPU 0: make 50 modules ready")
	links := f.calls("cuLinkAddData_v2")
	require.Less(t, links, 10)
	_, err = dev.LoadModules(ctx, someSources(50), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, links, f.calls("cuLinkAddData_v2"))
	require.Equal(t, before, f.objects.Call())
	modules, err := dev.LoadModules(t.Context(), someSources(50), nil)
	require.NoError(t, err)
	require.Len(t, modules, 50)
	require.Equal(t, 50, f.calls("cuLinkAddData_v2"), "what was assembled before stays at hand")
}

// A call that waits for what another assembles ends with its own context, and the
// other's end is not its own.
func TestWaitForAnothersAssembly(t *testing.T) {
	f := newFake(t)
	drv, one := openFake(t, f, Config{})
	two, err := drv.Open(1)
	require.NoError(t, err)
	f.linkDelay.Call(100_000)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := one.LoadModules(t.Context(), someSources(1), nil)
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return f.calls("cuLinkAddData_v2") == 1 }, 5*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = device.LoadModules(ctx, two, someSources(1), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	wg.Wait()

	bad := []device.Source{{Name: "bad.ptx", PTX: []byte(goodPTX + "frobnicate")}}
	for _, dev := range []device.Device{one, two} {
		wg.Go(func() {
			_, err := device.LoadModules(t.Context(), dev, bad, nil)
			assert.ErrorContains(t, err, fmt.Sprintf("cuLinkAddData(GPU %d, bad.ptx)", dev.Ordinal()))
		})
	}
	wg.Wait()
	require.Equal(t, 3, f.calls("cuLinkAddData_v2"))
}

func TestWarm(t *testing.T) {
	dir, sources := cacheDir(t), someSources(4)
	f := newFake(t)
	cfg, log := cachedIn(dir)
	drv, _ := openFake(t, f, cfg)
	var last [2]int
	require.NoError(t, drv.Warm(t.Context(), sources, func(done, total int) { last = [2]int{done, total} }))
	require.Equal(t, [2]int{4, 4}, last, "the two devices are of one kind")
	require.Equal(t, 4, f.calls("cuLinkAddData_v2"))
	require.Zero(t, f.calls("cuModuleLoadData"))
	require.Equal(t, 0, linksFor(t, dir, sources))
	require.Empty(t, log)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, drv.Warm(ctx, someSources(5), nil), context.Canceled)
	bad := []device.Source{{Name: "bad.ptx", PTX: []byte(goodPTX + "frobnicate")}}
	require.ErrorContains(t, drv.Warm(t.Context(), bad, nil), "bad.ptx, line 7")

	off, _ := openFake(t, newFake(t), Config{})
	require.ErrorContains(t, off.Warm(t.Context(), sources, nil), "off")
	old, err := open(newFake(t, "-DSM=61").library, cfg)
	require.NoError(t, err)
	var tooOld *OldGPUError
	require.ErrorAs(t, old.Warm(t.Context(), sources, nil), &tooOld)
}

func TestAssemblerIsNamed(t *testing.T) {
	name := newFake(t).assembler()
	require.Regexp(t, `^CUDA 12\.4 libcuda\.so\.1 of [1-9][0-9]{3,} bytes$`, name)
}

func TestMappedFile(t *testing.T) {
	const maps = `00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/nccl-run
7f0000000000-7f0000021000 rw-p 00000000 00:00 0
7f1000000000-7f1000100000 r--p 00000000 08:02 135522      /usr/lib/x86 64/libcuda.so.580.159.03
7f1000100000-7f1000200000 r-xp 00100000 08:02 135522      /usr/lib/x86 64/libcuda.so.580.159.03
7fffb2c0d000-7fffb2c2e000 rw-p 00000000 00:00 0           [stack]
nonsense
`
	for address, want := range map[uint64]string{
		0x400000:       "/usr/bin/nccl-run",
		0x451fff:       "/usr/bin/nccl-run",
		0x452000:       "",
		0x7f0000000010: "",
		0x7f1000100008: "/usr/lib/x86 64/libcuda.so.580.159.03",
		0x7fffb2c0d000: "",
		0:              "",
	} {
		require.Equal(t, want, mappedFile(maps, address), "%#x", address)
	}
}
