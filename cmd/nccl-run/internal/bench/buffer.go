package bench

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device"
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

// write fills the buffer: content writes the data, the canaries are renewed.
// stage is memory to work in, at least as long as the allocation.
func (b *buffer) write(stage []byte, content func(data []byte) error) error {
	stage = stage[:b.start+b.size+guardBytes]
	for i := range stage[:b.start] {
		stage[i] = canary(i)
	}
	for i := b.start + b.size; i < len(stage); i++ {
		stage[i] = canary(i)
	}
	if err := content(stage[b.start : b.start+b.size]); err != nil {
		return err
	}
	return b.dev.CopyIn(b.ptr, stage)
}

// read returns the data, in stage, and how many bytes of the canaries changed.
func (b *buffer) read(stage []byte) (data []byte, damaged int, err error) {
	stage = stage[:b.start+b.size+guardBytes]
	if err := b.dev.CopyOut(stage, b.ptr); err != nil {
		return nil, 0, err
	}
	end := b.start + b.size
	for i := range stage[:b.start] {
		if stage[i] != canary(i) {
			damaged++
		}
	}
	for i := end; i < len(stage); i++ {
		if stage[i] != canary(i) {
			damaged++
		}
	}
	return stage[b.start:end], damaged, nil
}

// canary is the byte at offset i of a canary. Neighbours differ, so that a copy
// that is off by a few bytes shows.
func canary(i int) byte { return byte(167*i + 13) }

// poison fills data that a collective must overwrite entirely.
func poison(data []byte) error {
	for i := range data {
		data[i] = 0xa5
	}
	return nil
}
