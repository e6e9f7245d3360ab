package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"github.com/ncclgo/ncclgo/coll"
)

// Case is one reduction to check: every rank contributes Count elements.
type Case struct {
	Type     coll.DataType
	Op       coll.UserOp
	NumRanks int
	Count    int // elements
	Seed     uint64
}

// Supports returns nil if the reference covers op.
func Supports(op coll.UserOp) error {
	switch op {
	case coll.OpSum, coll.OpProd, coll.OpMax, coll.OpMin:
		return nil
	}
	return fmt.Errorf("the data check has no reference for op %s", op)
}

// Bytes returns the size of one rank's input, and of its output.
func (c Case) Bytes() int { return c.Count * c.Type.Size() }

// Input returns the elements that rank contributes. It ends early, with ctx's
// error, if ctx does.
func (c Case) Input(ctx context.Context, rank int) (Data, error) {
	arith := c.arithmetic()
	return c.repeated(ctx, func(i int) uint64 { return arith.element(rank, i) })
}

// Expected returns the reduction of all ranks' inputs. It ends early, with ctx's
// error, if ctx does.
func (c Case) Expected(ctx context.Context) (Data, error) {
	return c.repeated(ctx, c.arithmetic().reduced)
}

// repeated makes the elements up to the period, little-endian as GPUs are.
func (c Case) repeated(ctx context.Context, element func(i int) uint64) (Data, error) {
	c.Count = min(c.Count, period)
	d := Data{unit: make([]byte, c.Bytes()), size: c.Type.Size()}
	return d, c.fill(ctx, d.unit, element)
}

// share is how many elements a goroutine makes at least, since fewer take less
// time than to start it, and how many it makes without a look at the context.
const share = 1 << 15

// fill writes Count elements on all cores.
func (c Case) fill(ctx context.Context, dst []byte, element func(i int) uint64) error {
	size := max(share, (c.Count+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	if c.Count <= share {
		c.fillRange(dst, 0, c.Count, element)
		return ctx.Err()
	}
	var wg sync.WaitGroup
	for lo := 0; lo < c.Count; lo += size {
		wg.Go(func() {
			end := min(lo+size, c.Count)
			for at := lo; at < end && ctx.Err() == nil; at += share {
				c.fillRange(dst, at, min(at+share, end), element)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// fillRange writes the elements from lo up to hi.
func (c Case) fillRange(dst []byte, lo, hi int, element func(i int) uint64) {
	switch c.Type.Size() {
	case 1:
		for i := lo; i < hi; i++ {
			dst[i] = byte(element(i))
		}
	case 2:
		for i := lo; i < hi; i++ {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(element(i)))
		}
	case 4:
		for i := lo; i < hi; i++ {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(element(i)))
		}
	case 8:
		for i := lo; i < hi; i++ {
			binary.LittleEndian.PutUint64(dst[8*i:], element(i))
		}
	}
}

// arithmetic is how elements of a case are made and combined; both return the
// bits of an element.
type arithmetic interface {
	element(rank, i int) uint64
	reduced(i int) uint64
}

func (c Case) arithmetic() arithmetic {
	f, isFloat := formats[c.Type]
	switch {
	case !isFloat:
		return integers{c}
	case c.Op == coll.OpSum:
		return newExactSums(c, f)
	case c.Op == coll.OpProd:
		return exactProducts{c, f}
	default:
		return extremes{c, f}
	}
}

// random returns 64 bits that depend on the case's seed, the rank and the
// index, and look unrelated for neighbours (the finalizer of SplitMix64,
// Steele, Lea and Flood 2014).
func (c Case) random(rank, i int) uint64 {
	x := c.Seed + uint64(rank)*0x9e3779b97f4a7c15 + uint64(i)*0xd1342543de82ef95
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// everyRank is the rank to give random for bits that all ranks share.
const everyRank = -1
