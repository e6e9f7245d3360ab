package cluster

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/check"
)

// guardBytes is what surrounds every buffer.
const guardBytes = 64

// canary is what every byte of a guard is.
const canary = 0xa5

// Operands are the buffers of one call.
type Operands struct {
	Call Call
	Work []abi.Work // by rank
	Send []device.Ptr
	Recv []device.Ptr

	parts     []part   // by channel
	inputs    [][]byte // by rank
	reduction check.Reduction
}

// Prepare allocates and fills the buffers of a call.
func (c *Cluster) Prepare(call Call) (*Operands, error) {
	rng := rand.New(rand.NewPCG(call.Seed, 1))
	most := MostChunkBytes(call.Proto, SlotBytes(c.Config.BufferBytes[call.Proto]))
	call.ChunkBytes = cmp.Or(call.ChunkBytes, most)
	if call.ChunkBytes > most {
		return nil, fmt.Errorf("chunks of %d bytes; slots of %v hold %d", call.ChunkBytes, call.Proto, most)
	}
	w := abi.Work{
		Op: call.Seed, ChunkBytes: uint32(call.ChunkBytes),
		ChannelLo: uint16(call.ChannelLo), ChannelHi: uint16(call.ChannelHi), Threads: uint16(call.Workers),
	}
	o := &Operands{Call: call, parts: call.split(&w), reduction: check.Reduction{Type: call.Type, Op: call.Op, NumRanks: cmp.Or(call.Divisor, len(c.Devices))}}
	size := call.Type.Size()
	for rank, dev := range c.Devices {
		input := make([]byte, call.Count*size)
		for i := range call.Count {
			if call.Value != nil {
				setElement(call.Type, input, i, call.Value(rank, i))
			} else {
				setElement(call.Type, input, i, random(call.Type, rng))
			}
		}
		o.inputs = append(o.inputs, input)
		send, err := buffer(dev, len(input), call.SendSkew*size, fmt.Sprintf("rank %d sendbuf", rank))
		if err != nil {
			return nil, err
		}
		recv := send
		if !call.InPlace {
			if recv, err = buffer(dev, len(input), call.RecvSkew*size, fmt.Sprintf("rank %d recvbuf", rank)); err != nil {
				return nil, err
			}
		}
		if len(input) > 0 {
			if err := dev.CopyIn(send, input); err != nil {
				return nil, err
			}
		}
		o.Send, o.Recv = append(o.Send, send), append(o.Recv, recv)
		w.SendBuf, w.RecvBuf = abi.Ptr(send), abi.Ptr(recv)
		o.Work = append(o.Work, w)
		if err := o.argument(rank, dev, rng); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// argument fills in the argument of the call's operator for a rank.
func (o *Operands) argument(rank int, dev device.Device, rng *rand.Rand) error {
	t, op, w := o.Call.Type, o.Call.Op, &o.Work[rank]
	switch {
	case op == coll.OpMin || op == coll.OpMax:
		w.RedOpArg = op.MinMaxArg(t)
	case op == coll.OpAvg:
		w.RedOpArg = coll.AvgArg(t, o.reduction.NumRanks)
	case op == coll.OpMulSum:
		scalar := random(t, rng)
		if o.Call.Scalar != nil {
			scalar = o.Call.Scalar(rank)
		}
		w.RedOpArg = scalar
		o.reduction.Scalars = append(o.reduction.Scalars, scalar)
		if !o.Call.ScalarOnDevice {
			return nil
		}
		p, err := buffer(dev, t.Size(), t.Size(), fmt.Sprintf("rank %d scalar", rank))
		if err != nil {
			return err
		}
		w.RedOpArg, w.RedOpArgIsPtr = uint64(p), 1
		return o.SetScalar(dev, rank, scalar)
	}
	return nil
}

// SetScalar writes the scalar of a rank, whose device is dev, to where its work
// says (Call.ScalarOnDevice): launches from now on use it.
func (o *Operands) SetScalar(dev device.Device, rank int, scalar uint64) error {
	o.reduction.Scalars[rank] = scalar
	data := make([]byte, o.Call.Type.Size())
	setElement(o.Call.Type, data, 0, scalar)
	return dev.CopyIn(device.Ptr(o.Work[rank].RedOpArg), data)
}

// buffer allocates bytes between two guards, skew bytes off a boundary.
func buffer(dev device.Device, size, skew int, label string) (device.Ptr, error) {
	n := guardBytes + skew + size + guardBytes
	p, err := dev.Alloc(int64(n), label)
	if err != nil {
		return 0, err
	}
	return p + device.Ptr(guardBytes+skew), dev.CopyIn(p, bytes.Repeat([]byte{canary}, n))
}

// Read returns size bytes at p, a buffer of Operands, after a look at the guards
// around it.
func (c *Cluster) Read(rank int, p device.Ptr, size int) ([]byte, error) {
	all := make([]byte, guardBytes+size+guardBytes)
	if err := c.Devices[rank].CopyOut(all, p-guardBytes); err != nil {
		return nil, err
	}
	for i, b := range all {
		if (i < guardBytes || i >= guardBytes+size) && b != canary {
			return nil, &Mismatch{What: Guard, Rank: rank,
				Detail: fmt.Sprintf("byte %d of a buffer of %d is %#x, was %#x", i-guardBytes, size, b, canary)}
		}
	}
	return all[guardBytes : guardBytes+size], nil
}
