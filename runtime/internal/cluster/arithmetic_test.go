package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
)

// Packed arithmetic on bytes, 8-bit floats among them, on every pair of them.
func TestEveryPairOfBytes(t *testing.T) {
	for _, dataType := range []coll.DataType{coll.Int8, coll.Uint8, coll.F8E4M3, coll.F8E5M2} {
		for _, op := range ops {
			t.Run(fmt.Sprintf("%v %v", dataType, op), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 2, channels: 1, slot: largeSlot})
				c.all(&run{
					proto: coll.Simple, op: op, dataType: dataType, count: 1 << 16, threads: 64, channels: []int{0, 0},
					value: func(rank, i int) uint64 { return uint64(i >> (8 * rank) & 0xff) },
				}, 1)
			})
		}
	}
}

// Every product of a byte with a scalar: what a rank alone makes of its input.
func TestEveryScalarByte(t *testing.T) {
	c := newCluster(t, setup{ranks: 1, channels: 1, slot: largeSlot})
	for _, dataType := range []coll.DataType{coll.Uint8, coll.F8E4M3, coll.F8E5M2} {
		for scalar := range uint64(256) {
			c.all(&run{
				proto: coll.LL, op: coll.OpMulSum, dataType: dataType, count: 256, threads: 32, channels: []int{0, 0},
				value:  func(_, i int) uint64 { return uint64(i) },
				scalar: func(int) uint64 { return scalar }, onDevice: scalar%2 == 1, inPlace: scalar%3 == 0,
			}, scalar)
		}
	}
}

// Every f16 and every bf16 with the values at which something changes. bf16 has
// two kernels, for GPUs with and without its instructions.
func TestEveryHalf(t *testing.T) {
	for _, test := range []struct {
		dataType coll.DataType
		gpu      device.Info
		sm       int // of the kernel
	}{
		{coll.Float16, sim.H100(), 70},
		{coll.BFloat16, sim.V100(), 70},
		{coll.BFloat16, sim.A100(), 70},
		{coll.BFloat16, sim.H100(), 90},
	} {
		edges := specials(test.dataType)
		if testing.Short() {
			edges = edges[:2]
		}
		for _, op := range ops {
			t.Run(fmt.Sprintf("%v %v on %s", test.dataType, op, test.gpu.Name), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 2, channels: 1, slot: largeSlot, device: test.gpu})
				r := &run{
					proto: coll.Simple, op: op, dataType: test.dataType, count: len(edges) << 16, threads: 64, channels: []int{0, 0},
					value: func(rank, i int) uint64 {
						if rank == 0 {
							return uint64(i & 0xffff)
						}
						return edges[i>>16]
					},
				}
				kernel, err := generated.Lookup(r.variant(), test.gpu.SM)
				require.NoError(t, err)
				require.Equal(t, test.sm, kernel.SM)
				c.all(r, 1)
			})
		}
	}
}

// Random pairs of bf16 patterns, of which most are numbers of very different
// size, and rows of more ranks, in which every partial sum is rounded.
func TestBFloat16(t *testing.T) {
	for _, gpu := range []device.Info{sim.A100(), sim.H100()} {
		for _, nranks := range []int{2, 5} {
			c := newCluster(t, setup{ranks: nranks, channels: 1, slot: largeSlot, device: gpu})
			for _, op := range ops {
				rng := rand.New(rand.NewPCG(uint64(op), uint64(nranks)))
				for _, r := range []*run{
					{count: 1 << 17, value: func(int, int) uint64 { return rng.Uint64N(1 << 16) }},
					{count: 1 << 15}, // of moderate size
				} {
					r.proto, r.op, r.dataType, r.threads, r.channels = coll.Simple, op, coll.BFloat16, 64, []int{0, 0}
					c.all(r, uint64(op))
				}
			}
		}
	}
}

// The sum is divided at all its extremes by all kinds of divisors: powers of two
// and their neighbours, those at which a reciprocal is worst, and more ranks than
// there will ever be.
func TestDivision(t *testing.T) {
	divisors := []int{
		1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 25, 63, 64, 65, 100, 125, 127, 128, 129, 255, 256, 257, 258, 641, 1000, 16384,
		65535, 65536, 65537, 274177, 6700417, 1<<24 - 1, 1 << 24, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1,
	}
	if testing.Short() {
		divisors = divisors[:12]
	}
	c := newCluster(t, setup{ranks: 1, channels: 1, slot: largeSlot})
	pair := newCluster(t, setup{ranks: 2, channels: 1, slot: largeSlot})
	for _, dataType := range []coll.DataType{coll.Int8, coll.Uint8, coll.Int32, coll.Uint32, coll.Int64, coll.Uint64} {
		bits := 8 * dataType.Size()
		for _, d := range divisors {
			rng := rand.New(rand.NewPCG(uint64(d), uint64(bits)))
			quotients := ^uint64(0) >> (64 - bits) / uint64(d)
			value := func(rank, i int) uint64 {
				switch {
				case bits == 8:
					return uint64(i + 3*rank) // all of them
				case i < 64:
					return uint64(i) - 32
				case i < 128:
					return 1<<(bits-1) + uint64(i) - 96 // around the change of sign
				case i < 512:
					return rng.Uint64()%max(quotients, 1)*uint64(d) + rng.Uint64N(3) - 1 // around multiples
				case i < 576:
					return uint64(i-544) - uint64(d)*rng.Uint64N(3)
				default:
					return rng.Uint64() >> (64 - 1 - rng.IntN(bits)) // of all lengths
				}
			}
			for _, cluster := range []*cluster{c, pair} {
				cluster.all(&run{
					proto: coll.LL, op: coll.OpAvg, dataType: dataType, count: 1024, threads: 64, channels: []int{0, 0},
					value: value, divide: d,
				}, uint64(d))
			}
		}
	}
}

// A scalar in device memory is read when the kernel runs: the same launch again
// uses what is there by then.
func TestScalarOnDevice(t *testing.T) {
	for _, proto := range protos {
		for _, dataType := range types {
			t.Run(fmt.Sprintf("%v %v", proto, dataType), func(t *testing.T) {
				c := newCluster(t, setup{ranks: 3, channels: 1})
				r := &run{proto: proto, op: coll.OpMulSum, dataType: dataType, count: 99, threads: 32, channels: []int{0, 0}, onDevice: true}
				o := c.prepare(r, 1)
				for again := range uint64(2) {
					for rank := range o.Work {
						require.EqualValues(t, 1, o.Work[rank].RedOpArgIsPtr)
						c.launch(r.variant(), rank, r.threads, o.Work[rank:rank+1])
					}
					require.NoError(t, c.wait())
					c.check(o)
					rng := rand.New(rand.NewPCG(again, 7))
					for rank, dev := range c.Devices {
						require.NoError(t, o.SetScalar(dev, rank, random(dataType, rng)))
					}
				}
			})
		}
	}
}

// What no operator touches keeps its bits: a rank alone copies, NaN payloads
// included, and with mulsum it multiplies, in place too.
func TestLoneRank(t *testing.T) {
	for _, proto := range protos {
		for _, dataType := range types {
			for _, op := range ops {
				for _, inPlace := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v %v %v inplace=%v", proto, dataType, op, inPlace), func(t *testing.T) {
						c := newCluster(t, setup{ranks: 1, channels: 1})
						c.all(&run{
							proto: proto, op: op, dataType: dataType, count: 333, threads: 32, channels: []int{0, 0}, inPlace: inPlace,
						}, 5)
					})
				}
			}
		}
	}
}
