package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// Whatever a kernel left wrong is seen, and said what it is.
func TestWhatIsLeftWrong(t *testing.T) {
	const window = 1 << 30 // the first step at which slots of LL are rewritten again
	for _, test := range []struct {
		name  string
		what  Wrong
		spoil func(c *cluster, o *Operands, conn devcomm.Connection)
	}{
		{"an element", Result, func(c *cluster, o *Operands, _ devcomm.Connection) { c.spoil(1, o.Recv[1]+4*30) }},
		{"an input", Input, func(c *cluster, o *Operands, _ devcomm.Connection) { c.spoil(2, o.Send[2]) }},
		{"the byte before the result", Guard, func(c *cluster, o *Operands, _ devcomm.Connection) { c.spoil(0, o.Recv[0]-1) }},
		{"the byte after the input", Guard, func(c *cluster, o *Operands, _ devcomm.Connection) {
			c.spoil(0, o.Send[0]+device.Ptr(4*o.Call.Count))
		}},
		{"head", State, func(c *cluster, _ *Operands, conn devcomm.Connection) { c.spoil(conn.From, device.Ptr(conn.Send.Head)) }},
		{"tail", State, func(c *cluster, _ *Operands, conn devcomm.Connection) { c.spoil(conn.To, device.Ptr(conn.Recv.Tail)) }},
		{"the number of ranks", State, func(c *cluster, _ *Operands, _ devcomm.Connection) {
			c.spoil(1, device.Ptr(c.Comms.Comm(1))+4)
		}},
		{"a flag of LL", State, func(c *cluster, _ *Operands, conn devcomm.Connection) {
			c.write(conn.To, device.Ptr(conn.Recv.Fifo[abi.ProtoLL])+8+4, LLFlag(window-abi.NumSteps))
		}},
	} {
		for _, proto := range protos {
			t.Run(proto.String()+" "+test.name, func(t *testing.T) {
				c := newCluster(t, setup{ranks: 3, channels: 1, firstStep: window - 4})
				require.NoError(t, c.Age(1))
				o := c.allReduce(&run{
					proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: 9 * c.slot.chunk(proto) / 4, threads: 32, channels: []int{0, 0},
				}, 1)
				require.NoError(t, c.wait())
				require.NoError(t, c.Check(o))
				require.NoError(t, c.CheckState(o))
				test.spoil(c, o, c.connections()[0])
				err := c.Check(o)
				if err == nil {
					err = c.CheckState(o)
				}
				var wrong *Mismatch
				require.ErrorAs(t, err, &wrong)
				require.Equal(t, test.what, wrong.What)
			})
		}
	}
}

// A call that the calls given do not account for is seen in the steps.
func TestStepsAreCounted(t *testing.T) {
	c := newCluster(t, setup{ranks: 2, channels: 2})
	r := &run{proto: coll.Simple, op: coll.OpSum, dataType: coll.Uint32, count: 5000, threads: 32, channels: []int{0, 1}}
	o := c.allReduce(r, 1)
	require.NoError(t, c.wait())
	require.NoError(t, c.CheckState(o))
	var wrong *Mismatch
	require.ErrorAs(t, c.CheckState(), &wrong)
	require.ErrorAs(t, c.CheckState(o, o), &wrong)
	require.Equal(t, State, wrong.What)
}

// spoil changes a byte on a rank's device.
func (c *cluster) spoil(rank int, p device.Ptr) {
	b := make([]byte, 1)
	require.NoError(c.t, c.Devices[rank].CopyOut(b, p))
	b[0] ^= 0x40
	require.NoError(c.t, c.Devices[rank].CopyIn(p, b))
}

// write stores a 32-bit word on a rank's device.
func (c *cluster) write(rank int, p device.Ptr, word uint32) {
	require.NoError(c.t, c.Devices[rank].CopyIn(p, devcomm.Append(nil, word)))
}
