package devcomm

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// table is the structs of one rank, in one allocation in this order:
//
//	Comm | Channel[nchannels] | Peer[nchannels][nranks] | uint32[nchannels][nranks]
//
// Sizes of all structs are multiples of 16, so each part is aligned.
type table struct {
	base     device.Ptr
	comm     abi.Comm
	channels []abi.Channel
	peers    []abi.Peer
	order    []uint32 // each channel's Ring.Ranks
}

func newTable(nranks, nchannels int) table {
	return table{
		channels: make([]abi.Channel, nchannels),
		peers:    make([]abi.Peer, nchannels*nranks),
		order:    make([]uint32, nchannels*nranks),
	}
}

func (t *table) nranks() int { return len(t.peers) / len(t.channels) }

// Offsets of the parts, in bytes.
func (t *table) channelsAt() int64 { return Size(t.comm) }
func (t *table) peersAt() int64    { return t.channelsAt() + Size(t.channels) }
func (t *table) orderAt() int64    { return t.peersAt() + Size(t.peers) }
func (t *table) size() int64       { return t.orderAt() + Size(t.order) }

// place fills in what follows from the table's address.
func (t *table) place(base device.Ptr, rank int) {
	t.base = base
	t.comm.Rank = uint32(rank)
	t.comm.NumRanks = uint32(t.nranks())
	t.comm.NumChannels = uint32(len(t.channels))
	for ch := range t.channels {
		first := int64(ch * t.nranks())
		t.channels[ch].Peers = abi.Ptr(base) + abi.Ptr(t.peersAt()+first*Size(abi.Peer{}))
		t.channels[ch].Ring.Ranks = abi.Ptr(base) + abi.Ptr(t.orderAt()+first*Size(uint32(0)))
	}
}

// label names the parts in faults and reports.
func (t *table) label(dev device.Device) {
	part := func(at, size int64, format string, args ...any) {
		dev.Label(t.base+device.Ptr(at), size, fmt.Sprintf("rank %d ", t.comm.Rank)+fmt.Sprintf(format, args...))
	}
	part(0, Size(t.comm), "Comm")
	for ch := range t.channels {
		first := int64(ch * t.nranks())
		part(t.channelsAt()+int64(ch)*Size(abi.Channel{}), Size(abi.Channel{}), "ch %d", ch)
		part(t.peersAt()+first*Size(abi.Peer{}), int64(t.nranks())*Size(abi.Peer{}), "ch %d peers", ch)
		part(t.orderAt()+first*Size(uint32(0)), int64(t.nranks())*Size(uint32(0)), "ch %d ring", ch)
	}
}

// setRing fills in this rank's place in a channel's ring.
func (t *table) setRing(ch int, ring []int) {
	n := len(ring)
	index := 0
	for ring[index] != int(t.comm.Rank) {
		index++
	}
	r := &t.channels[ch].Ring
	r.Index = uint32(index)
	r.Prev = uint32(ring[(index+n-1)%n])
	r.Next = uint32(ring[(index+1)%n])
	for i := range n {
		t.order[ch*n+i] = uint32(ring[(index+i)%n])
	}
}

// peer returns what a channel has for a peer.
func (t *table) peer(ch, rank int) *abi.Peer { return &t.peers[ch*t.nranks()+rank] }

// encode returns the table's bytes on the device.
func (t *table) encode() []byte {
	b := make([]byte, 0, t.size())
	for _, part := range []any{t.comm, t.channels, t.peers, t.order} {
		b = Append(b, part)
	}
	return b
}
