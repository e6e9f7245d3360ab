package nccl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

func TestCloseFreesWithTheLastRank(t *testing.T) {
	driver, cfg := fakes(t, 3)
	comms, err := InitAll(context.Background(), cfg)
	require.NoError(t, err)
	require.NoError(t, comms[1].Close())
	require.NoError(t, comms[1].Close(), "closing again does nothing")
	require.NoError(t, comms[0].Close())
	require.NotZero(t, driver.Live(), "rank 2 is open, and peers write into each other's memory")
	require.NoError(t, comms[2].Close())
	require.Zero(t, driver.Live())
	log := driver.TakeLog()
	require.Len(t, fakedevice.Grep(log, ": unload "), len(fakedevice.Grep(log, ": load ")))
}

func TestUseAfterClose(t *testing.T) {
	_, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	c := comms[1]
	require.NoError(t, c.Close())
	s := named(c, "s")
	err := c.AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, s)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.EqualError(t, err, "AllReduce: rank 1: the communicator is closed; make a new one with InitAll")
	require.EqualError(t, Group(sumF32(comms, someBuffer, 1)), err.Error())
	require.EqualError(t, c.Finalize(context.Background()), "Finalize: rank 1: the communicator is closed; make a new one with InitAll")
	require.NoError(t, c.AsyncError())
	require.NoError(t, c.Abort())
	require.NoError(t, c.Close())

	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	require.NoError(t, c.Abort(), "memory is freed by now")
	require.NoError(t, c.AsyncError())
}

// TestUseAfterPeerClosed refuses what a closed rank will never take part in, but
// not what that rank enqueued before it was closed.
func TestUseAfterPeerClosed(t *testing.T) {
	driver, cfg := fakes(t, 3)
	comms := mustInit(t, cfg)
	call := func(rank int) error {
		return comms[rank].AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, named(comms[rank], "s"))
	}
	const advice = "; close a rank after its last operation, or make new communicators with InitAll"
	require.NoError(t, Group(sumF32(comms, someBuffer, 1)))
	require.NoError(t, call(1))
	require.NoError(t, comms[1].Close())
	require.NoError(t, call(0), "rank 1 enqueued it before it was closed")

	driver.TakeLog()
	err := call(0)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.EqualError(t, err, "AllReduce: rank 0: closed already and will not take part: rank 1 (after 2 operations)"+advice)
	require.NoError(t, call(2))
	require.NoError(t, comms[2].Close())
	driver.TakeLog()
	err = call(0)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.EqualError(t, err, "AllReduce: rank 0: closed already and will not take part: rank 1 (after 2 operations), rank 2 (after 2 operations)"+advice)
	require.Empty(t, driver.TakeLog())
	require.NoError(t, comms[0].Close())
}

// TestClosedPeerAndCaptures checks that captured operations, of which ranks may
// have recorded different numbers, make nobody refuse.
func TestClosedPeerAndCaptures(t *testing.T) {
	_, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	s := named(comms[0], "s").(device.Capturer)
	sum := func() error {
		return comms[0].AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, s)
	}
	capture := func() {
		require.NoError(t, s.BeginCapture())
		require.NoError(t, sum())
		_, err := s.EndCapture()
		require.NoError(t, err)
	}
	capture()
	require.NoError(t, comms[1].AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, named(comms[1], "s")))
	require.NoError(t, comms[1].Close())
	capture()
	require.NoError(t, sum())
	require.ErrorContains(t, sum(), "rank 1 (after 1 operations)")
}

func TestUseAfterAbort(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	require.NoError(t, Group(sumF32(comms, someBuffer, 1)))
	require.NoError(t, comms[0].Abort())
	require.NoError(t, comms[0].Abort())
	driver.TakeLog()
	for _, c := range comms {
		err := c.AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, named(c, "s"))
		require.ErrorIs(t, err, ErrInvalidUsage)
		var aborted *AbortedError
		require.ErrorAs(t, err, &aborted)
		require.ErrorAs(t, c.AsyncError(), &aborted)
		require.ErrorAs(t, c.Finalize(context.Background()), &aborted, "what is done may be anything")
		require.False(t, aborted.Running)
	}
	require.Empty(t, fakedevice.Grep(driver.TakeLog(), "launch"))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	require.Zero(t, driver.Live())
}

func TestNilAndZeroComm(t *testing.T) {
	for _, c := range []*Comm{nil, {}} {
		_, explained := c.Explain(1, coll.Float32, coll.OpSum)
		for _, err := range []error{
			c.AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, nil),
			Group(func(g *Calls) error {
				return g.AllReduce(c, someBuffer, someBuffer, 1, coll.Float32, coll.OpSum, nil)
			}),
			c.Abort(), c.AsyncError(), c.Close(), c.Finalize(context.Background()), explained,
		} {
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.ErrorContains(t, err, "communicator is nil or zero; make one with InitAll")
		}
		require.Zero(t, c.Rank())
		require.Zero(t, c.NumRanks())
		require.Zero(t, c.NumChannels())
		require.Nil(t, c.Device())
		require.Nil(t, c.Topology())
		require.Nil(t, c.Graph())
	}
}

func TestNilArguments(t *testing.T) {
	_, cfg := fakes(t, 1)
	var none context.Context
	_, err := InitAll(none, cfg)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, mustInit(t, cfg)[0].Finalize(none), ErrInvalidArgument)
	require.ErrorIs(t, Group(nil), ErrInvalidArgument)
}

// TestKernelsAreShared checks that the first communicator on a device decides
// what is loaded there.
func TestKernelsAreShared(t *testing.T) {
	driver, cfg := fakes(t, 2)
	sum := coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL}
	prod := sum
	prod.Op = coll.Prod
	cfg.Kernels = []coll.Variant{sum, sum}
	comms := mustInit(t, cfg)
	require.Len(t, fakedevice.Grep(driver.TakeLog(), ": load "), 2)
	_ = mustInit(t, cfg)
	require.Empty(t, fakedevice.Grep(driver.TakeLog(), ": load "))

	cfg.Kernels = []coll.Variant{prod}
	_, err := InitAll(context.Background(), cfg)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.EqualError(t, err, "InitAll: load kernels: AllReduce_Prod_f32_RING_LL is not loaded on GPU 0, and can no longer be: "+
		"the first communicator of the process there loaded 1 kernels; name all that will be needed in its Config.Kernels, or close its communicators first")

	err = comms[0].AllReduce(someBuffer, someBuffer, 1, coll.Float32, coll.OpProd, named(comms[0], "s"))
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.NotErrorIs(t, err, ErrNotBuilt)
	require.EqualError(t, err, "AllReduce: rank 0: op prod: the kernels for Prod of f32 are not among Config.Kernels; name one there")
}

// TestOneRank checks that an only rank needs no kernel: its outcome is its input,
// and if that is where it is to be there is nothing to do.
func TestOneRank(t *testing.T) {
	driver, cfg := fakes(t, 1)
	c := mustInit(t, cfg)[0]
	dev := c.Device()
	send, err := dev.Alloc(64, "send")
	require.NoError(t, err)
	recv, err := dev.Alloc(64, "recv")
	require.NoError(t, err)
	require.NoError(t, dev.CopyIn(send, []byte("sixteen bytes...and more")))
	driver.TakeLog()

	s := named(c, "s")
	require.NoError(t, c.AllReduce(send, recv, 4, coll.Float32, coll.OpSum, s))
	require.NoError(t, c.AllReduce(send, send, 4, coll.Float32, coll.OpSum, s))
	require.Equal(t, []string{"rank 0 s: copy 16", "rank 0 s: record"}, driver.TakeLog())
	got := make([]byte, 20)
	require.NoError(t, dev.CopyOut(got, recv))
	require.Equal(t, "sixteen bytes...\x00\x00\x00\x00", string(got))
}

func TestExplain(t *testing.T) {
	_, cfg := fakes(t, 4)
	c := mustInit(t, cfg)[2]
	require.Equal(t, 2, c.Rank())
	require.Equal(t, 4, c.NumRanks())
	require.Equal(t, cfg.Devices[2], c.Device())
	require.Equal(t, 4, c.Topology().NRanks())
	require.ElementsMatch(t, []int{0, 1, 2, 3}, c.Graph().Ring(0))
	e, err := c.Explain(1000, coll.Int32, coll.OpMin)
	require.NoError(t, err)
	require.Equal(t, int64(4000), e.Choice.Bytes)
	require.LessOrEqual(t, e.Choice.Channels, c.NumChannels())
	// A plan does not depend on the scalar.
	_, err = c.Explain(1000, coll.BFloat16, coll.OpMulSum)
	require.NoError(t, err)
	_, err = c.Explain(1, coll.NumDataTypes, coll.OpMin)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = c.ExplainGroup(2, 1, coll.NumDataTypes, coll.OpMin)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = c.ExplainGroup(0, 1, coll.Int32, coll.OpMin)
	require.EqualError(t, err, "ExplainGroup: rank 2: a group of 0 operations; 1 or more are allowed")
}

// TestCloseWaits closes with an operation under way: it is done before memory is
// freed, and its outcome is right.
func TestCloseWaits(t *testing.T) {
	_, cfg := machine(t, 2)
	comms, err := InitAll(context.Background(), cfg)
	require.NoError(t, err)
	j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 3000, false)
	require.NoError(t, Group(j.enqueue))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
	j.check(t)
}
