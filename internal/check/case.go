package check

import (
	"context"
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

// Scalar returns the bits of what rank multiplies by under mulsum, an element of
// t in the low bytes.
func Scalar(t coll.DataType, rank int) uint64 {
	if f, isFloat := formats[t]; isFloat {
		return f.encode(premul(rank), 0)
	}
	return uint64(premul(rank))
}

// premul returns the value of rank's scalar under mulsum, which is the one that
// nccl-tests chooses (ncclVerifiablePremulScalar, nccl-tests 2.19.6
// verifiable/verifiable.h).
func premul(rank int) int64 { return int64(1 + rank%2) }

// factor returns what rank's elements are multiplied by.
func (c Case) factor(rank int) int64 {
	if c.Op == coll.OpMulSum {
		return premul(rank)
	}
	return 1
}

// Bytes returns the size of one rank's input, and of its output.
func (c Case) Bytes() int { return c.Count * c.Type.Size() }

// Input returns the elements that rank contributes. It ends early, with ctx's
// error, if ctx does.
func (c Case) Input(ctx context.Context, rank int) (Data, error) {
	element := c.maker()
	return c.repeated(ctx, func(i int) uint64 { return element(rank, i) })
}

// Expected returns the reduction of all ranks' inputs. It ends early, with ctx's
// error, if ctx does.
func (c Case) Expected(ctx context.Context) (Data, error) {
	return c.repeated(ctx, c.reduced(c.maker(), c.NumRanks))
}

// reduced returns the function that reduces what element makes of the first ranks.
func (c Case) reduced(element maker, ranks int) func(i int) uint64 {
	pre, combine, post := c.reduction().steps()
	mask := ^uint64(0) >> (64 - 8*c.Type.Size())
	contribution := func(rank, i int) uint64 {
		x := element(rank, i) & mask
		if pre != nil {
			x = pre(rank, x)
		}
		return x
	}
	return func(i int) uint64 {
		z := contribution(0, i)
		for rank := 1; rank < ranks; rank++ {
			z = combine(z, contribution(rank, i))
		}
		if post != nil {
			z = post(z)
		}
		return z
	}
}

// reduction returns what the case does.
func (c Case) reduction() Reduction {
	r := Reduction{Type: c.Type, Op: c.Op, NumRanks: c.NumRanks}
	if c.Op == coll.OpMulSum {
		for rank := range c.NumRanks {
			r.Scalars = append(r.Scalars, Scalar(c.Type, rank))
		}
	}
	return r
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
	size := c.Type.Size()
	for i := lo; i < hi; i++ {
		store(dst[i*size:], size, element(i))
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
