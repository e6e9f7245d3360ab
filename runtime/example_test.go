package nccl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	nccl "github.com/ncclgo/ncclgo/runtime"
	"github.com/ncclgo/ncclgo/topo"
)

// An all-reduce of four ranks on the PTX machine. On GPUs only the driver
// differs.
func Example() {
	if err := allReduce(); err != nil {
		log.Fatal(err)
	}
	// Output: [1111 2222 3333]
}

func allReduce() error {
	const nranks = 4
	gpus := make([]device.Info, nranks)
	for i := range gpus {
		gpus[i] = sim.H100()
	}
	driver, err := sim.New(sim.Config{Devices: gpus})
	if err != nil {
		return err
	}
	defer driver.Close()

	// One communicator for each rank, on one device each.
	cfg := nccl.Config{}
	if cfg.System, err = topo.Builtin("dgx-h100"); err != nil {
		return err
	}
	for i := range nranks {
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

	// Rank r contributes 1, 2 and 3 times 10 to the power of r.
	buffers := make([]device.Ptr, nranks)
	streams := make([]device.Stream, nranks)
	for r, c := range comms {
		var data []byte
		for i := range 3 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i+1)*float32(math.Pow10(r))))
		}
		if buffers[r], err = c.Device().Alloc(int64(len(data)), "buffer"); err != nil {
			return err
		}
		if err := c.Device().CopyIn(buffers[r], data); err != nil {
			return err
		}
		if streams[r], err = c.Device().NewStream(); err != nil {
			return err
		}
	}

	// A group enters all ranks at once, so other goroutines cannot come between.
	err = nccl.Group(func(g *nccl.Calls) error {
		for r, c := range comms {
			if err := g.AllReduce(c, buffers[r], buffers[r], 3, coll.Float32, coll.OpSum, streams[r]); err != nil {
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

	result := make([]byte, 12)
	if err := comms[nranks-1].Device().CopyOut(result, buffers[nranks-1]); err != nil {
		return err
	}
	var values []float32
	for ; len(result) > 0; result = result[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(result)))
	}
	fmt.Println(values)
	return nil
}
