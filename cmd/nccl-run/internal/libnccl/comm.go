package libnccl

import (
	"fmt"
	"unsafe"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
)

// Comm is one rank's communicator of NCCL.
type Comm struct {
	lib    *Library
	handle uintptr // ncclComm_t
}

// InitAll makes the communicators of all ranks: rank i on the GPU of CUDA ordinal
// gpus[i]. NCCL refuses to have a GPU twice.
func (l *Library) InitAll(gpus []int) ([]*Comm, error) {
	ordinals, handles := make([]int32, len(gpus)), make([]uintptr, len(gpus))
	for rank, gpu := range gpus {
		ordinals[rank] = int32(gpu)
	}
	rc := l.initAll.Call(uintptr(unsafe.Pointer(&handles[0])), uintptr(len(gpus)), uintptr(unsafe.Pointer(&ordinals[0])))
	if err := l.check("ncclCommInitAll", rc); err != nil {
		return nil, err
	}
	comms := make([]*Comm, len(gpus))
	for rank, h := range handles {
		comms[rank] = &Comm{lib: l, handle: h}
	}
	return comms, nil
}

// Op is an operator as NCCL numbers it (ncclRedOp_t). The numbers of coll.UserOp
// are NCCL's, but for coll.OpMulSum, which stands for what NewPreMulSum makes.
type Op int32

// hostImmediate says that a scalar is read before the call returns
// (ncclScalarHostImmediate, nccl.h).
const hostImmediate = 1

// NewPreMulSum makes the operator that multiplies the rank's input by a scalar, whose
// bits are an element of t in the low bytes. It ends with the communicator.
func (c *Comm) NewPreMulSum(t coll.DataType, bits uint64) (Op, error) {
	if !c.lib.newPreMulSum.Bound() {
		return 0, fmt.Errorf("NCCL %s has no ncclRedOpCreatePreMulSum; NCCL 2.11 and later do", c.lib.VersionText())
	}
	var op Op
	rc := c.lib.newPreMulSum.Call(uintptr(unsafe.Pointer(&op)), uintptr(unsafe.Pointer(&bits)), uintptr(t), hostImmediate, c.handle)
	return op, c.lib.check("ncclRedOpCreatePreMulSum", rc)
}

// AllReduce enqueues an all-reduce on stream, a CUstream, which is the runtime
// API's cudaStream_t. Types have NCCL's numbers (package coll).
func (c *Comm) AllReduce(send, recv device.Ptr, count uint64, t coll.DataType, op Op, stream uintptr) error {
	rc := c.lib.allReduce.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), c.handle, stream)
	return c.lib.check("ncclAllReduce", rc)
}

// Close ends the communicator when its operations are done. Graphs that hold any
// must have been closed.
func (c *Comm) Close() error { return c.lib.check("ncclCommDestroy", c.lib.destroy.Call(c.handle)) }

// Abort ends the communicator whatever it is doing.
func (c *Comm) Abort() error { return c.lib.check("ncclCommAbort", c.lib.abort.Call(c.handle)) }
