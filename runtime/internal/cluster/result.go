package cluster

import (
	"bytes"
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// Check compares every element on every rank with what it must be, and the
// guards and the inputs with what they were.
func (c *Cluster) Check(o *Operands) error {
	call := &o.Call
	want := make([]byte, call.Count*call.Type.Size())
	for i, p := range o.parts {
		o.expect(c.Config.Rings[call.ChannelLo+i], p, want)
	}
	for rank := range c.Devices {
		if err := c.compare(Result, rank, o.Recv[rank], want, call); err != nil {
			return err
		}
		if call.InPlace {
			continue
		}
		if err := c.compare(Input, rank, o.Send[rank], o.inputs[rank], call); err != nil {
			return err
		}
	}
	return nil
}

// compare compares a rank's buffer with what must be in it.
func (c *Cluster) compare(what Wrong, rank int, p device.Ptr, want []byte, call *Call) error {
	got, err := c.Read(rank, p, len(want))
	if err != nil || bytes.Equal(got, want) {
		return err
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	i /= call.Type.Size()
	return &Mismatch{What: what, Rank: rank, Detail: fmt.Sprintf("element %d of %d is %#x, must be %#x",
		i, call.Count, element(call.Type, got, i), element(call.Type, want, i))}
}

// expect fills in a channel's part of the result. Each loop of the part is cut
// into a chunk for each place in the ring; chunk k is added up from place k+1 on
// around the ring to place k (docs/ARITHMETIC.md).
func (o *Operands) expect(ring []int, p part, want []byte) {
	n := len(ring)
	size := o.Call.Type.Size()
	order := make([]int, n)
	inputs := make([][]byte, n)
	for _, l := range loops(p.count*size, o.Call.ChunkBytes, n) {
		for k := range n {
			first := p.first*size + l.first + k*l.chunk
			end := min(p.first*size+l.end, first+l.chunk)
			if first >= end {
				break
			}
			for j := range n {
				order[j] = ring[(k+1+j)%n]
				inputs[j] = o.inputs[j][first:end]
			}
			o.reduction.Fold(want[first:end], inputs, order)
		}
	}
}

// loop is what a ring takes at once, in bytes of a channel's part: a chunk for
// each of its ranks, the last of them shorter or empty.
type loop struct{ first, end, chunk int }

// loops cuts bytes into loops. The last one shares what remains evenly, in units
// of 16 bytes.
func loops(bytes, chunk, n int) []loop {
	var all []loop
	for first := 0; first < bytes; first += n * chunk {
		if rest := bytes - first; rest < n*chunk {
			chunk = ((rest+n-1)/n + 15) / 16 * 16
		}
		all = append(all, loop{first, min(bytes, first+n*chunk), chunk})
	}
	return all
}
