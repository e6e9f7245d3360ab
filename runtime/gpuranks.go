package nccl

import (
	"sync"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/result"
)

// gpuRanks are the ranks of one communicator that share a GPU. Their kernels
// wait for one another, so no rank's kernel may be queued behind the kernel of
// another that needs it: on one stream, an operation of one rank must not follow
// the same operation, or a later one, of another.
type gpuRanks struct {
	nranks int // of the communicator

	mu sync.Mutex
	// What follows is guarded by mu. Numbers are by rank and one beyond that of an
	// operation.
	last    []uint64           // last operation; those of other devices' ranks do not count
	streams map[place][]uint64 // last operation there
	forgot  int                // places that were kept when some were last forgotten
}

// place is a stream, or a stream in a capture: a graph may be launched on another
// stream than the one it was captured from.
type place struct {
	stream  device.Stream
	capture uint64
}

func newGPURanks(devices []device.Device, on device.Device) *gpuRanks {
	r := &gpuRanks{nranks: len(devices), last: make([]uint64, len(devices)), streams: map[place][]uint64{}}
	for rank, dev := range devices {
		if dev != on {
			r.last[rank] = ^uint64(0)
		}
	}
	return r
}

// reservation is what reserve changed, for cancel.
type reservation struct {
	made         bool
	before       uint64 // of part.stream
	othersBefore []uint64
}

// reserve notes that p, whose first operation has the given number, is about to
// be enqueued on its streams, or refuses if it could not end.
//
// Preconditions: the rank's Comm.mu is held, until p is enqueued or canceled.
func (r *gpuRanks) reserve(p *part, first uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.check(p, place{p.stream, p.capture}, first)
	for _, s := range p.others {
		if err == nil {
			err = r.check(p, place{s, p.capture}, first)
		}
	}
	if err != nil {
		return err
	}
	r.forget()
	end := first + uint64(len(p.calls))
	p.reserved = reservation{made: true, before: r.set(p.comm.rank, place{p.stream, p.capture}, end)}
	for _, s := range p.others {
		p.reserved.othersBefore = append(p.reserved.othersBefore, r.set(p.comm.rank, place{s, p.capture}, end))
	}
	r.last[p.comm.rank] = end
	return nil
}

func (r *gpuRanks) check(p *part, at place, first uint64) error {
	for rank, last := range r.streams[at] {
		if rank != p.comm.rank && last > first {
			return result.New(result.InvalidUsage, p.calls[0].shape.fn.String(),
				"the operation would be on one stream behind that of rank %d, on the same GPU, which waits for it; give each rank a stream of its own", rank).At(p.comm.rank)
		}
	}
	return nil
}

// set changes a rank's last operation at a place and returns what it was.
func (r *gpuRanks) set(rank int, at place, last uint64) (before uint64) {
	of := r.streams[at]
	if of == nil {
		of = make([]uint64, r.nranks)
		r.streams[at] = of
	}
	before, of[rank] = of[rank], last
	return before
}

// cancel takes back what reserve noted.
func (r *gpuRanks) cancel(p *part, first uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[p.comm.rank] = first
	r.set(p.comm.rank, place{p.stream, p.capture}, p.reserved.before)
	for i, s := range p.others {
		r.set(p.comm.rank, place{s, p.capture}, p.reserved.othersBefore[i])
	}
}

// forget drops the places at which nothing lies that a rank has still to
// enqueue, once there are twice as many as there were after the last time.
func (r *gpuRanks) forget() {
	const few = 32
	if len(r.streams) < 2*max(r.forgot, few) {
		return
	}
	least := ^uint64(0)
	for _, last := range r.last {
		least = min(least, last)
	}
	for at, of := range r.streams {
		old := true
		for _, last := range of {
			old = old && last <= least
		}
		if old {
			delete(r.streams, at)
		}
	}
	r.forgot = len(r.streams)
}
