package nccl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// Two ranks add their inputs, the second's times a scalar that lies on its device.
func ExampleComm_NewPreMulSum() {
	if err := weightedSum(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 5 + 10 * 7 = 75
}

func weightedSum() error {
	driver, err := sim.New(sim.Config{Devices: []device.Info{sim.H100(), sim.H100()}})
	if err != nil {
		return err
	}
	defer driver.Close()
	cfg := nccl.Config{}
	if cfg.System, err = topo.Builtin("dgx-h100"); err != nil {
		return err
	}
	for i := range driver.NumDevices() {
		dev, err := driver.Open(i)
		if err != nil {
			return err
		}
		cfg.Devices = append(cfg.Devices, dev)
	}
	ctx := context.Background()
	comms, err := nccl.InitAll(ctx, cfg)
	if err != nil {
		return err
	}

	// Device memory that holds one number.
	number := func(c *nccl.Comm, v uint32) (device.Ptr, error) {
		p, err := c.Device().Alloc(4, "number")
		if err != nil {
			return 0, err
		}
		return p, c.Device().CopyIn(p, binary.LittleEndian.AppendUint32(nil, v))
	}
	buffers := make([]device.Ptr, 2)
	streams := make([]device.Stream, 2)
	for r, c := range comms {
		if buffers[r], err = number(c, []uint32{5, 7}[r]); err != nil {
			return err
		}
		if streams[r], err = c.Device().NewStream(); err != nil {
			return err
		}
	}

	// Each rank has an operator of its own. The second's scalar is read when the
	// kernel runs, so earlier work on the stream may compute it.
	ten, err := number(comms[1], 10)
	if err != nil {
		return err
	}
	ops := make([]*nccl.PreMulSum, 2)
	for r, scalar := range []nccl.Scalar{nccl.ScalarOf(1), nccl.ScalarAt(ten)} {
		if ops[r], err = comms[r].NewPreMulSum(coll.Int32, scalar); err != nil {
			return err
		}
	}
	err = nccl.Group(func(g *nccl.Calls) error {
		for r, c := range comms {
			if err := g.AllReduce(c, buffers[r], buffers[r], 1, coll.Int32, ops[r], streams[r]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for r, c := range comms {
		if err := streams[r].Synchronize(ctx); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	sum := make([]byte, 4)
	if err := comms[0].Device().CopyOut(sum, buffers[0]); err != nil {
		return err
	}
	fmt.Println("5 + 10 * 7 =", binary.LittleEndian.Uint32(sum))
	return nil
}
