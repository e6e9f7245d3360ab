package cluster

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// steps returns the step of each connection, which is the same on both sides.
func (c *cluster) steps() (all []uint64) {
	for _, conn := range c.connections() {
		require.Equal(c.t, conn.Send.Step, conn.Recv.Step, "ch %d from %d to %d", conn.Channel, conn.From, conn.To)
		all = append(all, conn.Send.Step)
	}
	return all
}

// allReduce launches a run on all ranks.
func (c *cluster) allReduce(r *run, seed uint64) *Operands {
	o := c.prepare(r, seed)
	for rank := range c.Devices {
		c.launch(r.variant(), rank, r.threads, []abi.Work{o.Work[rank]})
	}
	return o
}

// Protocols share the steps of a connection: kernels of both alternate, queued
// without waiting, from counters near every boundary of 32 bits and of the
// cleaning of LL slots, and from odd ones.
func TestAlternatingProtocols(t *testing.T) {
	for _, first := range []uint64{0, 1, 1<<30 - 9, 1<<31 - 16, 1<<32 - 16, 1<<32 - 5, 1<<40 + 3} {
		for _, nranks := range []int{2, 3} {
			t.Run(fmt.Sprintf("first=%#x ranks=%d", first, nranks), func(t *testing.T) {
				c := newCluster(t, setup{ranks: nranks, channels: 2, firstStep: first, seed: first})
				rng := rand.New(rand.NewPCG(first, uint64(nranks)))
				var pending []*Operands
				for i := range 24 {
					r := &run{
						op: coll.OpSum, dataType: coll.Float32, threads: 32 + 64*rng.IntN(2),
						proto: protos[rng.IntN(len(protos))], count: 1 + rng.IntN(3*smallSlot.chunk(coll.Simple)/4), channels: []int{0, rng.IntN(2)},
					}
					pending = append(pending, c.allReduce(r, uint64(i)))
				}
				require.NoError(t, c.wait())
				for _, o := range pending {
					c.check(o)
				}
				require.NoError(t, c.CheckState(pending...))
				steps := c.steps()
				require.Len(t, steps, 2*nranks)
				require.Greater(t, slices.Min(steps), first+16, "passed the boundary")
			})
		}
	}
}

// Works beyond those in the arguments come from device memory; works of other
// channels are skipped; a work may use fewer threads than were launched.
func TestManyWorks(t *testing.T) {
	for _, proto := range protos {
		t.Run(proto.String(), func(t *testing.T) {
			c := newCluster(t, setup{ranks: 2, channels: 3, slot: largeSlot})
			var all []*Operands
			works := make([][]abi.Work, 2)
			for i := range abi.InlineWorks + 5 {
				r := &run{
					proto: proto, op: coll.OpSum, dataType: coll.Uint32, count: 23 * i, threads: 96, workers: 32 + 32*(i%3),
					channels: []int{i % 3, max(i%3, i%2)}, inPlace: i%5 == 0,
				}
				o := c.prepare(r, uint64(i))
				all = append(all, o)
				for rank := range works {
					works[rank] = append(works[rank], o.Work[rank])
				}
			}
			for rank := range works {
				c.launch(all[0].Call.Variant(), rank, 96, works[rank])
			}
			require.NoError(t, c.wait())
			for _, o := range all {
				c.check(o)
			}
		})
	}
}

// flags says where a protocol whose data carries flags has them, as its header
// defines it.
type flags struct {
	period, flag int                 // bytes from one flag to the next, and to the first
	flagOf       func(uint64) []byte // of a step
}

var lines = map[coll.Proto]flags{
	coll.LL:    {8, 4, func(step uint64) []byte { return devcomm.Append(nil, LLFlag(step)) }},
	coll.LL128: {abi.LL128LineBytes, abi.LL128DataBytes, func(step uint64) []byte { return devcomm.Append(nil, step+1) }},
}

// plant fills every line of every LL FIFO as the first NumSteps steps from first
// on would.
func (c *cluster) plant(first uint64) {
	for _, conn := range c.connections() {
		fifo := make([]byte, smallSlot*abi.NumSteps)
		for step := first; step < first+abi.NumSteps; step++ {
			fillLines(coll.LL, fifo, step, 0xdead)
		}
		require.NoError(c.t, c.Devices[conn.To].CopyIn(device.Ptr(conn.Recv.Fifo[abi.ProtoLL]), fifo))
	}
}

// fillLines writes all lines of a step's slot in a FIFO of LL or LL128.
func fillLines(p coll.Proto, fifo []byte, step uint64, data uint32) {
	l, size := lines[p], smallSlot.bytes(p)
	slot := fifo[int(step%abi.NumSteps)*size:][:size]
	for off := 0; off < len(slot); off += l.period {
		for at := 0; at < l.flag; at += 4 {
			binary.LittleEndian.PutUint32(slot[off+at:], data)
		}
		copy(slot[off+l.flag:], l.flagOf(step))
	}
}

// olderFlags returns how many flags in the LL FIFOs are of steps before the given
// one.
func (c *cluster) olderFlags(step uint64) (n int) {
	for _, conn := range c.connections() {
		fifo := make([]byte, smallSlot*abi.NumSteps)
		require.NoError(c.t, c.Devices[conn.To].CopyOut(fifo, device.Ptr(conn.Recv.Fifo[abi.ProtoLL])))
		for off := 4; off < len(fifo); off += 8 {
			if binary.LittleEndian.Uint32(fifo[off:]) < uint32(step) {
				n++
			}
		}
	}
	return n
}

// The hazard is real: a line that still has the flag of a step 2^32 steps ago
// is taken for that step's data. Here a rank ends although its peer never
// started.
func TestStaleFlagsAreTakenForData(t *testing.T) {
	c := newCluster(t, setup{ranks: 2, channels: 1, firstStep: 1000})
	c.plant(1000)
	r := &run{proto: coll.LL, op: coll.OpSum, dataType: coll.Uint32, count: 2 * smallSlot.chunk(coll.LL) / 4, threads: 32, channels: []int{0, 0}}
	o := c.prepare(r, 1)
	c.launch(r.variant(), 0, r.threads, o.Work[:1])
	require.NoError(t, c.wait())
	got := c.read(0, o.Recv[0], 4*r.count)
	require.Contains(t, got[:8], byte(0xde), "the planted data was reduced or copied: %x", got[:8])
}

// And it is averted: once a connection has passed the steps at which slots are
// cleaned, no older flag is left, whichever protocols took it there, and however
// little of each slot they used.
func TestStaleFlagsAreCleaned(t *testing.T) {
	const window = 3 << 30
	for name, order := range map[string][]coll.Proto{
		"LL": {coll.LL}, "LL128": {coll.LL128}, "Simple": {coll.Simple}, "alternating": {coll.LL, coll.Simple, coll.LL128, coll.Simple},
	} {
		for lead := range uint64(3) {
			t.Run(fmt.Sprintf("%s from %d steps before", name, 4+lead), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 3, channels: 1, firstStep: window - 4 - lead})
				c.plant(window - 1<<29)
				for i := 0; ; i++ {
					r := &run{
						proto: order[i%len(order)], op: coll.OpSum, dataType: coll.Uint32, count: 3, threads: 64, channels: []int{0, 0},
					}
					o := c.allReduce(r, uint64(i))
					require.NoError(t, c.wait())
					c.check(o)
					least := slices.Min(c.steps())
					if least < window {
						require.Greater(t, c.olderFlags(window), 0, "nothing is cleaned too early")
					}
					if least >= window+abi.NumSteps {
						break
					}
				}
				require.Zero(t, c.olderFlags(window))
			})
		}
	}
}
