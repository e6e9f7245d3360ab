package nccl

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

// someOp is an operator that nobody asked for.
type someOp struct{ coll.UserOp }

// TestOperatorRefuses checks every kind of bad scalar and every misuse of an
// operator: its error, and that nothing was touched.
func TestOperatorRefuses(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	c, elsewhere := comms[1], mustInit(t, cfg)[1]
	made := func(c *Comm, t2 coll.DataType) *PreMulSum {
		o, err := c.NewPreMulSum(t2, ScalarOf(2))
		require.NoError(t, err)
		return o
	}
	closed := made(c, coll.Float32)
	require.NoError(t, closed.Close())
	abandoned := mustInit(t, cfg)[1]
	require.NoError(t, abandoned.Close())

	create := func(c *Comm, t coll.DataType, s Scalar) func() error {
		return func() error { _, err := c.NewPreMulSum(t, s); return err }
	}
	call := func(op Op) func() error {
		return func() error { return c.AllReduce(someBuffer, someBuffer, 4, coll.Float32, op, named(c, "s")) }
	}
	var text strings.Builder
	for _, test := range []struct {
		name string
		do   func() error
		kind error
	}{
		{"no scalar", create(c, coll.Float32, Scalar{}), ErrInvalidArgument},
		{"unknown type", create(c, coll.NumDataTypes, ScalarOf(1)), ErrInvalidArgument},
		{"fraction of an integer", create(c, coll.Int32, ScalarOf(0.5)), ErrInvalidArgument},
		{"NaN of an integer", create(c, coll.Int64, ScalarOf(math.NaN())), ErrInvalidArgument},
		{"negative unsigned", create(c, coll.Uint8, ScalarOf(-1)), ErrInvalidArgument},
		{"too large", create(c, coll.Int8, ScalarOf(128)), ErrInvalidArgument},
		{"too many bits", create(c, coll.BFloat16, ScalarBits(0x13f80)), ErrInvalidArgument},
		{"nil address", create(c, coll.Float16, ScalarAt(0)), ErrInvalidArgument},
		{"misaligned address", create(c, coll.Float64, ScalarAt(1<<32+4)), ErrInvalidArgument},
		{"nil communicator", create(nil, coll.Float32, ScalarOf(1)), ErrInvalidArgument},
		{"closed communicator", create(abandoned, coll.Float32, ScalarOf(1)), ErrInvalidUsage},

		{"mulsum without a scalar", call(coll.OpMulSum), ErrInvalidArgument},
		{"nil", call(nil), ErrInvalidArgument},
		{"nil operator", call((*PreMulSum)(nil)), ErrInvalidArgument},
		{"zero operator", call(&PreMulSum{}), ErrInvalidArgument},
		{"another type's", call(made(c, coll.Float16)), ErrInvalidArgument},
		{"another rank's", call(made(comms[0], coll.Float32)), ErrInvalidArgument},
		{"another communicator's", call(made(elsewhere, coll.Float32)), ErrInvalidArgument},
		{"closed", call(closed), ErrInvalidUsage},
		{"something else", call(someOp{}), ErrInvalidArgument},

		{"close again", closed.Close, ErrInvalidUsage},
		{"close nil", (*PreMulSum)(nil).Close, ErrInvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver.TakeLog()
			err := test.do()
			require.ErrorIs(t, err, test.kind)
			require.Empty(t, driver.TakeLog(), "what was refused touched the device")
			fmt.Fprintf(&text, "%s: %v\n", test.name, err)
		})
	}
	golden.Check(t, "runtime/refused_operators.txt", []byte(text.String()))
}

// TestReductionNeedsNewerGPU has GPUs without the conversions that reductions of 8-bit
// floats are made of.
func TestReductionNeedsNewerGPU(t *testing.T) {
	info := fakeInfo
	info.SM = 80
	driver := fakedevice.New(2, info)
	comms := mustInit(t, Config{Devices: open(t, driver), System: builtin(t, "dgx-a100")})
	for _, typ := range []coll.DataType{coll.F8E4M3, coll.F8E5M2} {
		err := comms[1].AllReduce(someBuffer, someBuffer, 4, typ, coll.OpSum, named(comms[1], "s"))
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, fmt.Sprintf("%v reductions need compute capability 9.0; GPU 0 is sm_80", typ))
		_, err = comms[1].NewPreMulSum(typ, ScalarOf(1))
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "compute capability 9.0")
	}
}

func TestScalar(t *testing.T) {
	for _, row := range []struct {
		t    coll.DataType
		s    Scalar
		want operand
	}{
		{coll.Float32, ScalarOf(0.1), operand{bits: 0x3dcccccd}},
		{coll.Float64, ScalarOf(-2), operand{bits: 0xc000000000000000}},
		{coll.BFloat16, ScalarOf(1.0 / 3), operand{bits: 0x3eab}},
		{coll.F8E4M3, ScalarOf(1000), operand{bits: 0x7e}},
		{coll.Int8, ScalarOf(-128), operand{bits: 0x80}},
		{coll.Uint8, ScalarOf(255), operand{bits: 0xff}},
		{coll.Int64, ScalarOf(-1), operand{bits: math.MaxUint64}},
		{coll.Int64, ScalarOf(-0x1p63), operand{bits: 1 << 63}},
		{coll.Uint64, ScalarOf(0x1p63), operand{bits: 1 << 63}},
		{coll.Int32, ScalarBits(0xffffffff), operand{bits: 0xffffffff}},
		{coll.Uint64, ScalarBits(math.MaxUint64), operand{bits: math.MaxUint64}},
		{coll.Float16, ScalarAt(0x1002), operand{0x1002, true}},
	} {
		got, err := row.s.operand(row.t)
		require.Nil(t, err)
		require.Equal(t, row.want, got, "%v %+v", row.t, row.s)
	}
}

// TestRanksDisagreeOnOperator: ranks may have scalars of their own, but not one a
// scalar and the other none.
func TestRanksDisagreeOnOperator(t *testing.T) {
	_, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	group := func(ops ...Op) error {
		return Group(func(g *Calls) error {
			for rank, op := range ops {
				if err := g.AllReduce(comms[rank], someBuffer, someBuffer, 4, coll.Float32, op, named(comms[rank], "s")); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var ops []Op
	for rank, c := range comms {
		o, err := c.NewPreMulSum(coll.Float32, ScalarOf(float64(rank)))
		require.NoError(t, err)
		ops = append(ops, o)
	}
	require.NoError(t, group(ops...))
	err := group(coll.OpSum, ops[1])
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.EqualError(t, err, "Group: ranks 0 1: operation 0 of rank 0 is AllReduce sum of 4 f32, of rank 1 it is AllReduce mulsum of 4 f32; "+
		"every rank must add the same operations in the same order")
	// They are the same kernel, yet not the same operation.
	err = group(coll.OpAvg, ops[1])
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestOperatorsOfGroup has many operators of one kernel in a group, each closed
// before the group is launched.
func TestOperatorsOfGroup(t *testing.T) { onEngines(t, testOperatorsOfGroup) }

func testOperatorsOfGroup(t *testing.T, e engine) {
	for _, ranks := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d ranks", ranks), func(t *testing.T) {
			comms := mustInit(t, e.config(t, ranks))
			streams := streamsOf(t, comms)
			var jobs []*job
			require.NoError(t, Group(func(g *Calls) error {
				for i := range 60 {
					// One rank alone copies for the sums and has kernels for the others.
					j := newJob(t, comms, streams, coll.Int32, []coll.UserOp{coll.OpSum, coll.OpMulSum}[i%2], 1+i, i%3 == 0)
					factors := []int32{int32(i), -1}
					if j.op == coll.OpMulSum {
						for rank, c := range comms {
							o, err := c.NewPreMulSum(coll.Int32, ScalarOf(float64(factors[rank])))
							require.NoError(t, err)
							j.ops[rank] = o
						}
						scaled(j, func(rank int) int32 { return factors[rank] })
					}
					if err := j.enqueue(g); err != nil {
						return err
					}
					for _, op := range j.ops {
						if o, ok := op.(*PreMulSum); ok {
							require.NoError(t, o.Close())
						}
					}
					jobs = append(jobs, j)
				}
				return nil
			}))
			for _, j := range jobs {
				j.check(t)
			}
		})
	}
}

// deviceScalars returns an operator with a scalar in device memory for each rank,
// and where the scalars are.
func deviceScalars(t *testing.T, comms []*Comm) ([]Op, []device.Ptr) {
	ops, at := make([]Op, len(comms)), make([]device.Ptr, len(comms))
	for rank, c := range comms {
		p, err := c.Device().Alloc(8, "scalar")
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Device().Free(p) })
		// One element beside the start: alignment to the element is all there is.
		at[rank] = p + 4
		o, err := c.NewPreMulSum(coll.Int32, ScalarAt(at[rank]))
		require.NoError(t, err)
		ops[rank] = o
	}
	return ops, at
}

// scaled makes the outcome of j the sum of its inputs times f(rank).
func scaled(j *job, f func(rank int) int32) {
	j.combine(func(x []int32) (sum int32) {
		for rank, v := range x {
			sum += f(rank) * v
		}
		return sum
	})
}

// TestDeviceScalar has the stream change the scalar between two operations that are
// enqueued at once: each kernel reads what is there when it runs.
func TestDeviceScalar(t *testing.T) { onEngines(t, testDeviceScalar) }

func testDeviceScalar(t *testing.T, e engine) {
	for _, ranks := range []int{1, 2, 3} {
		for _, proto := range []coll.Proto{coll.LL, coll.Simple} {
			t.Run(fmt.Sprintf("%d ranks %v", ranks, proto), func(t *testing.T) {
				cfg := e.config(t, ranks)
				cfg.Protos = []coll.Proto{proto}
				comms := mustInit(t, cfg)
				streams := streamsOf(t, comms)
				ops, at := deviceScalars(t, comms)
				var jobs []*job
				for round := range 3 {
					j := newJob(t, comms, streams, coll.Int32, coll.OpMulSum, 700, round == 1)
					j.ops = ops
					scaled(j, func(rank int) int32 { return int32(10*round - rank) })
					for rank, c := range comms {
						// The next scalar waits in memory of its own.
						p, err := c.Device().Alloc(4, "next scalar")
						require.NoError(t, err)
						t.Cleanup(func() { _ = c.Device().Free(p) })
						require.NoError(t, c.Device().CopyIn(p, binary.LittleEndian.AppendUint32(nil, uint32(10*round-rank))))
						require.NoError(t, streams[rank].CopyAsync(at[rank], p, 4))
					}
					require.NoError(t, Group(j.enqueue))
					jobs = append(jobs, j)
				}
				for _, j := range jobs {
					j.check(t)
				}
			})
		}
	}
}

// TestDeviceScalarInGraph changes the scalar between launches of a graph.
func TestDeviceScalarInGraph(t *testing.T) { onEngines(t, testDeviceScalarInGraph) }

func testDeviceScalarInGraph(t *testing.T, e engine) {
	comms := mustInit(t, e.config(t, 2, func(c *sim.Config) { c.Seed = 5 }))
	streams := streamsOf(t, comms)
	ops, at := deviceScalars(t, comms)
	j := newJob(t, comms, streams, coll.Int32, coll.OpMulSum, 300, false)
	j.ops = ops
	graphs := captures(t, streams, false, func() { require.NoError(t, Group(j.enqueue)) })
	for _, op := range ops {
		require.NoError(t, op.(*PreMulSum).Close())
	}
	for round := range 4 {
		factor := func(rank int) int32 { return int32(round<<rank) - 1 }
		for rank, c := range comms {
			require.NoError(t, c.Device().CopyIn(at[rank], binary.LittleEndian.AppendUint32(nil, uint32(factor(rank)))))
		}
		for rank, g := range graphs {
			require.NoError(t, g.Launch(streams[rank]))
		}
		scaled(j, factor)
		j.check(t)
	}
}
