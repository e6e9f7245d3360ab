package cluster

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// The protocols' places in abi are coll's.
func TestProtoOrder(t *testing.T) {
	require.EqualValues(t, coll.LL, abi.ProtoLL)
	require.EqualValues(t, coll.LL128, abi.ProtoLL128)
	require.EqualValues(t, coll.Simple, abi.ProtoSimple)
	require.EqualValues(t, coll.NumProtos, abi.NumProtos)
}

// slot is the size of a FIFO's slot of LL and Simple, in bytes. Those of LL128 are
// four times as large, whole tiles.
type slot int

const (
	// smallSlot makes many chunks of few elements.
	smallSlot slot = 256
	// largeSlot holds more than a warp, and more than a turn of the unrolled
	// loop, takes at once.
	largeSlot slot = 1536
)

// bytes returns the size of a slot of a protocol.
func (s slot) bytes(p coll.Proto) int {
	if p == coll.LL128 {
		return 4 * int(s)
	}
	return int(s)
}

// chunk returns the most bytes that a chunk may have.
func (s slot) chunk(p coll.Proto) int { return MostChunkBytes(p, s.bytes(p)) }

// setup says what cluster to make.
type setup struct {
	ranks, channels int
	gpus            int         // 0: one for each rank
	slot            slot        // 0: smallSlot
	device          device.Info // zero: sim.H100()
	firstStep       uint64
	seed            uint64
	grace           time.Duration
	weak            *sim.Weak // nil: sequentially consistent
}

// cluster is a Cluster of a test, which ends where something goes wrong that is
// not to be tested.
type cluster struct {
	*Cluster
	t       testing.TB
	slot    slot
	kernels map[coll.Variant]Kernel
}

func newCluster(t testing.TB, s setup) *cluster {
	c := &cluster{t: t, slot: cmp.Or(s.slot, smallSlot), kernels: map[coll.Variant]Kernel{}}
	full := Setup{
		Ranks: s.ranks, GPUs: s.gpus, Device: s.device, Channels: s.channels, FirstStep: s.firstStep, Seed: s.seed, Weak: s.weak, Grace: s.grace,
	}
	for _, p := range protos {
		full.BufferBytes[p] = int64(c.slot.bytes(p)) * abi.NumSteps
	}
	var err error
	c.Cluster, err = New(full)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// launch queues a kernel with the given works on a rank.
func (c *cluster) launch(v coll.Variant, rank, threads int, works []abi.Work) {
	if c.kernels[v] == nil {
		kernel, err := generated.Lookup(v, c.Devices[0].Info().SM)
		require.NoError(c.t, err)
		ptx, err := kernel.PTX()
		require.NoError(c.t, err)
		c.kernels[v], err = c.Load(kernel.Symbol, ptx)
		require.NoError(c.t, err)
	}
	require.NoError(c.t, c.Launch(c.kernels[v], rank, threads, works))
}

func (c *cluster) wait() error { return c.Wait() }

// run is one all-reduce.
type run struct {
	proto    coll.Proto
	op       coll.UserOp
	dataType coll.DataType
	count    int
	sendSkew int // elements that the send buffers are off a 512-byte boundary
	recvSkew int
	inPlace  bool
	threads  int                      // launched
	workers  int                      // of them; 0: all
	chunk    int                      // bytes; 0: the most
	channels []int                    // the first and the last
	value    func(rank, i int) uint64 // of element i; nil: random ones
	scalar   func(rank int) uint64    // of mulsum; nil: random ones
	onDevice bool                     // the scalar is in device memory
	divide   int                      // what an average of integers divides by; 0: the number of ranks
}

func (r *run) variant() coll.Variant {
	return (&Call{Proto: r.proto, Op: r.op, Type: r.dataType}).Variant()
}

// prepare allocates and fills the buffers of a run.
func (c *cluster) prepare(r *run, seed uint64) *Operands {
	r.chunk = cmp.Or(r.chunk, c.slot.chunk(r.proto))
	o, err := c.Prepare(Call{
		Proto: r.proto, Op: r.op, Type: r.dataType, Count: r.count, SendSkew: r.sendSkew, RecvSkew: r.recvSkew, InPlace: r.inPlace,
		Workers: cmp.Or(r.workers, r.threads), ChunkBytes: r.chunk, ChannelLo: r.channels[0], ChannelHi: r.channels[1], Seed: seed,
		Value: r.value, Scalar: r.scalar, ScalarOnDevice: r.onDevice, Divisor: r.divide,
	})
	require.NoError(c.t, err)
	return o
}

// all runs an all-reduce on all ranks and checks it, and what it left.
func (c *cluster) all(r *run, seed uint64) {
	c.t.Helper()
	o := c.allReduce(r, seed)
	require.NoError(c.t, c.wait())
	c.check(o)
}

func (c *cluster) check(o *Operands) {
	c.t.Helper()
	require.NoError(c.t, c.Check(o))
}

func (c *cluster) read(rank int, p device.Ptr, size int) []byte {
	c.t.Helper()
	b, err := c.Read(rank, p, size)
	require.NoError(c.t, err)
	return b
}

func (c *cluster) connections() []devcomm.Connection {
	all, err := c.Comms.Inspect()
	require.NoError(c.t, err)
	return all
}

// connection returns the one of channel 0 from one rank to another.
func (c *cluster) connection(from, to int) devcomm.Connection {
	for _, conn := range c.connections() {
		if conn.Channel == 0 && conn.From == from && conn.To == to {
			return conn
		}
	}
	require.FailNow(c.t, "no connection", "from %d to %d", from, to)
	return devcomm.Connection{}
}

// neighbours returns the ranks before and after one in a channel's ring.
func (c *cluster) neighbours(ch, rank int) (prev, next int) {
	ring := c.Config.Rings[ch]
	i := slices.Index(ring, rank)
	return ring[(i+len(ring)-1)%len(ring)], ring[(i+1)%len(ring)]
}
