package nccl

import (
	"math"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/result"
)

// AllReduce combines, element by element, the count elements at send of every
// rank with op, and leaves the outcome at recv of every rank. It enqueues the
// operation on s, a stream of the communicator's device, and returns. Send and
// recv are device memory that kernels of every rank's device can reach, aligned
// to the size of an element; they are equal (in place) or do not overlap. Every
// rank must call it with the same count, type and op; of a [PreMulSum] each has its
// own.
func (c *Comm) AllReduce(send, recv device.Ptr, count uint64, t coll.DataType, op Op, s device.Stream) error {
	k, err := c.allReduce(send, recv, count, t, op, s)
	if err != nil {
		return err
	}
	return c.enqueue(&k)
}

// AllReduce adds [Comm.AllReduce] on c to the group.
func (g *Calls) AllReduce(c *Comm, send, recv device.Ptr, count uint64, t coll.DataType, op Op, s device.Stream) error {
	k, err := c.allReduce(send, recv, count, t, op, s)
	return g.add(k, err)
}

func (c *Comm) allReduce(send, recv device.Ptr, count uint64, t coll.DataType, op Op, s device.Stream) (call, error) {
	k := call{comm: c, send: send, recv: recv, stream: s}
	if err := c.usable("AllReduce"); err != nil {
		return k, err
	}
	if err := c.checkAllReduce(&k, count, t, op); err != nil {
		return k, err.At(c.rank)
	}
	k.shape = shape{fn: coll.AllReduce, op: k.op.Device(t), typ: t, count: count}
	return k, nil
}

// checkAllReduce refuses arguments that no rank can serve, and fills in k's
// operator. It returns nil or the reason.
func (c *Comm) checkAllReduce(k *call, count uint64, t coll.DataType, op Op) (err *Error) {
	const name = "AllReduce"
	if k.op, k.arg, err = c.operator(name, op, t); err != nil {
		return err
	}
	if err := c.checkOperands(name, count, t, k.op); err != nil {
		return err
	}
	if err := c.checkStream(name, k.stream); err != nil {
		return err
	}
	if count == 0 {
		return nil
	}
	bytes := count * uint64(t.Size())
	if err := checkBuffer(name, "send", k.send, bytes, t); err != nil {
		return err
	}
	if err := checkBuffer(name, "recv", k.recv, bytes, t); err != nil {
		return err
	}
	if k.send != k.recv && uint64(k.send) < uint64(k.recv)+bytes && uint64(k.recv) < uint64(k.send)+bytes {
		return result.New(result.InvalidArgument, name,
			"send buffer %#x and recv buffer %#x overlap in part: each has %d bytes; pass the same address to work in place, or buffers at least that far apart",
			uint64(k.send), uint64(k.recv), bytes)
	}
	return nil
}

// checkOperands refuses a type, op or count that there is no kernel for.
func (c *Comm) checkOperands(name string, count uint64, t coll.DataType, op coll.UserOp) *Error {
	if int(t) >= coll.NumDataTypes {
		return result.New(result.InvalidArgument, name, "datatype %d is unknown; known are 0 (%v) to %d (%v)",
			uint8(t), coll.DataType(0), coll.NumDataTypes-1, coll.DataType(coll.NumDataTypes-1))
	}
	if int(op) >= coll.NumUserOps {
		return result.New(result.InvalidArgument, name, "op %d is unknown; known are 0 (%v) to %d (%v)",
			uint8(op), coll.UserOp(0), coll.NumUserOps-1, coll.UserOp(coll.NumUserOps-1))
	}
	if r := c.shared.refused[op.Device(t)][t]; r != nil {
		return result.New(r.Code, name, "op %v: %w", op, r.Err)
	}
	if most := c.maxCount(t); count > most {
		return result.New(result.InvalidArgument, name, "count %d of %v is more than %d; split the operation", count, t, most)
	}
	return nil
}

// maxCount returns the most elements of t in one operation: half of the address
// space, shared by as many ranks as multiply it in a planner's arithmetic.
func (c *Comm) maxCount(t coll.DataType) uint64 {
	return math.MaxInt64 / 64 / uint64(len(c.shared.comms)) / uint64(t.Size())
}

// checkBuffer refuses an address at which no kernel can find bytes bytes of t.
func checkBuffer(name, which string, p device.Ptr, bytes uint64, t coll.DataType) *Error {
	switch size := uint64(t.Size()); {
	case p == 0:
		return result.New(result.InvalidArgument, name, "%s buffer is nil; pass the address of %d bytes of device memory", which, bytes)
	case uint64(p)%size != 0:
		return result.New(result.InvalidArgument, name, "%s buffer %#x is not aligned to the %d bytes of %v; pass a multiple of %d",
			which, uint64(p), size, t, size)
	case uint64(p)+bytes < uint64(p):
		return result.New(result.InvalidArgument, name, "%s buffer %#x: %d bytes from there leave the address space; check address and count",
			which, uint64(p), bytes)
	}
	return nil
}

// checkStream refuses a stream that is not of c's device.
func (c *Comm) checkStream(name string, s device.Stream) *Error {
	if s == nil {
		return result.New(result.InvalidArgument, name, "stream is nil; pass a stream of GPU %d (device.Device.NewStream)", c.device.Ordinal())
	}
	if s.Device() != c.device {
		return result.New(result.InvalidArgument, name, "stream of GPU %d, but this rank is on GPU %d; pass a stream of that GPU",
			s.Device().Ordinal(), c.device.Ordinal())
	}
	return nil
}
