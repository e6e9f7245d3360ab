package nccl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

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
	return m, Config{
		Devices:     open(t, m),
		System:      builtin(t, "dgx-h100"),
		MaxChannels: 2,
		Threads:     64,
		BufferBytes: [coll.NumProtos]int{coll.LL: 16 << 10, coll.Simple: 16 << 10},
	}
}

// job is one all-reduce on all ranks, with its data and the outcome that the
// host expects.
type job struct {
	comms      []*Comm
	op         coll.UserOp
	typ        coll.DataType
	count      int
	send, recv []device.Ptr // by rank
	streams    []device.Stream
	want       []byte
}

// newJob allocates and fills the buffers of a job on the given streams, one for
// each rank. In-place jobs have equal buffers.
func newJob(t testing.TB, comms []*Comm, streams []device.Stream, typ coll.DataType, op coll.UserOp, count int, inPlace bool) *job {
	t.Helper()
	j := &job{comms: comms, op: op, typ: typ, count: count, streams: streams}
	values := make([][]int64, len(comms))
	rng := rand.New(rand.NewPCG(uint64(count), uint64(op)<<8|uint64(typ)))
	for rank, c := range comms {
		values[rank] = make([]int64, count)
		data := make([]byte, 0, count*typ.Size())
		for i := range count {
			values[rank][i] = someValue(rng, typ, op)
			data = appendValue(data, typ, values[rank][i])
		}
		size := int64(max(1, len(data)))
		send, err := c.Device().Alloc(size, fmt.Sprintf("rank %d send", rank))
		require.NoError(t, err)
		if count > 0 {
			require.NoError(t, c.Device().CopyIn(send, data))
		}
		recv := send
		if !inPlace {
			recv, err = c.Device().Alloc(size, fmt.Sprintf("rank %d recv", rank))
			require.NoError(t, err)
		}
		j.send, j.recv = append(j.send, send), append(j.recv, recv)
	}
	j.want = []byte{}
	for i := range count {
		x := values[0][i]
		for _, v := range values[1:] {
			x = reduce(op, x, v[i])
		}
		j.want = appendValue(j.want, typ, x)
	}
	return j
}

// someValue returns a value that typ holds exactly and whose reduction with any
// few others is exact in it too, so that the order of a sum does not matter.
func someValue(rng *rand.Rand, typ coll.DataType, op coll.UserOp) int64 {
	switch {
	case typ.Float() && op == coll.OpProd:
		return 1 + rng.Int64N(2)
	case typ.Float():
		return rng.Int64N(101) - 50
	case typ.Signed():
		return rng.Int64() >> (64 - 8*typ.Size())
	default:
		return int64(rng.Uint64() >> (64 - 8*typ.Size()))
	}
}

// reduce is the host's arithmetic. Integers narrower than 64 bits wrap around
// when they are stored.
func reduce(op coll.UserOp, a, b int64) int64 {
	switch op {
	case coll.OpSum:
		return a + b
	case coll.OpProd:
		return a * b
	case coll.OpMin:
		return min(a, b)
	default:
		return max(a, b)
	}
}

// appendValue appends v as an element of typ.
func appendValue(b []byte, typ coll.DataType, v int64) []byte {
	switch typ {
	case coll.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
	case coll.Float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	case coll.Float16:
		return binary.LittleEndian.AppendUint16(b, halfBits(v))
	}
	for range typ.Size() {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// halfBits returns an integer below 2048 as binary16: a binary32 of the same
// value has its fraction in the upper 10 bits.
func halfBits(v int64) uint16 {
	if v == 0 {
		return 0
	}
	f := math.Float32bits(float32(v))
	exponent := f>>23&0xff - 127 + 15
	return uint16(f>>16&0x8000 | exponent<<10 | f>>13&0x3ff)
}

// enqueue adds the job to a group.
func (j *job) enqueue(g *Calls) error {
	for rank, c := range j.comms {
		if err := g.AllReduce(c, j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.op, j.streams[rank]); err != nil {
			return err
		}
	}
	return nil
}

// check waits for the job's streams and compares every rank's outcome.
func (j *job) check(t testing.TB) {
	t.Helper()
	for rank, c := range j.comms {
		require.NoError(t, j.streams[rank].Synchronize(context.Background()))
		require.NoError(t, c.AsyncError())
		got := make([]byte, len(j.want))
		if len(got) > 0 {
			require.NoError(t, c.Device().CopyOut(got, j.recv[rank]))
		}
		require.Equal(t, j.want, got, "rank %d: %v of %d %v", rank, j.op, j.count, j.typ)
	}
}

// streamsOf returns a new stream for each rank.
func streamsOf(t testing.TB, comms []*Comm) []device.Stream {
	t.Helper()
	streams := make([]device.Stream, len(comms))
	for i, c := range comms {
		var err error
		streams[i], err = c.Device().NewStream()
		require.NoError(t, err)
	}
	return streams
}

var (
	builtTypes = []coll.DataType{coll.Int8, coll.Uint8, coll.Int32, coll.Uint32, coll.Float16, coll.Float32, coll.Float64}
	builtOps   = []coll.UserOp{coll.OpSum, coll.OpProd, coll.OpMax, coll.OpMin}
)

// TestAllReduce compares every type and op with the host, over ranks, sizes,
// protocols and places.
func TestAllReduce(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, proto := range []coll.Proto{coll.LL, coll.Simple} {
			t.Run(fmt.Sprintf("%d ranks %v", ranks, proto), func(t *testing.T) {
				_, cfg := machine(t, ranks)
				cfg.Protos = []coll.Proto{proto}
				cfg.OnLaunch = func(l LaunchInfo) { require.Equal(t, proto, l.Variant.Proto) }
				comms := mustInit(t, cfg)
				streams := streamsOf(t, comms)
				for k, typ := range builtTypes {
					for i, op := range builtOps {
						for _, count := range []int{0, 1, 13, 700}[(k+i)%2:] {
							j := newJob(t, comms, streams, typ, op, count, (i+count)%2 == 0)
							require.NoError(t, Group(j.enqueue))
							j.check(t)
						}
					}
				}
			})
		}
	}
}

// TestMixedGroup enqueues many collectives of mixed types and sizes as one, on
// several streams, for ranks of which several share a GPU.
func TestMixedGroup(t *testing.T) {
	_, cfg := machine(t, 2)
	cfg.Devices = []device.Device{cfg.Devices[0], cfg.Devices[1], cfg.Devices[1], cfg.Devices[0]}
	comms := mustInit(t, cfg)
	require.Equal(t, 2, comms[0].Graph().RanksPerGPU)
	streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms)}
	var jobs []*job
	for i := range 60 {
		jobs = append(jobs, newJob(t, comms, streams[i%2], builtTypes[i%len(builtTypes)], builtOps[i/2%len(builtOps)], i*i%97, i%3 == 0))
	}
	require.NoError(t, Group(func(g *Calls) error {
		for _, j := range jobs {
			if err := j.enqueue(g); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, j := range jobs {
		j.check(t)
	}
}

// TestManyWorks enqueues more works of one kernel than its parameter holds.
func TestManyWorks(t *testing.T) {
	_, cfg := machine(t, 2)
	comms := mustInit(t, cfg)
	streams := streamsOf(t, comms)
	for range 2 {
		var jobs []*job
		require.NoError(t, Group(func(g *Calls) error {
			for i := range 120 {
				jobs = append(jobs, newJob(t, comms, streams, coll.Float32, coll.OpSum, 1+i%7, i%2 == 0))
				if err := jobs[i].enqueue(g); err != nil {
					return err
				}
			}
			return nil
		}))
		for _, j := range jobs {
			j.check(t)
		}
	}
}

// TestStreamsFollow enqueues each operation on another stream than the one
// before, which the user does not order: if kernels of the communicator
// overlapped, the second would take the first's steps and data.
func TestStreamsFollow(t *testing.T) {
	for seed := range uint64(3) {
		_, cfg := machine(t, 2, func(c *sim.Config) { c.Seed = seed })
		cfg.Protos = []coll.Proto{[]coll.Proto{coll.LL, coll.Simple}[seed%2]}
		comms := mustInit(t, cfg)
		streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms), streamsOf(t, comms)}
		j := newJob(t, comms, streams[0], coll.Int32, coll.OpSum, 500, true)
		const rounds = 6
		for round := range rounds {
			j.streams = streams[round%len(streams)]
			require.NoError(t, Group(j.enqueue))
		}
		// Each round after the first doubles what all ranks have alike.
		for i := range j.count {
			at := j.want[4*i:]
			binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)<<(rounds-1))
		}
		j.check(t)
	}
}

// TestStreamIsClosed switches from a stream that has been closed with an
// operation still queued on it.
func TestStreamIsClosed(t *testing.T) {
	_, cfg := machine(t, 2)
	comms := mustInit(t, cfg)
	first := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 300, false)
	require.NoError(t, Group(first.enqueue))
	for _, s := range first.streams {
		require.NoError(t, s.Close())
	}
	second := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpMax, 300, false)
	require.NoError(t, Group(second.enqueue))
	second.check(t)
	first.streams = second.streams
	first.check(t)
}

// TestTwoCommunicators runs two communicators on the same GPUs at once, with
// different rank orders.
func TestTwoCommunicators(t *testing.T) {
	_, cfg := machine(t, 3)
	one := mustInit(t, cfg)
	cfg.Devices = []device.Device{cfg.Devices[2], cfg.Devices[0], cfg.Devices[1]}
	two := mustInit(t, cfg)
	a := newJob(t, one, streamsOf(t, one), coll.Float64, coll.OpSum, 400, false)
	b := newJob(t, two, streamsOf(t, two), coll.Float16, coll.OpMin, 900, false)
	require.NoError(t, Group(func(g *Calls) error {
		if err := a.enqueue(g); err != nil {
			return err
		}
		return b.enqueue(g)
	}))
	require.NoError(t, Group(b.enqueue))
	a.check(t)
	b.check(t)
}

// TestFirstStep starts connections where the flags of protocols wrap around.
func TestFirstStep(t *testing.T) {
	for _, first := range []uint64{1<<31 - 16, 1<<32 - 16} {
		for _, proto := range []coll.Proto{coll.LL, coll.Simple} {
			_, cfg := machine(t, 2)
			cfg.FirstStep, cfg.Protos, cfg.MaxChannels = first, []coll.Proto{proto}, 1
			comms := mustInit(t, cfg)
			streams := streamsOf(t, comms)
			for range 12 {
				j := newJob(t, comms, streams, coll.Int32, coll.OpSum, 100, false)
				require.NoError(t, Group(j.enqueue))
				j.check(t)
			}
		}
	}
}
