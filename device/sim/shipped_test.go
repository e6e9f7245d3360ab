package sim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// ring is a communicator of one channel, laid out by hand, to run a shipped
// ring kernel on as many GPUs as it has ranks.
type ring struct {
	m       *sim.Machine
	devs    []device.Device
	streams []device.Stream
	fns     []device.Function
	comms   []device.Ptr
	send    []device.Ptr
	recv    []device.Ptr
	abort   device.HostMem
	count   int
	threads int
	slot    int // bytes
}

// setup is what a ring is to be. slot is the bytes of a FIFO's slot.
type setup struct {
	symbol                      string
	ranks, count, threads, slot int
	seed                        uint64
	weak                        *sim.Weak
}

func newRing(tb testing.TB, on setup) *ring {
	symbol, ranks, count, threads, slotBytes := on.symbol, on.ranks, on.count, on.threads, on.slot
	i := slices.IndexFunc(generated.Kernels(), func(k generated.Kernel) bool { return k.Symbol == symbol })
	require.GreaterOrEqual(tb, i, 0, "%s is not built", symbol)
	text, err := generated.Kernels()[i].PTX()
	require.NoError(tb, err)
	r := &ring{count: count, threads: threads, slot: slotBytes}
	r.m, err = sim.New(sim.Config{Devices: slices.Repeat([]device.Info{sim.H200()}, ranks), Seed: on.seed, Weak: on.weak})
	require.NoError(tb, err)
	tb.Cleanup(func() { r.m.Close() })

	alloc := func(d device.Device, n int, label string) device.Ptr {
		p, err := d.Alloc(int64(n), label)
		require.NoError(tb, err)
		return p
	}
	type side struct{ fifos, tail, head device.Ptr }
	conns := make([]side, ranks) // from rank to rank+1
	for i := range ranks {
		d, err := r.m.Open(i)
		require.NoError(tb, err)
		r.devs = append(r.devs, d)
	}
	for i, d := range r.devs {
		for j, o := range r.devs {
			if i != j {
				require.NoError(tb, d.EnablePeer(o))
			}
		}
		next := (i + 1) % ranks
		conns[i] = side{
			fifos: alloc(r.devs[next], abi.NumProtos*abi.NumSteps*slotBytes, "FIFO"),
			tail:  alloc(r.devs[next], 8, "tail"), head: alloc(d, 8, "head"),
		}
	}
	r.abort, err = r.devs[0].AllocHost(64, "abort flag")
	require.NoError(tb, err)
	for i, d := range r.devs {
		prev, next := (i+ranks-1)%ranks, (i+1)%ranks
		conn := func(s side) abi.Conn {
			c := abi.Conn{Tail: abi.Ptr(s.tail), Head: abi.Ptr(s.head)}
			for p := range c.Fifo {
				c.Fifo[p] = abi.Ptr(s.fifos) + abi.Ptr(p*abi.NumSteps*slotBytes)
			}
			return c
		}
		peers := make([]abi.Peer, ranks)
		peers[next].Send, peers[prev].Recv = conn(conns[i]), conn(conns[prev])
		order := make([]uint32, ranks)
		for k := range order {
			order[k] = uint32((i + k) % ranks)
		}
		peersAt := upload(tb, d, "peers", peers)
		orderAt := upload(tb, d, "ring order", order)
		reports, err := d.AllocHost(64, "reports")
		require.NoError(tb, err)
		comm := struct {
			Comm    abi.Comm
			Channel abi.Channel
		}{
			abi.Comm{Rank: uint32(i), NumRanks: uint32(ranks), AbortFlag: abi.Ptr(r.abort.Ptr()), Reports: abi.Ptr(reports.Ptr()),
				SlotBytes: [abi.NumProtos]uint32{uint32(slotBytes), uint32(slotBytes), uint32(slotBytes)}, NumChannels: 1},
			abi.Channel{Peers: abi.Ptr(peersAt), Ring: abi.Ring{Prev: uint32(prev), Next: uint32(next), Index: uint32(i), Ranks: abi.Ptr(orderAt)}},
		}
		r.comms = append(r.comms, upload(tb, d, "communicator", comm))

		in := make([]float32, count)
		for k := range in {
			in[k] = float32((k*7+i*3)%64) / 4
		}
		r.send = append(r.send, upload(tb, d, "send buffer", in))
		r.recv = append(r.recv, alloc(d, 4*count, "receive buffer"))

		mod, err := d.LoadModule(symbol+".ptx", text)
		require.NoError(tb, err)
		fn, err := mod.Function(symbol)
		require.NoError(tb, err)
		r.fns = append(r.fns, fn)
		s, err := d.NewStream()
		require.NoError(tb, err)
		r.streams = append(r.streams, s)
	}
	return r
}

// upload puts a value, as C lays it out, in device memory.
func upload(tb testing.TB, d device.Device, label string, v any) device.Ptr {
	var b bytes.Buffer
	require.NoError(tb, binary.Write(&b, binary.LittleEndian, v))
	p, err := d.Alloc(int64(b.Len()), label)
	require.NoError(tb, err)
	require.NoError(tb, d.CopyIn(p, b.Bytes()))
	return p
}

// launch queues one all-reduce on a rank.
func (r *ring) launch(tb testing.TB, rank int) {
	args := abi.KernelArgs{Comm: abi.Ptr(r.comms[rank]), NumWorks: 1}
	args.Works[0] = abi.Work{SendBuf: abi.Ptr(r.send[rank]), RecvBuf: abi.Ptr(r.recv[rank]),
		CountLo: uint64(r.count), ChunkBytes: uint32(r.slot / 2), Threads: uint16(r.threads)}
	var b bytes.Buffer
	require.NoError(tb, binary.Write(&b, binary.LittleEndian, args))
	require.NoError(tb, r.streams[rank].Launch(&device.Launch{Function: r.fns[rank], Grid: 1, Threads: r.threads,
		Args: b.Bytes(), Label: "rank " + string(rune('0'+rank)), CTALabels: []string{"ch 0"}}))
}

func (r *ring) run(tb testing.TB) {
	for i := range r.devs {
		r.launch(tb, i)
	}
	for _, s := range r.streams {
		require.NoError(tb, s.Synchronize(context.Background()))
	}
}

// check compares every rank's result with the sum of all inputs, which is exact.
func (r *ring) check(tb testing.TB) {
	out := make([]byte, 4*r.count)
	for i, d := range r.devs {
		require.NoError(tb, d.CopyOut(out, r.recv[i]))
		for k := range r.count {
			var want float32
			for j := range r.devs {
				want += float32((k*7+j*3)%64) / 4
			}
			got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*k:]))
			require.Equalf(tb, want, got, "rank %d element %d", i, k)
		}
	}
}

func TestShippedRingAllReduce(t *testing.T) {
	for _, symbol := range []string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f32_RING_SIMPLE"} {
		for _, memory := range memories {
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("%s/%s/seed %d", symbol, memory.name, seed), func(t *testing.T) {
					r := newRing(t, setup{symbol, 3, 2999, 96, 8192, seed, memory.weak})
					r.run(t)
					r.check(t)
					r.run(t) // on with the steps where they are
					r.check(t)
				})
			}
		}
	}
}

// The ring kernels need none of the facts beyond the PTX ISA, whatever the order.
func TestShippedRingNeedsNoFacts(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for _, symbol := range []string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f32_RING_SIMPLE"} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/seed %d", symbol, seed), func(t *testing.T) {
				// Slots so small that each is used several times.
				ranks, count := 2+int(seed%2), 1200+int(seed*37%900)
				r := newRing(t, setup{symbol, ranks, count, 64, 512, seed, &sim.Weak{}})
				r.run(t)
				r.check(t)
				r.run(t)
				r.check(t)
				require.Zero(t, r.m.Stats().UnorderedStores)
			})
		}
	}
}

// Machines share what modules became, and nothing else: those that run at the same
// time do what each does alone.
func TestMachinesShareModules(t *testing.T) {
	for _, memory := range memories {
		on := setup{"AllReduce_Sum_f32_RING_LL", 2, 1500, 64, 512, 7, memory.weak}
		alone := newRing(t, on)
		alone.run(t)
		for i := range 4 {
			t.Run(fmt.Sprintf("%s/%d", memory.name, i), func(t *testing.T) {
				t.Parallel()
				r := newRing(t, on)
				r.run(t)
				r.check(t)
				require.Equal(t, alone.m.Stats(), r.m.Stats())
			})
		}
	}
}

// With the same seed a weak run is the same, stale reads, late loads and all.
func TestShippedRingRepeats(t *testing.T) {
	counts := map[uint64]bool{}
	for seed := range uint64(4) {
		var first sim.Stats
		for again := range 2 {
			r := newRing(t, setup{"AllReduce_Sum_f32_RING_LL", 3, 1500, 64, 512, seed, &sim.Weak{}})
			r.run(t)
			if again == 0 {
				first = r.m.Stats()
			}
			require.Equal(t, first, r.m.Stats())
		}
		counts[first.WarpInstructions] = true
	}
	require.Len(t, counts, 4, "other seeds run otherwise")
}

// A rank that never launches: the others' waits are named at once.
func TestShippedRingWithARankMissing(t *testing.T) {
	r := newRing(t, setup{"AllReduce_Sum_f32_RING_LL", 2, 1000, 64, 8192, 1, nil})
	r.launch(t, 0)
	err := r.streams[0].Synchronize(context.Background())
	var f *device.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, device.Stuck, f.Kind)
	require.NotEmpty(t, f.Others)
	found := false
	for _, o := range f.Others {
		require.Equal(t, "rank 0 ch 0", o.Label)
		require.Positive(t, o.Line)
		found = found || bytes.HasPrefix([]byte(o.AddrLabel), []byte("FIFO"))
	}
	require.True(t, found, "%v", f)
}

// BenchmarkMachineShipped runs AllReduce_Sum_f32_RING_LL, the kernel by which
// the machine's speed is judged, with all warps interleaved by the default
// quantum and all checks on.
func BenchmarkMachineShipped(b *testing.B) { benchmarkShipped(b, nil) }

// BenchmarkMachineShippedWeak is the same in the weak model.
func BenchmarkMachineShippedWeak(b *testing.B) { benchmarkShipped(b, &sim.Weak{Facts: sim.AllFacts}) }

func benchmarkShipped(b *testing.B, weak *sim.Weak) {
	for _, size := range []struct{ ranks, threads int }{{1, 512}, {2, 256}, {8, 512}} {
		b.Run(fmt.Sprintf("%dx%d", size.ranks, size.threads), func(b *testing.B) {
			r := newRing(b, setup{"AllReduce_Sum_f32_RING_LL", size.ranks, 1 << 16, size.threads, 8192, 1, weak})
			r.run(b)
			start := r.m.Stats().WarpInstructions
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				r.run(b)
			}
			b.StopTimer()
			n := float64(r.m.Stats().WarpInstructions - start)
			b.ReportMetric(n/b.Elapsed().Seconds()/1e6, "Minstr/s")
			b.ReportMetric(n/float64(b.N), "instr/op")
			r.check(b)
		})
	}
}
