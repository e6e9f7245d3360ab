package nccl

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

const someBuffer device.Ptr = 1 << 40

// works has the works of every launch, as a kernel would see them.
func works(t *testing.T, driver *fakedevice.Driver) *[][]abi.Work {
	var all [][]abi.Work
	driver.OnLaunch(func(l *device.Launch) {
		var args abi.KernelArgs
		require.NoError(t, devcomm.Decode(l.Args, &args))
		require.LessOrEqual(t, int(args.NumWorks), abi.InlineWorks)
		all = append(all, append([]abi.Work(nil), args.Works[:args.NumWorks]...))
	})
	return &all
}

// TestGroupLaunches checks that a group has one launch for each kernel, in an
// order that is the same on all ranks, that ranks take turns, and that the
// streams of a group are joined.
func TestGroupLaunches(t *testing.T) {
	driver, cfg := fakes(t, 2)
	var infos []LaunchInfo
	cfg.OnLaunch = func(l LaunchInfo) { infos = append(infos, l) }
	comms := mustInit(t, cfg)
	driver.TakeLog()

	require.NoError(t, Group(func(g *Calls) error {
		// Communicators in another order than their ranks.
		for _, c := range []*Comm{comms[1], comms[0]} {
			s, other := named(c, "s"), named(c, "other")
			require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, 10, coll.Float32, coll.OpSum, s))
			require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, 10, coll.Int32, coll.OpMax, other))
			require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, 20, coll.Float32, coll.OpSum, s))
			require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, 0, coll.Float32, coll.OpSum, s))
			require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, 40, coll.Int32, coll.OpMin, s))
		}
		require.Empty(t, driver.TakeLog(), "something was enqueued before the group was complete")
		return nil
	}))
	var want []string
	ranks := []string{"rank 0", "rank 1"}
	for _, rank := range ranks {
		want = append(want, rank+" other: record", rank+" s: wait", rank+" s: launch AllReduce_MinMax_u32_RING_LL", rank+" s: done")
	}
	for _, rank := range ranks {
		want = append(want, rank+" s: launch AllReduce_Sum_f32_RING_LL", rank+" s: done", rank+" other: wait")
	}
	var got []string
	for _, line := range driver.TakeLog() {
		line, _, _ = strings.Cut(line, " grid")
		got = append(got, line)
	}
	require.Equal(t, want, got)

	require.Len(t, infos, 4)
	require.Equal(t, LaunchInfo{
		Rank: 1, Op: 2, Kernel: "AllReduce_Sum_f32_RING_LL",
		Variant:  coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL},
		Channels: infos[3].Channels, Threads: infos[3].Threads, Works: 2, Bytes: 120,
	}, infos[3])
	require.Equal(t, "AllReduce_MinMax_u32_RING_LL", infos[1].Kernel)
	require.Equal(t, "AllReduce_MinMax_i32_RING_LL", infos[1].Variant.String())
	require.Equal(t, 2, infos[1].Works)
	// The largest comes first: operation 4 of the communicator.
	require.Equal(t, uint64(4), infos[1].Op)
}

// TestGroupWorks checks what kernels are given: buffers, operator arguments and
// operation numbers, through the plan that equal calls share.
func TestGroupWorks(t *testing.T) {
	driver, cfg := fakes(t, 1)
	cfg.Devices = append(cfg.Devices, cfg.Devices[0])
	comms := mustInit(t, cfg)
	seen := works(t, driver)
	c := comms[0]
	s := named(c, "s")
	require.NoError(t, c.AllReduce(0x1000, 0x2000, 8, coll.Int32, coll.OpMin, s))
	require.NoError(t, c.AllReduce(0x3000, 0x3000, 8, coll.Int32, coll.OpMax, s))
	require.NoError(t, Group(func(g *Calls) error {
		_ = g.AllReduce(c, 0x5000, 0x5000, 1000, coll.Float32, coll.OpProd, s)
		return g.AllReduce(c, 0x6000, 0x7000, 8, coll.Int32, coll.OpMax, s)
	}))
	require.Len(t, c.plans.plans, 2, "equal shapes share a plan")

	type part struct {
		send, recv abi.Ptr
		arg, op    uint64
		count      uint64
	}
	var got []part
	for _, launch := range *seen {
		for _, w := range launch {
			count := w.CountLo + w.CountHi
			if w.ChannelHi > w.ChannelLo {
				count += uint64(w.ChannelHi-w.ChannelLo-1) * w.CountMid
			}
			got = append(got, part{w.SendBuf, w.RecvBuf, w.RedOpArg, w.Op, count})
		}
	}
	require.Equal(t, []part{
		{0x1000, 0x2000, coll.OpMin.MinMaxArg(coll.Int32), 0, 8},
		{0x3000, 0x3000, coll.OpMax.MinMaxArg(coll.Int32), 1, 8},
		{0x5000, 0x5000, 0, 2, 1000},
		{0x6000, 0x7000, coll.OpMax.MinMaxArg(coll.Int32), 3, 8},
	}, got)
}

func TestGroupError(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	driver.TakeLog()
	cause := errors.New("changed my mind")
	var kept *Calls
	err := Group(func(g *Calls) error {
		kept = g
		require.NoError(t, sumF32(comms, someBuffer, 4)(g))
		return cause
	})
	require.Equal(t, cause, err)
	require.Empty(t, driver.TakeLog())

	err = kept.AllReduce(comms[0], someBuffer, someBuffer, 4, coll.Float32, coll.OpSum, named(comms[0], "s"))
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.EqualError(t, err, "AllReduce: the group is over; add operations inside the function given to Group")

	require.NoError(t, Group(func(*Calls) error { return nil }), "an empty group")
	require.Empty(t, driver.TakeLog())
}

// TestLaunchFails checks that a failure of the device is kept and named.
func TestLaunchFails(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	cause := errors.New("out of steam")
	driver.Fail(func(request string) error {
		if strings.HasPrefix(request, "rank 1 s: launch") {
			return cause
		}
		return nil
	})
	err := Group(sumF32(comms, someBuffer, 4))
	require.ErrorIs(t, err, ErrUnhandledCUDA)
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "AllReduce: rank 1: launch AllReduce_Sum_f32_RING_LL: out of steam")
	driver.Fail(nil)

	require.Equal(t, err, comms[1].AsyncError())
	require.NoError(t, comms[0].AsyncError())
	require.ErrorIs(t, comms[1].Finalize(context.Background()), cause)
	err = Group(sumF32(comms, someBuffer, 4))
	require.ErrorIs(t, err, ErrUnhandledCUDA)
	require.EqualError(t, err, "AllReduce: rank 1: an earlier failure; abort, close and make new communicators: "+
		"AllReduce: rank 1: launch AllReduce_Sum_f32_RING_LL: out of steam")
}

// TestLaunchFailsHalfway checks that what a group launched before a failure is
// waited for: all of its ranks leave.
func TestLaunchFailsHalfway(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	cause := errors.New("out of steam")
	driver.Fail(func(request string) error {
		if strings.HasPrefix(request, "rank 0 s: launch AllReduce_Sum") {
			return cause
		}
		return nil
	})
	driver.TakeLog()
	err := Group(func(g *Calls) error {
		for _, c := range comms {
			s := named(c, "s")
			_ = g.AllReduce(c, someBuffer, someBuffer, 40, coll.Int32, coll.OpMin, s)
			_ = g.AllReduce(c, someBuffer, someBuffer, 10, coll.Float32, coll.OpSum, s)
		}
		return nil
	})
	require.ErrorIs(t, err, cause)
	var got []string
	for _, line := range driver.TakeLog() {
		line, _, _ = strings.Cut(line, " grid")
		got = append(got, line)
	}
	require.Equal(t, []string{
		"rank 0 s: launch AllReduce_MinMax_u32_RING_LL", "rank 0 s: done",
		"rank 1 s: launch AllReduce_MinMax_u32_RING_LL", "rank 1 s: done",
		"rank 0 s: launch AllReduce_Sum_f32_RING_LL", "query event", "rank 0 s: record",
	}, got)
	require.ErrorIs(t, comms[0].AsyncError(), cause)
	require.NoError(t, comms[1].AsyncError())
}

// TestGroupsAreAtomic has many goroutines launch groups over the same ranks: all
// ranks must see them in one order.
func TestGroupsAreAtomic(t *testing.T) {
	driver, cfg := fakes(t, 3)
	comms := mustInit(t, cfg)
	reversed := []*Comm{comms[2], comms[1], comms[0]}
	order := map[string][]abi.Ptr{}
	var mu sync.Mutex
	driver.OnLaunch(func(l *device.Launch) {
		var args abi.KernelArgs
		err := devcomm.Decode(l.Args, &args)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			order[l.Label] = append(order[l.Label], args.Works[0].SendBuf)
		}
	})
	const goroutines, groups = 8, 50
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for j := range groups {
				list := comms
				if (i+j)%2 == 1 {
					list = reversed
				}
				if err := Group(sumF32(list, someBuffer+device.Ptr(16*(i*groups+j)), 4)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, order["rank 0"], goroutines*groups)
	require.Equal(t, order["rank 0"], order["rank 1"])
	require.Equal(t, order["rank 0"], order["rank 2"])
}
