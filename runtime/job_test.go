package nccl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/check"
)

// job is one all-reduce on all ranks, with its data and the outcome that the
// host expects.
type job struct {
	comms      []*Comm
	op         coll.UserOp
	ops        []Op // by rank
	typ        coll.DataType
	count      int
	send, recv []device.Ptr // by rank
	streams    []device.Stream
	inputs     [][]byte // by rank, elements that repeat
	want       []byte   // as many elements as an input has, which repeat
}

// period is after how many elements the data of a job repeats: a prime, so that
// no chunk looks like another.
const period = 65521

// newJob allocates and fills the buffers of a job on the given streams, one for
// each rank. In-place jobs have equal buffers.
func newJob(t testing.TB, comms []*Comm, streams []device.Stream, typ coll.DataType, op coll.UserOp, count int, inPlace bool) *job {
	t.Helper()
	j := &job{comms: comms, op: op, typ: typ, count: count, streams: streams}
	data := check.Case{Type: typ, Op: op, NumRanks: len(comms), Count: min(count, period), Seed: uint64(count)}
	elements := func(d check.Data, err error) []byte {
		require.NoError(t, err)
		b := make([]byte, data.Bytes())
		d.Fill(b, 0)
		return b
	}
	j.want = elements(data.Expected(t.Context()))
	for rank, c := range comms {
		j.inputs = append(j.inputs, elements(data.Input(t.Context(), rank)))
		j.ops = append(j.ops, op)
		if op == coll.OpMulSum {
			o, err := c.NewPreMulSum(typ, ScalarBits(check.Scalar(typ, rank)))
			require.NoError(t, err)
			j.ops[rank] = o
		}
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
		j.pieces(j.inputs[rank], func(off int64, piece []byte) {
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

// combine makes the outcome what f makes of the inputs' elements, which are i32.
func (j *job) combine(f func(x []int32) int32) {
	x := make([]int32, len(j.inputs))
	for at := 0; at < len(j.want); at += 4 {
		for rank, in := range j.inputs {
			x[rank] = int32(binary.LittleEndian.Uint32(in[at:]))
		}
		binary.LittleEndian.PutUint32(j.want[at:], uint32(f(x)))
	}
}

// enqueue adds the job to a group.
func (j *job) enqueue(g *Calls) error {
	for rank, c := range j.comms {
		if err := g.AllReduce(c, j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.ops[rank], j.streams[rank]); err != nil {
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
