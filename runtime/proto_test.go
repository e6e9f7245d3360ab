package nccl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

// TestLL128OverPCIe asks for LL128 where links may tear its lines: it is refused
// if nothing else may be used, and left out otherwise.
func TestLL128OverPCIe(t *testing.T) {
	for _, test := range []struct{ protos, refused string }{
		{"LL128", "AllReduce: rank 0: op sum: Sum of f32 with any algorithm and LL128 (NCCL_PROTO) is not possible: LL128 needs NVLink between neighbours, the channels have PHB; possible: Ring LL, Ring Simple"},
		{"LL128,Simple", ""},
		{"^Simple", ""},
	} {
		t.Run(test.protos, func(t *testing.T) {
			m, err := sim.New(sim.Config{Devices: []device.Info{sim.L4(), sim.L4(), sim.L4(), sim.L4()}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, m.Close()) })
			comms := mustInit(t, small(Config{
				Devices: open(t, m), System: builtin(t, "pcie8"), Getenv: variables("NCCL_PROTO", test.protos),
				OnLaunch: func(l LaunchInfo) { require.NotEqual(t, coll.LL128, l.Variant.Proto) },
			}))
			j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 500, false)
			err = Group(j.enqueue)
			if test.refused != "" {
				require.ErrorIs(t, err, ErrInvalidArgument)
				require.EqualError(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			j.check(t)
		})
	}
}

// TestFIFOsOfUsableProtocols: a connection has memory for the protocols that may
// be used on it.
func TestFIFOsOfUsableProtocols(t *testing.T) {
	for machine, sm := range map[string]int{"dgx-h100": 90, "pcie8": 89} {
		info := fakeInfo
		info.SM = sm
		driver := fakedevice.New(2, info)
		mustInit(t, Config{Devices: open(t, driver), System: builtin(t, machine)})
		log := strings.Join(driver.TakeLog(), "\n")
		require.Contains(t, log, "LL recv from")
		require.Contains(t, log, "Simple recv from")
		require.Equal(t, machine == "dgx-h100", strings.Contains(log, "LL128 recv from"), "%s:\n%s", machine, log)
	}
}

// TestLaunchBounds: of a large operation every kernel gets all the threads it was
// compiled for. The planner has the numbers too, as those of NCCL.
func TestLaunchBounds(t *testing.T) {
	for _, proto := range []coll.Proto{coll.LL, coll.LL128, coll.Simple} {
		_, cfg := fakes(t, 2)
		cfg.Getenv = variables("NCCL_PROTO", proto.String())
		threads := 0
		cfg.OnLaunch = func(l LaunchInfo) {
			kernel, err := generated.Lookup(l.Variant, fakeInfo.SM)
			require.NoError(t, err)
			threads = l.Threads
			require.Equal(t, kernel.MaxThreads, threads, "%v", proto)
		}
		comms := mustInit(t, cfg)
		require.NoError(t, comms[0].AllReduce(someBuffer, someBuffer, 1<<28, coll.Float32, coll.OpSum, named(comms[0], "s")))
		require.NotZero(t, threads)
	}
}
