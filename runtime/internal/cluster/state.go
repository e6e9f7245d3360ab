package cluster

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// cleanPeriod is after how many steps a slot of LL is rewritten whole
// (templates/cuda/proto_ll.cuh).
const cleanPeriod = 1 << 30

// LLFlag is the flag of a step of LL (templates/cuda/proto_ll.cuh).
func LLFlag(step uint64) uint32 { return uint32(step) | 1 }

// Age fills the FIFOs with what the steps before Config.FirstStep may have left:
// flags of any step since the slot was last rewritten whole (templates/cuda/proto_ll.cuh;
// of any step at all for LL128), and data that no kernel may take for its own.
func (c *Cluster) Age(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	first := c.Config.FirstStep
	conns, err := c.Comms.Inspect()
	if err != nil {
		return err
	}
	for _, conn := range conns {
		for proto, bytes := range c.Config.BufferBytes {
			fifo := make([]byte, bytes)
			for i := 0; i < len(fifo); i += 8 {
				binary.LittleEndian.PutUint64(fifo[i:], rng.Uint64())
			}
			slot := SlotBytes(bytes)
			for s := range uint64(abi.NumSteps) {
				age(coll.Proto(proto), fifo[int(s)*slot:][:slot], s, first, rng)
			}
			if err := c.Devices[conn.To].CopyIn(device.Ptr(conn.Recv.Fifo[proto]), fifo); err != nil {
				return err
			}
		}
	}
	return nil
}

// age puts flags of steps before first into slot number s.
func age(proto coll.Proto, slot []byte, s, first uint64, rng *rand.Rand) {
	if proto == coll.Simple {
		return
	}
	if first <= s { // new memory
		clear(slot)
		return
	}
	last := first - 1 - (first-1-s)%abi.NumSteps
	oldest := s
	if proto == coll.LL {
		oldest = first - 1 - (first-1-s)%cleanPeriod
	}
	for i := 0; i < len(slot); i += 8 {
		step := last
		if rng.IntN(2) == 0 {
			step -= rng.Uint64N((last-oldest)/abi.NumSteps+1) * abi.NumSteps
		}
		switch {
		case proto == coll.LL:
			binary.LittleEndian.PutUint32(slot[i+4:], LLFlag(step))
		case i%abi.LL128LineBytes == abi.LL128DataBytes:
			binary.LittleEndian.PutUint64(slot[i:], step+1)
		}
	}
}

// CheckState compares the connections with what they must be after calls, which
// all ranks have made in this order, and which have ended: both sides have
// counted the steps that the protocol takes, every step is consumed, whatever
// LL's slots hold is new enough, and nothing else has changed.
func (c *Cluster) CheckState(calls ...*Operands) error {
	conns, err := c.Comms.Inspect()
	if err != nil {
		return &Mismatch{What: State, Rank: 0, Detail: err.Error()}
	}
	for i := range conns {
		if err := c.checkConnection(&conns[i], calls); err != nil {
			return err
		}
	}
	reports, err := c.Comms.Reports()
	if err == nil && len(reports) > 0 {
		return &Mismatch{What: State, Rank: reports[0].Rank, Detail: fmt.Sprintf("nobody aborted, and %v", reports[0])}
	}
	return err
}

func (c *Cluster) checkConnection(conn *devcomm.Connection, calls []*Operands) error {
	step, tail := c.Config.FirstStep, c.Config.FirstStep
	for _, o := range calls {
		n := o.steps(conn, c.Config.Rings[conn.Channel], SlotBytes(c.Config.BufferBytes[o.Call.Proto]))
		step += n
		if o.Call.Proto == coll.Simple && n > 0 {
			tail = step
		}
	}
	for _, is := range []struct {
		what      string
		rank      int
		got, want uint64
	}{
		{"the sender's step", conn.From, conn.Send.Step, step},
		{"the receiver's step", conn.To, conn.Recv.Step, step},
		{"head", conn.From, conn.Head, step},
		{"tail", conn.To, conn.Tail, tail},
	} {
		if is.got != is.want {
			return &Mismatch{What: State, Rank: is.rank, Detail: fmt.Sprintf("ch %d from %d to %d: %s is %#x, must be %#x",
				conn.Channel, conn.From, conn.To, is.what, is.got, is.want)}
		}
	}
	return c.checkLines(conn, step)
}

// checkLines looks for flags in the slots of LL that are older than the last step
// at which the slot was to be rewritten whole.
func (c *Cluster) checkLines(conn *devcomm.Connection, step uint64) error {
	fifo := make([]byte, c.Config.BufferBytes[abi.ProtoLL])
	if err := c.Devices[conn.To].CopyOut(fifo, device.Ptr(conn.Recv.Fifo[abi.ProtoLL])); err != nil {
		return err
	}
	slot := SlotBytes(int64(len(fifo)))
	for at := 0; at < len(fifo); at += 8 {
		s := uint64(at / slot)
		if step <= s {
			break
		}
		cleaned := step - 1 - (step-1-s)%cleanPeriod
		if cleaned < c.Config.FirstStep {
			continue
		}
		if flag := binary.LittleEndian.Uint32(fifo[at+4:]); int32(flag-LLFlag(cleaned)) < 0 {
			return &Mismatch{What: State, Rank: conn.To, Detail: fmt.Sprintf(
				"ch %d from %d to %d: at step %#x slot %d of LL still has flag %#x at byte %d; step %#x was to rewrite it",
				conn.Channel, conn.From, conn.To, step, s, flag, at%slot, cleaned)}
		}
	}
	return nil
}

// steps returns how many steps a call takes on a connection: those of each chunk
// that is not empty, in each of the 2(n-1) hops in which the sender passes one on.
func (o *Operands) steps(conn *devcomm.Connection, ring []int, slotBytes int) (n uint64) {
	call := &o.Call
	if conn.Channel < call.ChannelLo || conn.Channel > call.ChannelHi {
		return 0
	}
	index := slices.Index(ring, conn.From)
	for _, l := range loops(o.parts[conn.Channel-call.ChannelLo].count*call.Type.Size(), call.ChunkBytes, len(ring)) {
		for hop := range 2 * (len(ring) - 1) {
			k := (index + 2*len(ring) - 1 - hop) % len(ring)
			if bytes := min(l.end, l.first+(k+1)*l.chunk) - (l.first + k*l.chunk); bytes > 0 {
				n += chunkSteps(call.Proto, bytes, slotBytes)
			}
		}
	}
	return n
}

// chunkSteps returns how many steps a chunk takes: one of LL; of Simple two for
// each slice, which are the halves of the chunk in units of 16 bytes, but at
// least a 32nd of the room of two slots, and at most all of it.
func chunkSteps(proto coll.Proto, bytes, slotBytes int) uint64 {
	if proto != coll.Simple {
		return 1
	}
	room := abi.SimpleSliceSteps * slotBytes
	slice := min(room, (max((bytes+1)/2, room/32)+15)/16*16)
	return uint64((bytes+slice-1)/slice) * abi.SimpleSliceSteps
}
