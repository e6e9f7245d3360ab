package devcomm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
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
func (s slot) chunk(p coll.Proto) int {
	switch p {
	case coll.LL:
		return s.bytes(p) / abi.LLLineBytes * abi.LLDataBytes
	case coll.LL128:
		return s.bytes(p) / abi.LL128LineBytes * abi.LL128DataBytes
	}
	return s.bytes(p) * abi.SimpleChunkSteps
}

// setup says what cluster to make.
type setup struct {
	ranks, channels int
	gpus            int         // 0: one for each rank
	slot            slot        // 0: smallSlot
	gpu             device.Info // zero: sim.H100()
	firstStep       uint64
	seed            uint64
	grace           time.Duration
	weak            *sim.Weak // nil: sequentially consistent
}

// cluster is a PTX machine with a stream for each rank of one communicator.
type cluster struct {
	t       testing.TB
	machine *sim.Machine
	slot    slot
	devices []device.Device
	streams []device.Stream
	comms   *Comms
	config  Config
	modules map[coll.Variant][]device.Function // by rank
}

// rings returns, for each channel, another order of the ranks.
func rings(nranks, nchannels int) [][]int {
	rng := rand.New(rand.NewPCG(uint64(nranks), uint64(nchannels)))
	all := make([][]int, nchannels)
	for ch := range all {
		all[ch] = rng.Perm(nranks)
	}
	return all
}

func newCluster(t testing.TB, s setup) *cluster {
	c := &cluster{t: t, slot: cmp.Or(s.slot, smallSlot), modules: map[coll.Variant][]device.Function{}}
	var err error
	if s.gpu.SM == 0 {
		s.gpu = sim.H100()
	}
	c.machine, err = sim.New(sim.Config{
		Devices: slices.Repeat([]device.Info{s.gpu}, cmp.Or(s.gpus, s.ranks)), Seed: s.seed, StuckGrace: s.grace, Weak: s.weak,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.machine.Close()) })
	for r := range s.ranks {
		dev, err := c.machine.Open(r % cmp.Or(s.gpus, s.ranks))
		require.NoError(t, err)
		stream, err := dev.NewStream()
		require.NoError(t, err)
		c.devices = append(c.devices, dev)
		c.streams = append(c.streams, stream)
	}
	c.config = Config{Rings: rings(s.ranks, s.channels), FirstStep: s.firstStep}
	for _, p := range protos {
		c.config.BufferBytes[p] = int64(c.slot.bytes(p)) * abi.NumSteps
	}
	c.comms, err = New(c.devices, c.config)
	require.NoError(t, err)
	return c
}

// function returns a rank's kernel of a variant.
func (c *cluster) function(v coll.Variant, rank int) device.Function {
	if c.modules[v] == nil {
		kernel, err := generated.Lookup(v, c.devices[0].Info().SM)
		require.NoError(c.t, err)
		ptx, err := kernel.PTX()
		require.NoError(c.t, err)
		for _, dev := range c.devices {
			module, err := dev.LoadModule(kernel.Symbol, ptx)
			require.NoError(c.t, err)
			f, err := module.Function(kernel.Symbol)
			require.NoError(c.t, err)
			c.modules[v] = append(c.modules[v], f)
		}
	}
	return c.modules[v][rank]
}

// launch queues a kernel with the given works on a rank.
func (c *cluster) launch(v coll.Variant, rank, threads int, works []abi.Work) {
	args := abi.KernelArgs{Comm: c.comms.Comm(rank), NumWorks: uint32(len(works))}
	if rest := works[copy(args.Works[:], works):]; len(rest) > 0 {
		overflow, err := c.devices[rank].Alloc(Size(rest), fmt.Sprintf("rank %d works", rank))
		require.NoError(c.t, err)
		require.NoError(c.t, c.devices[rank].CopyIn(overflow, Append(nil, rest)))
		args.Overflow = abi.Ptr(overflow)
	}
	var labels []string
	for ch := range c.config.Rings {
		labels = append(labels, fmt.Sprintf("ch %d", ch))
	}
	require.NoError(c.t, c.streams[rank].Launch(&device.Launch{
		Function: c.function(v, rank), Grid: len(labels), Threads: threads, Args: Append(nil, &args),
		Label: fmt.Sprintf("rank %d", rank), CTALabels: labels,
	}))
}

// wait waits for all ranks and returns the first failure.
func (c *cluster) wait() error {
	for _, s := range c.streams {
		if err := s.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// run is one all-reduce with everything that may vary.
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

// divisor is what an average over nranks ranks divides by.
func (r *run) divisor(nranks int) int { return cmp.Or(r.divide, nranks) }

func (r *run) variant() coll.Variant {
	return coll.Variant{Func: coll.AllReduce, Op: r.op.Device(r.dataType), Type: r.dataType.Unsigned(), Algo: coll.Ring, Proto: r.proto}
}

// guard is what surrounds every buffer, in bytes.
const guard = 64

// operands are the buffers of one run.
type operands struct {
	run     *run
	parts   []part // by channel
	work    []abi.Work
	inputs  [][]byte // by rank
	scalars []uint64 // of mulsum, by rank
	send    []device.Ptr
	recv    []device.Ptr
}

// part is a channel's share, in elements.
type part struct{ first, count int }

// prepare allocates and fills the buffers of a run. Its channels share the
// elements unevenly, as a planner would not, but may.
func (c *cluster) prepare(r *run, seed uint64) *operands {
	rng := rand.New(rand.NewPCG(seed, 1))
	r.chunk = cmp.Or(r.chunk, c.slot.chunk(r.proto))
	o := &operands{run: r}
	w := abi.Work{
		Op: seed, ChunkBytes: uint32(r.chunk),
		ChannelLo: uint16(r.channels[0]), ChannelHi: uint16(r.channels[1]),
		Threads: uint16(r.threads),
	}
	if r.workers != 0 {
		w.Threads = uint16(r.workers)
	}
	switch r.op {
	case coll.OpMin, coll.OpMax:
		w.RedOpArg = r.op.MinMaxArg(r.dataType)
	case coll.OpAvg:
		w.RedOpArg = coll.AvgArg(r.dataType, r.divisor(len(c.devices)))
	}
	n := r.channels[1] - r.channels[0] + 1
	if n == 1 {
		w.CountLo = uint64(r.count)
	} else {
		lo := r.count / n
		mid := 0
		if n > 2 {
			mid = (r.count - lo) / n
		}
		w.CountLo, w.CountMid, w.CountHi = uint64(lo), uint64(mid), uint64(r.count-lo-(n-2)*mid)
	}
	first := 0
	for i := range n {
		count := int(w.CountMid)
		switch i {
		case 0:
			count = int(w.CountLo)
		case n - 1:
			count = int(w.CountHi)
		}
		o.parts = append(o.parts, part{first, count})
		first += count
	}
	require.Equal(c.t, r.count, first)

	size := r.dataType.Size()
	for rank, dev := range c.devices {
		input := make([]byte, r.count*size)
		for i := range r.count {
			if r.value != nil {
				setElement(r.dataType, input, i, r.value(rank, i))
			} else {
				setElement(r.dataType, input, i, random(r.dataType, rng))
			}
		}
		o.inputs = append(o.inputs, input)
		send := c.buffer(dev, r.count*size, r.sendSkew*size, fmt.Sprintf("rank %d sendbuf", rank))
		recv := send
		if !r.inPlace {
			recv = c.buffer(dev, r.count*size, r.recvSkew*size, fmt.Sprintf("rank %d recvbuf", rank))
		}
		if len(input) > 0 {
			require.NoError(c.t, dev.CopyIn(send, input))
		}
		o.send, o.recv = append(o.send, send), append(o.recv, recv)
		work := w
		work.SendBuf, work.RecvBuf = abi.Ptr(send), abi.Ptr(recv)
		if r.op == coll.OpMulSum {
			scalar := random(r.dataType, rng)
			if r.scalar != nil {
				scalar = r.scalar(rank)
			}
			o.scalars = append(o.scalars, scalar)
			work.RedOpArg = scalar
			if r.onDevice {
				p := c.buffer(dev, size, 1*size, fmt.Sprintf("rank %d scalar", rank))
				c.setScalar(o, rank, p, scalar)
				work.RedOpArg, work.RedOpArgIsPtr = uint64(p), 1
			}
		}
		o.work = append(o.work, work)
	}
	return o
}

// setScalar writes a rank's scalar to device memory.
func (c *cluster) setScalar(o *operands, rank int, p device.Ptr, scalar uint64) {
	o.scalars[rank] = scalar
	data := make([]byte, o.run.dataType.Size())
	setElement(o.run.dataType, data, 0, scalar)
	require.NoError(c.t, c.devices[rank].CopyIn(p, data))
}

// buffer allocates bytes between two guards, skew bytes off a boundary.
func (c *cluster) buffer(dev device.Device, size, skew int, label string) device.Ptr {
	p, err := dev.Alloc(int64(guard+skew+size+guard), label)
	require.NoError(c.t, err)
	require.NoError(c.t, dev.CopyIn(p, bytes.Repeat([]byte{0xa5}, guard+skew+size+guard)))
	return p + device.Ptr(guard+skew)
}

// check compares every element on every rank with the reference, bit for bit, and
// the guards and the inputs with what they were.
func (c *cluster) check(o *operands) {
	c.t.Helper()
	r, size := o.run, o.run.dataType.Size()
	want := c.expected(o)
	for rank, dev := range c.devices {
		got := c.read(dev, o.recv[rank], r.count*size)
		for i := 0; i < r.count && !bytes.Equal(want, got); i++ {
			w, g := element(r.dataType, want, i), element(r.dataType, got, i)
			require.Equal(c.t, w, g, "rank %d element %d of %d: want %#x, got %#x", rank, i, r.count, w, g)
		}
		if !r.inPlace {
			sent := c.read(dev, o.send[rank], r.count*size)
			require.True(c.t, bytes.Equal(o.inputs[rank], sent), "rank %d: the input was changed", rank)
		}
	}
}

// expected returns what every rank is to have, by the reference.
func (c *cluster) expected(o *operands) []byte {
	r, size := o.run, o.run.dataType.Size()
	want := make([]byte, r.count*size)
	for i, p := range o.parts {
		reference(r, o.scalars, r.chunk/size, c.config.Rings[r.channels[0]+i], o.inputs, p, want)
	}
	return want
}

// read returns a buffer after checking the guards around it.
func (c *cluster) read(dev device.Device, p device.Ptr, size int) []byte {
	c.t.Helper()
	all := make([]byte, guard+size+guard)
	require.NoError(c.t, dev.CopyOut(all, p-guard))
	canary := bytes.Repeat([]byte{0xa5}, guard)
	require.Equal(c.t, canary, all[:guard], "the guard before the buffer was written")
	require.Equal(c.t, canary, all[guard+size:], "the guard after the buffer was written")
	return all[guard : guard+size]
}
