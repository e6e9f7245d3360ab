package nccl

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
)

// gpusOf returns a Config for a rank on each of the given GPUs of a PTX machine.
func gpusOf(t *testing.T, gpus ...device.Info) Config {
	for i := range gpus {
		gpus[i].BusID = fmt.Sprintf("0000:%02x:00.0", i+1)
	}
	_, cfg := machine(t, 0, func(c *sim.Config) { c.Devices = gpus })
	cfg.System = systemOf(t, gpus)
	return cfg
}

// TestKernelsOfGPU has GPUs of one kind and of two: each runs the best kernel that
// it has, and together they get the same bits.
func TestKernelsOfGPU(t *testing.T) {
	for _, gpus := range [][]device.Info{
		{sim.A100(), sim.A100()},
		{sim.H100(), sim.H100()},
		{sim.H100(), sim.A100(), sim.H100()},
	} {
		t.Run(fmt.Sprint(len(gpus), " ", gpus[0].Name), func(t *testing.T) {
			comms := mustInit(t, gpusOf(t, gpus...))
			streams := streamsOf(t, comms)
			for _, op := range builtOps {
				j := newJob(t, comms, streams, coll.BFloat16, op, 700, false)
				require.NoError(t, Group(j.enqueue))
				j.check(t)
			}
			v := coll.Variant{Func: coll.AllReduce, Type: coll.BFloat16, Algo: coll.Ring}
			for _, c := range comms {
				for _, sm := range []int{70, 90} {
					k, err := generated.Lookup(v, sm)
					require.NoError(t, err)
					best := sm == 90 == (c.device.Info().SM >= 90)
					require.Equal(t, best, c.kernels.Function(k) != nil, "%s for sm_%d on %s", k.Symbol, k.SM, c.device.Info().Name)
				}
			}
		})
	}
}

// TestOldGPU has one GPU that is too old for 8-bit floats, beside one that is not.
// Without it the other reduces them, with what was loaded then.
func TestOldGPU(t *testing.T) {
	const why = "f8e5m2 reductions need compute capability 9.0; GPU 1 is sm_80"
	cfg := gpusOf(t, sim.H100(), sim.A100())
	comms := mustInit(t, cfg)
	streams := streamsOf(t, comms)
	j := newJob(t, comms, streams, coll.F8E5M2, coll.OpSum, 16, false)
	err := Group(j.enqueue)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, why)

	named := cfg
	named.Kernels = []coll.Variant{{Func: coll.AllReduce, Type: coll.F8E5M2, Algo: coll.Ring}}
	_, err = InitAll(context.Background(), named)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.EqualError(t, err, "InitAll: Config.Kernels: find kernel: "+why)

	alone := cfg
	alone.Devices = cfg.Devices[:1]
	comms = mustInit(t, alone)
	j = newJob(t, comms, streams[:1], coll.F8E5M2, coll.OpMulSum, 16, false)
	require.NoError(t, Group(j.enqueue))
	j.check(t)
}
