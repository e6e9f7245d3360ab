package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// One rank runs alone; the test plays its peers, who have come to some step and
// stopped there. With 5 ranks an all-reduce of one loop takes 8 chunks in and 8
// out, as many as a FIFO of LL or LL128 holds steps.
const (
	abortRanks = 5
	abortHops  = 2 * (abortRanks - 1)
	abortStep  = 1 << 20
)

// peersAt makes it look as if rank 0's previous rank had published all steps
// below data, and its next rank had consumed all below head.
func (c *cluster) peersAt(data, head uint64) (prev, next int) {
	prev, next = c.neighbours(0, 0)
	recv, send := c.connection(prev, 0).Recv, c.connection(0, next).Send
	for proto := range lines {
		fifo := make([]byte, smallSlot.bytes(proto)*abi.NumSteps)
		for step := uint64(abortStep); step < min(data, abortStep+abi.NumSteps); step++ {
			fillLines(proto, fifo, step, 1)
		}
		require.NoError(c.t, c.Devices[0].CopyIn(device.Ptr(recv.Fifo[proto]), fifo))
	}
	require.NoError(c.t, c.Devices[0].CopyIn(device.Ptr(recv.Tail), devcomm.Append(nil, data)))
	require.NoError(c.t, c.Devices[0].CopyIn(device.Ptr(send.Head), devcomm.Append(nil, head)))
	return prev, next
}

// leave runs rank 0 of an aborted communicator, alone, and returns what it reports.
func (c *cluster) leave(r *run, o *Operands) []devcomm.Report {
	c.Comms.Abort()
	c.launch(r.variant(), 0, r.threads, o.Work[:1])
	require.NoError(c.t, c.wait(), "every thread leaves")
	reports, err := c.Comms.Reports()
	require.NoError(c.t, err)
	return reports
}

// A communicator that is aborted leaves every wait there is, all threads of it,
// and says which it was.
func TestAbortAtEveryWait(t *testing.T) {
	for _, proto := range protos {
		count := abortRanks * smallSlot.chunk(proto) / 4
		unit, total := uint64(1), uint64(abortHops)
		if proto == coll.Simple {
			unit, total = abi.SimpleSliceSteps, abortHops*abi.SimpleChunkSteps
		}
		r := &run{proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: count, threads: 64, channels: []int{0, 0}}
		left := func(t *testing.T, data, head uint64) (got []devcomm.Report, prev, next int) {
			c := newCluster(t, setup{ranks: abortRanks, channels: 1, firstStep: abortStep, seed: data})
			prev, next = c.peersAt(data, head)
			return c.leave(r, c.prepare(r, 77)), prev, next
		}
		end := uint64(abortStep) + total
		for step := uint64(abortStep); step < end; step++ {
			t.Run(fmt.Sprintf("%v no data from step +%d", proto, step-abortStep), func(t *testing.T) {
				got, prev, _ := left(t, step, end)
				require.Equal(t, []devcomm.Report{{Rank: 0, Channel: 0, Wait: devcomm.Data, Peer: prev, Step: step / unit * unit, Op: 77}}, got)
			})
			t.Run(fmt.Sprintf("%v no credit for step +%d", proto, step-abortStep), func(t *testing.T) {
				got, _, next := left(t, end, step-abi.NumSteps)
				require.Equal(t, []devcomm.Report{{Rank: 0, Channel: 0, Wait: devcomm.Credit, Peer: next, Step: step / unit * unit, Op: 77}}, got)
			})
		}
		t.Run(fmt.Sprintf("%v nothing to wait for", proto), func(t *testing.T) {
			got, _, _ := left(t, end, end)
			require.Empty(t, got)
		})
	}
}

// A flag that has not arrived is waited for, whichever it is: the two words of a
// line of LL may arrive apart, and so may the lines of LL128. An older flag, or
// one that agrees in 32 bits, is none.
func TestAbortAtAMissingFlag(t *testing.T) {
	for proto, l := range lines {
		for off := l.flag; off < smallSlot.bytes(proto); off += l.period {
			older := []uint64{0, abortStep - abi.NumSteps}
			if proto == coll.LL128 {
				older = append(older, abortStep+(1<<32))
			}
			for _, step := range older {
				t.Run(fmt.Sprintf("%v byte %d has step %#x", proto, off, step), func(t *testing.T) {
					c := newCluster(t, setup{ranks: abortRanks, channels: 1, firstStep: abortStep})
					prev, _ := c.peersAt(abortStep+abortHops, abortStep+abortHops)
					fifo := device.Ptr(c.connection(prev, 0).Recv.Fifo[proto])
					slot := fifo + device.Ptr(abortStep%abi.NumSteps*smallSlot.bytes(proto))
					flag := l.flagOf(step)
					if step == 0 {
						clear(flag) // as in new memory
					}
					require.NoError(t, c.Devices[0].CopyIn(slot+device.Ptr(off), flag))
					r := &run{
						proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: abortRanks * smallSlot.chunk(proto) / 4, threads: 64,
						channels: []int{0, 0},
					}
					require.Equal(t, []devcomm.Report{{Rank: 0, Channel: 0, Wait: devcomm.Data, Peer: prev, Step: abortStep, Op: 77}}, c.leave(r, c.prepare(r, 77)))
				})
			}
		}
	}
}

// stuckCluster launches an all-reduce on all ranks but one.
func stuckCluster(t *testing.T, proto coll.Proto, missing int, grace time.Duration) *cluster {
	c := newCluster(t, setup{ranks: 4, channels: 2, grace: grace})
	r := &run{proto: proto, op: coll.OpSum, dataType: coll.Float32, count: 4000, threads: 96, channels: []int{0, 1}}
	o := c.prepare(r, 9)
	for rank := range c.Devices {
		if rank != missing {
			c.launch(r.variant(), rank, r.threads, []abi.Work{o.Work[rank]})
		}
	}
	return c
}

// With real peers: a rank is missing, the others come as far as they can, then
// the communicator is aborted.
func TestAbortWhileOthersWait(t *testing.T) {
	for _, proto := range protos {
		t.Run(proto.String(), func(t *testing.T) {
			c := stuckCluster(t, proto, 2, time.Minute)
			c.Settle()
			c.Comms.Abort()
			for rank, s := range c.Streams {
				require.NoError(t, s.Synchronize(context.Background()), "rank %d", rank)
			}
			reports, err := c.Comms.Reports()
			require.NoError(t, err)
			require.Len(t, reports, 3*2)
			for _, r := range reports {
				require.NotEqual(t, 2, r.Rank)
				require.EqualValues(t, 9, r.Op)
				prev, next := c.neighbours(r.Channel, r.Rank)
				switch r.Wait {
				case devcomm.Data:
					require.Equal(t, prev, r.Peer)
				case devcomm.Credit:
					require.Equal(t, next, r.Peer)
				}
			}
		})
	}
}

// Without an abort the machine says at once who waits for whom.
func TestMissingLaunchIsNamed(t *testing.T) {
	for _, proto := range protos {
		t.Run(proto.String(), func(t *testing.T) {
			c := stuckCluster(t, proto, 2, 0)
			err := c.wait()
			var fault *device.Fault
			require.True(t, errors.As(err, &fault), "%v", err)
			require.Equal(t, device.Stuck, fault.Kind)
			waits := map[string]string{}
			for _, f := range append([]*device.Fault{fault}, fault.Others...) {
				if f.Addr != 0 && f.Line > 0 && f.File != "" {
					waits[f.Label] = f.AddrLabel
				}
			}
			for ch, ring := range c.Config.Rings {
				for i, rank := range ring {
					prev := ring[(i+len(ring)-1)%len(ring)]
					if prev != 2 {
						continue
					}
					what := fmt.Sprintf("rank %d ch %d %v recv from 2", rank, ch, proto)
					if proto == coll.Simple {
						what = fmt.Sprintf("rank %d ch %d tail of 2", rank, ch)
					}
					require.Contains(t, waits[fmt.Sprintf("rank %d ch %d", rank, ch)], what, "%v", err)
				}
			}
		})
	}
}
