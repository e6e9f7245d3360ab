package libnccl

import (
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

// AllReduce enqueues an all-reduce on stream, a CUstream, which is the runtime
// API's cudaStream_t. Types and operators have NCCL's numbers (package coll);
// OpMulSum, which NCCL makes for each factor anew, is not among them.
func (c *Comm) AllReduce(send, recv device.Ptr, count uint64, t coll.DataType, op coll.UserOp, stream uintptr) error {
	rc := c.lib.allReduce.Call(uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), c.handle, stream)
	return c.lib.check("ncclAllReduce", rc)
}

// Close ends the communicator when its operations are done. Graphs that hold any
// must have been closed.
func (c *Comm) Close() error { return c.lib.check("ncclCommDestroy", c.lib.destroy.Call(c.handle)) }

// Abort ends the communicator whatever it is doing.
func (c *Comm) Abort() error { return c.lib.check("ncclCommAbort", c.lib.abort.Call(c.handle)) }
