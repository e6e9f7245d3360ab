package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// Counts and offsets that do not fit in 32 bits. The buffers are small: the
// machine says at which address a kernel leaves them, which is where the rest of
// a large buffer would be.
func TestBeyond32Bits(t *testing.T) {
	for _, proto := range protos {
		for _, test := range []struct {
			name            string
			ranks, channels int
			change          func(w *abi.Work)
			index           int    // of the rank in the ring
			at              uint64 // bytes from the start of the send buffer
			within          uint64
		}{
			// Its first channel has work for long; the second one faults first.
			{"part of a channel", 1, 2, func(w *abi.Work) { w.CountLo, w.CountHi = 1<<33, 1 }, 0, 4 << 33, 0},
			{"chunk of a rank", 8, 1, func(w *abi.Work) { w.CountLo, w.ChunkBytes = 1<<33, 1<<30 }, 6, 5 << 30, 0},
			{"count", 1, 1, func(w *abi.Work) { w.CountLo = 1 << 30 }, 0, 4*largeCount + guardBytes, 4096},
		} {
			t.Run(fmt.Sprintf("%v %s", proto, test.name), func(t *testing.T) {
				c := newCluster(t, setup{ranks: test.ranks, channels: test.channels})
				r := &run{
					proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: largeCount, threads: 32, channels: []int{0, test.channels - 1},
				}
				o := c.prepare(r, 1)
				rank := c.Config.Rings[0][test.index]
				test.change(&o.Work[rank])
				c.launch(r.variant(), rank, r.threads, o.Work[rank:rank+1])
				var fault *device.Fault
				require.ErrorAs(t, c.wait(), &fault)
				require.Equal(t, device.OutOfBounds, fault.Kind, "%v", fault)
				first := uint64(o.Send[rank]) + test.at
				require.GreaterOrEqual(t, uint64(fault.Addr), first, "%v", fault)
				require.LessOrEqual(t, uint64(fault.Addr), first+test.within, "%v", fault)
			})
		}
	}
}

// largeCount is how many elements of a large call there really are.
const largeCount = 1 << 14

// A CTA that leaves does not step through the chunks that remain.
func TestAbortOfLargeCall(t *testing.T) {
	for _, proto := range protos {
		t.Run(proto.String(), func(t *testing.T) {
			c := newCluster(t, setup{ranks: abortRanks, channels: 1})
			r := &run{proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: largeCount, threads: 32, channels: []int{0, 0}}
			o := c.prepare(r, 1)
			o.Work[0].CountLo = 1 << 40
			reports := c.leave(r, o)
			require.Len(t, reports, 1)
			require.Equal(t, devcomm.Data, reports[0].Wait)
		})
	}
}
