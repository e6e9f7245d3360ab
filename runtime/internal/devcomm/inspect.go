package devcomm

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// Connection is the connection from one rank to another on a channel, as it lies
// in the devices' memory.
type Connection struct {
	Channel  int
	From, To int      // ranks
	Send     abi.Conn // the sender's side
	Recv     abi.Conn // the receiver's
	Head     uint64   // what Send.Head points to
	Tail     uint64   // what Recv.Tail points to
}

// Inspect reads every connection back, by channel and sender. Kernels may change
// the steps of the connections and what their heads and tails point to; an error
// says which rank's structs differ in anything else from what New wrote. Call it
// when no kernel runs.
func (c *Comms) Inspect() ([]Connection, error) {
	peers := make([][]abi.Peer, len(c.ranks))
	for i, r := range c.ranks {
		var err error
		if peers[i], err = r.inspect(); err != nil {
			return nil, fmt.Errorf("rank %d: %w", r.rank, err)
		}
	}
	var all []Connection
	for ch := range c.ranks[0].table.channels {
		for from := range c.ranks {
			for to := range c.ranks {
				send, recv := peers[from][ch*len(c.ranks)+to].Send, peers[to][ch*len(c.ranks)+from].Recv
				if send.Head == 0 {
					continue
				}
				conn := Connection{Channel: ch, From: from, To: to, Send: send, Recv: recv}
				for _, counter := range []struct {
					dev  device.Device
					at   abi.Ptr
					into *uint64
				}{{c.ranks[from].dev, send.Head, &conn.Head}, {c.ranks[to].dev, recv.Tail, &conn.Tail}} {
					raw := make([]byte, 8)
					if err := counter.dev.CopyOut(raw, device.Ptr(counter.at)); err != nil {
						return nil, err
					}
					if err := Decode(raw, counter.into); err != nil {
						return nil, err
					}
				}
				all = append(all, conn)
			}
		}
	}
	return all, nil
}

// inspect returns the peers of a rank as they are on its device.
func (r *rank) inspect() ([]abi.Peer, error) {
	raw := make([]byte, r.table.size())
	if err := r.dev.CopyOut(raw, r.table.base); err != nil {
		return nil, err
	}
	now := r.table
	now.peers = make([]abi.Peer, len(r.table.peers))
	if err := Decode(raw[now.peersAt():], now.peers); err != nil {
		return nil, err
	}
	peers := now.peers
	now.peers = append([]abi.Peer(nil), r.table.peers...)
	for i := range now.peers {
		now.peers[i].Send.Step, now.peers[i].Recv.Step = peers[i].Send.Step, peers[i].Recv.Step
	}
	for i, b := range now.encode() {
		if b != raw[i] {
			return nil, fmt.Errorf("byte %d of the communicator's structs is %#x, was %#x; a kernel changes the steps of connections only", i, raw[i], b)
		}
	}
	return peers, nil
}
