package launch

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
)

const (
	// overflowBlocks launches with overflow can be under way at once.
	overflowBlocks = 4
	// overflowWorks is how many works a block holds.
	overflowWorks = 512
)

// overflowBytes is the size of a block.
const overflowBytes = overflowWorks * int64(unsafe.Sizeof(abi.Work{}))

// overflow is device memory for the works that do not fit in a kernel's
// parameter. It is allocated once, because allocating may wait for the device
// and the device may be waiting for a peer. For the same reason the host does not
// write it but pinned memory of its own, from which a copy in the launch's stream
// brings the works: a copy that the host waits for may be held up by a kernel.
//
// A graph's launches do not use it, since what they read must stay as it is
// while the graph lives: their works are in kernel parameters only, which the
// graph owns.
type overflow struct {
	dev    device.Device
	host   device.HostMem // of all blocks
	blocks [overflowBlocks]overflowBlock
}

// overflowBlock holds the works of one launch until the launch is done.
type overflowBlock struct {
	at    device.Ptr
	works int // of the launch it was last used for
	used  bool
	done  device.Event
}

func (o *overflow) open(dev device.Device, label string) (err error) {
	o.dev = dev
	if o.host, err = dev.AllocHost(overflowBlocks*overflowBytes, label+" works"); err != nil {
		return fmt.Errorf("allocate %d bytes of host memory for works: %w", overflowBlocks*overflowBytes, err)
	}
	for i := range o.blocks {
		b := &o.blocks[i]
		if b.at, err = dev.Alloc(overflowBytes, fmt.Sprintf("%s works %d", label, i)); err != nil {
			return fmt.Errorf("allocate %d bytes for works: %w", overflowBytes, err)
		}
		if b.done, err = newEvent(dev); err != nil {
			return err
		}
	}
	return nil
}

// take brings works, or as many as fit, into a block that no launch uses, for the
// next launch on s, and returns the block. It is nil if there are no works or no
// such block.
func (o *overflow) take(s device.Stream, works []abi.Work) (*overflowBlock, error) {
	if len(works) == 0 {
		return nil, nil
	}
	for i := range o.blocks {
		b := &o.blocks[i]
		if b.used {
			done, err := b.done.Query()
			if err != nil {
				return nil, fmt.Errorf("query event: %w", err)
			}
			if !done {
				continue
			}
		}
		b.works = min(len(works), overflowWorks)
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&works[0])), b.works*int(unsafe.Sizeof(works[0])))
		off := int64(i) * overflowBytes
		o.host.Write(off, bytes)
		if err := s.CopyAsync(b.at, o.host.Ptr()+device.Ptr(off), int64(len(bytes))); err != nil {
			return nil, fmt.Errorf("copy works: %w", err)
		}
		return b, nil
	}
	return nil, nil
}

// record marks b as used by the launch just queued on s.
func (b *overflowBlock) record(s device.Stream) error {
	if b == nil {
		return nil
	}
	b.used = true
	if err := s.Record(b.done); err != nil {
		return fmt.Errorf("record event: %w", err)
	}
	return nil
}

func (o *overflow) close() error {
	var errs []error
	for i := range o.blocks {
		b := &o.blocks[i]
		if b.at != 0 {
			errs = append(errs, o.dev.Free(b.at))
		}
		errs = append(errs, closeEvent(b.done))
	}
	if o.host != nil {
		errs = append(errs, o.host.Free())
	}
	return errors.Join(errs...)
}
