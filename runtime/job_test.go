package nccl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
)

// job is one all-reduce on all ranks, with its data and the outcome that the
// host expects.
type job struct {
	comms      []*Comm
	op         coll.UserOp
	typ        coll.DataType
	count      int
	send, recv []device.Ptr // by rank
	streams    []device.Stream
	values     [][]int64 // by rank
	want       []byte    // of as many elements as values has, which repeat
}

// period is after how many elements the data of a job repeats: a prime, so that
// no chunk looks like another.
const period = 65521

// newJob allocates and fills the buffers of a job on the given streams, one for
// each rank. In-place jobs have equal buffers.
func newJob(t testing.TB, comms []*Comm, streams []device.Stream, typ coll.DataType, op coll.UserOp, count int, inPlace bool) *job {
	t.Helper()
	j := &job{comms: comms, op: op, typ: typ, count: count, streams: streams}
	n := min(count, period)
	rng := rand.New(rand.NewPCG(uint64(count), uint64(op)<<8|uint64(typ)))
	for range comms {
		values := make([]int64, n)
		for i := range values {
			values[i] = someValue(rng, typ, op)
		}
		j.values = append(j.values, values)
	}
	j.want = []byte{}
	for i := range n {
		x := j.values[0][i]
		for _, v := range j.values[1:] {
			x = reduce(op, x, v[i])
		}
		j.want = appendValue(j.want, typ, x)
	}
	// Registered first, to be done after the buffers are allocated.
	t.Cleanup(j.free)
	for rank, c := range comms {
		send, err := c.Device().Alloc(max(1, j.bytes()), fmt.Sprintf("rank %d send", rank))
		require.NoError(t, err)
		j.send = append(j.send, send)
		recv := send
		if !inPlace {
			recv, err = c.Device().Alloc(max(1, j.bytes()), fmt.Sprintf("rank %d recv", rank))
			require.NoError(t, err)
		}
		j.recv = append(j.recv, recv)
		data := make([]byte, 0, len(j.want))
		for _, v := range j.values[rank] {
			data = appendValue(data, typ, v)
		}
		j.pieces(data, func(off int64, piece []byte) {
			require.NoError(t, c.Device().CopyIn(send+device.Ptr(off), piece))
		})
	}
	return j
}

func (j *job) bytes() int64 { return int64(j.count) * int64(j.typ.Size()) }

// pieces calls f for the pieces of a buffer in which data repeats.
func (j *job) pieces(data []byte, f func(off int64, piece []byte)) {
	if j.count == 0 {
		return
	}
	const most = 8 << 20
	n := int64(len(data))
	piece := bytes.Repeat(data, int(min(max(1, most/n), (j.bytes()+n-1)/n)))
	for off := int64(0); off < j.bytes(); off += int64(len(piece)) {
		f(off, piece[:min(int64(len(piece)), j.bytes()-off)])
	}
}

// free frees the buffers. Should an operation still wait for a rank, freeing
// would wait for it.
func (j *job) free() {
	for _, c := range j.comms {
		_ = c.Abort()
	}
	j.release()
}

// release frees the buffers, which no operation uses any more.
func (j *job) release() {
	for rank, send := range j.send {
		dev := j.comms[rank].Device()
		_ = dev.Free(send)
		if rank < len(j.recv) && j.recv[rank] != send {
			_ = dev.Free(j.recv[rank])
		}
	}
	j.send, j.recv = nil, nil
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
		require.NoError(t, j.streams[rank].Synchronize(soon(t)), "rank %d: %v of %d %v", rank, j.op, j.count, j.typ)
		require.NoError(t, c.AsyncError())
	}
	for rank, c := range j.comms {
		var got []byte
		j.pieces(j.want, func(off int64, want []byte) {
			got = append(got[:0], want...)
			require.NoError(t, c.Device().CopyOut(got, j.recv[rank]+device.Ptr(off)))
			if bytes.Equal(want, got) {
				return
			}
			size := j.typ.Size()
			for i := 0; ; i += size {
				if a, b := want[i:i+size], got[i:i+size]; !bytes.Equal(a, b) {
					require.Equal(t, a, b, "rank %d: %v of %d %v: element %d", rank, j.op, j.count, j.typ, (int(off)+i)/size)
				}
			}
		})
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
