package nccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/topo"
)

// engine is a place where tests run kernels.
type engine struct {
	name string
	// config returns a Config for a rank on each of so many GPUs; where there are
	// fewer, on all of them in turn. What changes a PTX machine changes no GPU.
	config func(t testing.TB, ranks int, change ...func(*sim.Config)) Config
	// fast says that data may be large and repetitions many.
	fast bool
}

var (
	simEngine = engine{name: "sim", config: func(t testing.TB, ranks int, change ...func(*sim.Config)) Config {
		_, cfg := machine(t, ranks, change...)
		return cfg
	}}
	cudaEngine = engine{name: "cuda", fast: true, config: func(t testing.TB, ranks int, _ ...func(*sim.Config)) Config {
		gpus := openGPUs(t)
		devices := make([]device.Device, ranks)
		for rank := range devices {
			var err error
			devices[rank], err = gpus.Open(rank % gpus.NumDevices())
			require.NoError(t, err)
		}
		return small(Config{Devices: devices, System: systemOf(t, gpus.Infos())})
	}}
)

// onEngines runs test on the PTX machine and, where there is one, on a GPU; it
// skips the GPU by name otherwise.
func onEngines(t *testing.T, test func(t *testing.T, e engine)) {
	for _, e := range []engine{simEngine, cudaEngine} {
		t.Run(e.name, func(t *testing.T) {
			if e.name == cudaEngine.name {
				openGPUs(t)
			}
			test(t, e)
		})
	}
}

// gpus is the driver of all tests. It is never closed: opening and closing takes
// most of a second.
var gpus = sync.OnceValues(func() (*cuda.Driver, error) {
	return cuda.Open(cuda.Config{MaxConnections: 32})
})

// openGPUs returns the CUDA driver, or skips the test where there is no GPU.
func openGPUs(t testing.TB) *cuda.Driver {
	t.Helper()
	driver, err := gpus()
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		t.Skipf("skipped: needs a GPU (%v)", err)
	}
	require.NoError(t, err)
	return driver
}

// systemOf returns a description of GPUs: all on one CPU.
func systemOf(t testing.TB, infos []device.Info) *topo.System {
	t.Helper()
	var text strings.Builder
	text.WriteString(`<system version="1"><cpu numaid="0" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">`)
	for i, info := range infos {
		fmt.Fprintf(&text, `<pci busid="%s" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="%d" rank="%d" gdr="1"/></pci>`,
			info.BusID, i, info.SM, i)
	}
	text.WriteString(`</cpu></system>`)
	system, err := topo.Load("gpus.xml", func(string) ([]byte, error) { return []byte(text.String()), nil })
	require.NoError(t, err)
	return system
}

// soon returns a context that ends a test which hangs.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// everyProto is every protocol.
var everyProto = []coll.Proto{coll.LL, coll.LL128, coll.Simple}

// protos returns the protocols that ranks may use on e's GPUs, as the tests
// describe them.
func (e engine) protos(t testing.TB, ranks int) []coll.Proto {
	cfg := e.config(t, ranks)
	i := initializer{cfg: &cfg, shared: &shared{}}
	require.NoError(t, i.place())
	facts := planner.FactsOf(i.shared.layout)
	return slices.DeleteFunc(slices.Clone(everyProto), func(p coll.Proto) bool {
		why := planner.Unsafe(p, &facts)
		if why != "" {
			t.Logf("skipped: %v %s", p, why)
		}
		return why != ""
	})
}

// small limits what cfg uses, so that the PTX machine is quick.
func small(cfg Config) Config {
	cfg.MaxChannels, cfg.Threads = 2, 64
	cfg.BufferBytes = [coll.NumProtos]int{coll.LL: 16 << 10, coll.LL128: 16 << 10, coll.Simple: 16 << 10}
	return cfg
}

// machine returns a PTX machine of n GPUs and a Config for a rank on each, small
// enough to be quick.
func machine(t testing.TB, n int, change ...func(*sim.Config)) (*sim.Machine, Config) {
	t.Helper()
	var c sim.Config
	for range n {
		c.Devices = append(c.Devices, sim.H100())
	}
	for _, f := range change {
		f(&c)
	}
	m, err := sim.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m, small(Config{Devices: open(t, m), System: builtin(t, "dgx-h100")})
}
