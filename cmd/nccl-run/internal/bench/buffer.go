package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/check"
)

// guardBytes is the length of the canary on each side of a buffer's data: one
// whole line of any cache, and the alignment of an allocation.
const guardBytes = 512

// buffer is device memory of one rank: a canary, the data, a canary. Where the
// data begins and ends may differ in every measurement; the canaries always
// touch it.
type buffer struct {
	dev device.Device
	ptr device.Ptr
	// start is the offset of the data, size its length, in bytes.
	start, size int
}

// newBuffer allocates a buffer for up to capacity bytes of data, shifted by up
// to shift bytes.
func newBuffer(dev device.Device, capacity, shift int64, label string) (*buffer, error) {
	ptr, err := dev.Alloc(guardBytes+shift+capacity+guardBytes, label)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	return &buffer{dev: dev, ptr: ptr}, nil
}

// place puts the data of the next measurement at shift bytes from the first
// canary's usual end.
func (b *buffer) place(shift, size int) { b.start, b.size = guardBytes+shift, size }

// data returns the address of the data.
func (b *buffer) data() device.Ptr { return b.ptr + device.Ptr(b.start) }

// window is how many bytes of data are written or read in one go. It is small
// enough that what one core makes and a copy takes on stays in its cache, and
// whole elements of every type.
const window = 2 << 20

// windows calls f, on up to as many goroutines as there are cores, for each part
// of the buffer: part lies at offset at of the allocation and is memory to work
// in; its bytes from lo up to hi are data. The first part begins with the first
// canary, the last ends with the other. It ends early if f fails or ctx ends.
func (b *buffer) windows(ctx context.Context, f func(part []byte, at, lo, hi int) error) error {
	total := max(1, (b.size+window-1)/window)
	workers := min(total, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			stage := make([]byte, b.start+min(b.size, window)+guardBytes)
			for i := int(next.Add(1)) - 1; i < total && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				at, lo := b.start+i*window, 0
				if i == 0 {
					at, lo = 0, b.start
				}
				hi := lo + min(window, b.size-i*window)
				end := hi
				if i == total-1 {
					end += guardBytes
				}
				if err := f(stage[:end], at, lo, hi); err != nil {
					fail(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// write fills the buffer with data and renews the canaries.
func (b *buffer) write(ctx context.Context, data check.Data) error {
	return b.windows(ctx, func(part []byte, at, lo, hi int) error {
		for i := range lo {
			part[i] = canary(at + i)
		}
		for i := hi; i < len(part); i++ {
			part[i] = canary(at + i)
		}
		data.Fill(part[lo:hi], at+lo-b.start)
		return b.dev.CopyIn(b.ptr+device.Ptr(at), part)
	})
}

// difference is what is not as it must be.
type difference struct {
	damaged int // bytes of the canaries
	wrong   int // elements
	first   int // the first wrong element, or -1
}

// compare compares the buffer, whose elements have width bytes, with what it must
// hold.
func (b *buffer) compare(ctx context.Context, want check.Data, width int) (difference, error) {
	d := difference{first: -1}
	var mu sync.Mutex
	err := b.windows(ctx, func(part []byte, at, lo, hi int) error {
		if err := b.dev.CopyOut(part, b.ptr+device.Ptr(at)); err != nil {
			return err
		}
		damaged := 0
		for i := range lo {
			if part[i] != canary(at+i) {
				damaged++
			}
		}
		for i := hi; i < len(part); i++ {
			if part[i] != canary(at+i) {
				damaged++
			}
		}
		data := at + lo - b.start
		wrong, first := want.Wrong(part[lo:hi], data, width)
		mu.Lock()
		defer mu.Unlock()
		d.damaged += damaged
		d.wrong += wrong
		if first += data / width; wrong > 0 && (d.first < 0 || first < d.first) {
			d.first = first
		}
		return nil
	})
	return d, err
}

// canary is the byte at offset i of a canary. Neighbours differ, so that a copy
// that is off by a few bytes shows.
func canary(i int) byte { return byte(167*i + 13) }

// poison is what a collective must overwrite entirely.
var poison = check.Constant(0xa5)
