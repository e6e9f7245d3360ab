package bench

import (
	"fmt"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/topo"
)

// MaxRanksPerGPU is the most ranks on one GPU: kernels that wait for one another
// need a hardware queue each, and a GPU has so many (CUDA C++ Programming Guide,
// CUDA_DEVICE_MAX_CONNECTIONS).
const MaxRanksPerGPU = 32

// Connections returns how many hardware queues the driver is to give each GPU, 0
// for its default. Streams share queues in an order that is the driver's, so
// several ranks on a GPU get all there are.
func Connections(ranksPerGPU int) int {
	if ranksPerGPU > 1 {
		return MaxRanksPerGPU
	}
	return 0
}

// CUDAMachine returns the GPUs of a driver, connected as system says, which took
// some time to learn. Every pass opens the driver anew with open, and so begins
// without kernels.
func CUDAMachine(driver *cuda.Driver, system *topo.System, learned time.Duration, open func() (*cuda.Driver, error)) *Machine {
	m := &Machine{
		Device: "cuda", System: system, gpus: driver.Infos(), eager: true,
		TimeSource: "times are from enqueueing to completion, by the host's clock",
		Describe: func(gpus int) string {
			return fmt.Sprintf("%s, %d used; topology %s", driver.Describe(), gpus, system.Name)
		},
		open: func(*Config, uint64) (device.Driver, error) { return open() },
		startup: func(d device.Driver) []report.Phase {
			s := d.(*cuda.Driver).Startup()
			return []report.Phase{
				phase("driver", s.Library+s.Init, "libcuda and cuInit"),
				phase("topology", learned, ""),
				phase("contexts", s.Contexts, ""),
				phase("assembly", s.Cubins, fmt.Sprintf("%d cubins from disk, %d assembled in %s of all cores together, %d shared",
					s.FromDisk, s.Assembled, milliseconds(s.Linking), s.Shared)),
				phase("load", s.Loading, fmt.Sprintf("%d modules", s.Modules)),
			}
		},
	}
	m.maxBuffer = func(c *Config) int64 {
		least := m.gpus[0].MemoryBytes
		for _, g := range m.gpus[:c.Threads*c.GPUs] {
			least = min(least, g.MemoryBytes)
		}
		// A sending and a receiving buffer of each rank.
		return least / int64(2*c.RanksPerGPU)
	}
	return m
}

// phase returns a part of a start.
func phase(name string, took time.Duration, note string) report.Phase {
	return report.Phase{Name: name, Milliseconds: took.Seconds() * 1e3, Note: note}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }
