package nccl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

// TestAllReduceRefuses checks every kind of bad call: its error, and that nothing
// was touched.
func TestAllReduceRefuses(t *testing.T) {
	driver, cfg := fakes(t, 2)
	comms := mustInit(t, cfg)
	c := comms[1]
	own, foreign := named(c, "s"), named(comms[0], "s")
	const at = 1 << 32
	var text strings.Builder
	for _, test := range []struct {
		name string
		send device.Ptr
		recv device.Ptr
		n    uint64
		t    coll.DataType
		op   coll.UserOp
		s    device.Stream
		kind error
	}{
		{"nil send", 0, at, 1, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"nil recv", at, 0, 1, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"misaligned send", at + 2, at, 1, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"misaligned recv", at, at + 4, 1, coll.Float64, coll.OpSum, own, ErrInvalidArgument},
		{"overlap", at, at + 4, 2, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"overlap below", at + 4, at, 2, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"end of memory", math.MaxUint64 - 7, at, 3, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"unknown type", at, at, 1, coll.NumDataTypes, coll.OpSum, own, ErrInvalidArgument},
		{"unknown op", at, at, 1, coll.Float32, coll.NumUserOps, own, ErrInvalidArgument},
		{"count", at, at, math.MaxUint64 / 2, coll.Float32, coll.OpSum, own, ErrInvalidArgument},
		{"mulsum without a scalar", at, at, 1, coll.Float32, coll.OpMulSum, own, ErrInvalidArgument},
		{"mulsum without a scalar, empty", 0, 0, 0, coll.Float32, coll.OpMulSum, own, ErrInvalidArgument},
		{"nil stream", at, at, 1, coll.Float32, coll.OpSum, nil, ErrInvalidArgument},
		{"nil stream, empty", 0, 0, 0, coll.Float32, coll.OpSum, nil, ErrInvalidArgument},
		{"stream of another GPU", at, at, 1, coll.Float32, coll.OpSum, foreign, ErrInvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver.TakeLog()
			err := c.AllReduce(test.send, test.recv, test.n, test.t, test.op, test.s)
			require.ErrorIs(t, err, test.kind)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []int{1}, e.Ranks)
			require.Equal(t, "AllReduce", e.Op)
			fmt.Fprintf(&text, "%s: %v\n", test.name, err)

			err = Group(func(g *Calls) error {
				require.NoError(t, sumF32(comms, at, 1)(g))
				// The refusal counts even if the function forgets it.
				_ = g.AllReduce(c, test.send, test.recv, test.n, test.t, test.op, test.s)
				return nil
			})
			require.ErrorIs(t, err, test.kind)
			require.Empty(t, driver.TakeLog(), "a refused call touched the device")
			require.NoError(t, c.AsyncError())
			driver.TakeLog()
		})
	}
	golden.Check(t, "runtime/refused_calls.txt", []byte(text.String()))
}

// TestGroupRefusesMismatch has ranks 0 and 2 of a communicator add operations that
// do not belong together; another communicator's, and rank 1, which is absent, do
// not matter.
func TestGroupRefusesMismatch(t *testing.T) {
	driver, cfg := fakes(t, 3)
	comms := mustInit(t, cfg)
	other := mustInit(t, cfg)
	type op struct {
		n  uint64
		t  coll.DataType
		op coll.UserOp
	}
	sum := op{4, coll.Float32, coll.OpSum}
	var text strings.Builder
	for _, test := range []struct {
		name      string
		zero, two []op
	}{
		{"count", []op{sum}, []op{{8, coll.Float32, coll.OpSum}}},
		{"type", []op{sum}, []op{{4, coll.Int32, coll.OpSum}}},
		{"op", []op{sum}, []op{{4, coll.Float32, coll.OpMax}}},
		{"ops of one kernel", []op{sum, {4, coll.Float32, coll.OpMin}}, []op{sum, {4, coll.Float32, coll.OpMax}}},
		{"order", []op{sum, {8, coll.Float32, coll.OpSum}}, []op{{8, coll.Float32, coll.OpSum}, sum}},
		{"one has more", []op{sum, sum}, []op{sum}},
		{"nothing to do on one", []op{sum}, []op{{0, coll.Float32, coll.OpSum}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver.TakeLog()
			group := func(zero, two []op) error {
				return Group(func(g *Calls) error {
					add := func(c *Comm, o op) {
						require.NoError(t, g.AllReduce(c, someBuffer, someBuffer, o.n, o.t, o.op, named(c, "s")))
					}
					add(other[2], op{1, coll.Int32, coll.OpProd})
					for _, o := range two {
						add(comms[2], o)
					}
					for _, o := range zero {
						add(comms[0], o)
					}
					return nil
				})
			}
			err := group(test.zero, test.two)
			require.ErrorIs(t, err, ErrInvalidArgument)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []int{0, 2}, e.Ranks)
			require.Empty(t, driver.TakeLog(), "a refused group touched the device")
			fmt.Fprintf(&text, "%s: %v\n", test.name, err)
			require.NoError(t, group(test.zero, test.zero))
		})
	}
	golden.Check(t, "runtime/refused_groups.txt", []byte(text.String()))
}

func TestInitAllRefuses(t *testing.T) {
	var text strings.Builder
	for _, test := range []struct {
		name   string
		change func(*Config)
		kind   error
	}{
		{"no devices", func(c *Config) { c.Devices = nil }, ErrInvalidArgument},
		{"nil device", func(c *Config) { c.Devices[1] = nil }, ErrInvalidArgument},
		{"devices of two drivers", func(c *Config) {
			c.Devices = append(c.Devices[:2:2], open(t, fakedevice.New(1, fakeInfo))...)
		}, ErrInvalidArgument},
		{"devices of two kinds", func(c *Config) {
			_, simulated := machine(t, 1)
			c.Devices = append(c.Devices[:1:1], simulated.Devices...)
		}, ErrInvalidArgument},
		{"another kind of GPU than the system has", func(c *Config) {
			info := fakeInfo
			info.SM = 70
			c.Devices = open(t, fakedevice.New(2, info))
		}, ErrInvalidArgument},
		{"first step", func(c *Config) { c.FirstStep = math.MaxUint64 - 3 }, ErrInvalidArgument},
		{"no system", func(c *Config) { c.System = nil }, ErrInvalidArgument},
		{"more GPUs than the system has", func(c *Config) { c.System = builtin(t, "h200x2") }, ErrInvalidArgument},
		{"a GPU that the system lacks", func(c *Config) {
			info := fakeInfo
			info.BusID = "0000:ff:00.0"
			c.Devices = open(t, fakedevice.New(1, info))
		}, ErrInvalidArgument},
		{"a bad address", func(c *Config) {
			info := fakeInfo
			info.BusID = "the first"
			c.Devices = open(t, fakedevice.New(1, info))
		}, ErrInvalidArgument},
		{"bounds of channels", func(c *Config) { c.MinChannels, c.MaxChannels = 4, 2 }, ErrInvalidArgument},
		{"too many channels", func(c *Config) { c.MaxChannels = 65 }, ErrInvalidArgument},
		{"negative channels", func(c *Config) { c.MinChannels = -1 }, ErrInvalidArgument},
		{"channels that cannot be resident", func(c *Config) { c.MinChannels = 17 }, ErrInvalidArgument},
		{"ranks that cannot be resident", func(c *Config) {
			for range 5 {
				c.Devices = append(c.Devices, c.Devices...)
			}
		}, ErrInvalidArgument},
		{"threads", func(c *Config) { c.Threads = 100 }, ErrInvalidArgument},
		{"buffer", func(c *Config) { c.BufferBytes[coll.Simple] = 1000 }, ErrInvalidArgument},
		{"buffer of LL128", func(c *Config) { c.BufferBytes[coll.LL128] = 1024 }, ErrInvalidArgument},
		{"algorithm", func(c *Config) { c.Algos = []coll.Algo{99} }, ErrInvalidArgument},
		{"protocol", func(c *Config) { c.Protos = []coll.Proto{99} }, ErrInvalidArgument},
		{"no kernel", func(c *Config) { c.Kernels = []coll.Variant{} }, ErrInvalidArgument},
		{"a kernel that is not built", func(c *Config) {
			c.Kernels = []coll.Variant{{Func: coll.AllReduce, Type: coll.BFloat16, Algo: coll.Tree}}
		}, ErrNotBuilt},
		{"a kernel that cannot be", func(c *Config) {
			c.Kernels = []coll.Variant{{Func: coll.AllReduce, Op: coll.SumPostDiv, Type: coll.Float32, Algo: coll.Ring}}
		}, ErrInvalidArgument},
		{"a variable", func(c *Config) { c.Getenv = variables("NCCL_MAX_CTAS", "0") }, ErrInvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver, cfg := fakes(t, 4)
			test.change(&cfg)
			comms, err := InitAll(context.Background(), cfg)
			require.Nil(t, comms)
			require.ErrorIs(t, err, test.kind)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "InitAll", e.Op)
			require.Zero(t, driver.Live(), "memory was left behind")
			fmt.Fprintf(&text, "%s: %v\n", test.name, err)
		})
	}
	golden.Check(t, "runtime/refused_inits.txt", []byte(text.String()))
}

// TestInitAllTwoMachines has devices that differ in nothing but their machine: the
// first that is to access the other's memory says so, once.
func TestInitAllTwoMachines(t *testing.T) {
	_, cfg := machine(t, 2)
	_, other := machine(t, 2)
	cfg.Devices[1] = other.Devices[1]
	cfg.Kernels = []coll.Variant{{Func: coll.AllReduce, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL}}
	_, err := InitAll(context.Background(), cfg)
	require.ErrorContains(t, err, "the other device is not of this machine")
	require.NotContains(t, err.Error(), "\n")
}

// TestInitAllLeavesNothing makes each request to the devices fail in turn.
func TestInitAllLeavesNothing(t *testing.T) {
	for failing := 0; ; failing++ {
		driver, cfg := fakes(t, 2)
		cfg.MaxChannels = 1
		cfg.Kernels = []coll.Variant{{Func: coll.AllReduce, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL}}
		n := 0
		driver.Fail(func(string) error {
			if n++; n-1 == failing {
				return fmt.Errorf("request %d is broken", failing)
			}
			return nil
		})
		comms, err := InitAll(context.Background(), cfg)
		if err == nil {
			require.Greater(t, failing, 20, "every request was made to fail")
			driver.Fail(nil)
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
			require.Zero(t, driver.Live())
			return
		}
		require.ErrorIs(t, err, ErrUnhandledCUDA)
		require.ErrorContains(t, err, fmt.Sprintf("request %d is broken", failing))
		require.Zero(t, driver.Live(), "after %v", err)
		log := driver.TakeLog()
		loads, unloads := fakedevice.Grep(log, ": load "), fakedevice.Grep(log, ": unload ")
		loads = slices.DeleteFunc(loads, func(line string) bool { return line == log[failing] })
		require.Len(t, unloads, len(loads), "after %v", err)
	}
}

func TestInitAllCancelled(t *testing.T) {
	driver, cfg := fakes(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	driver.Fail(func(request string) error {
		if strings.Contains(request, "load") {
			cancel()
		}
		return nil
	})
	_, err := InitAll(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrTimeout)
	require.Zero(t, driver.Live())
	require.Len(t, fakedevice.Grep(driver.TakeLog(), ": load "), 1)

	_, err = InitAll(ctx, cfg)
	require.ErrorIs(t, err, ErrTimeout)
	require.EqualError(t, err, "InitAll: context canceled")
	require.Empty(t, fakedevice.Grep(driver.TakeLog(), ": load "))
}
