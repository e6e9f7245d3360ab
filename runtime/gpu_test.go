package nccl

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/device/sim"
)

// together puts all ranks of cfg on the first device.
func together(cfg Config) Config {
	for rank := range cfg.Devices {
		cfg.Devices[rank] = cfg.Devices[0]
	}
	return cfg
}

// roughValue returns the bits of a value whose sums and products with others are
// rounded, so that their order shows: finite, since the payload of a NaN is left
// open.
func roughValue(rng *rand.Rand, typ coll.DataType) uint64 {
	if typ.Float() {
		return typ.Encode(rng.NormFloat64())
	}
	return rng.Uint64() >> (64 - 8*typ.Size())
}

// roughJob is a job with rough values and, of mulsum, rough scalars. What comes of
// them is not expected.
func roughJob(t *testing.T, comms []*Comm, streams []device.Stream, typ coll.DataType, op coll.UserOp, count int, rng *rand.Rand) *job {
	j := newJob(t, comms, streams, typ, op, count, false)
	for rank, c := range comms {
		var data []byte
		for range count {
			data = binary.LittleEndian.AppendUint64(data, roughValue(rng, typ))[:len(data)+typ.Size()]
		}
		require.NoError(t, c.Device().CopyIn(j.send[rank], data))
		if op == coll.OpMulSum {
			o, err := c.NewPreMulSum(typ, ScalarBits(roughValue(rng, typ)))
			require.NoError(t, err)
			j.ops[rank] = o
		}
	}
	return j
}

// roughBits all-reduces rough values and returns every rank's outcome, for each
// type, op and count in turn.
func roughBits(t *testing.T, cfg Config) [][]byte {
	comms := mustInit(t, cfg)
	streams := streamsOf(t, comms)
	rng := rand.New(rand.NewPCG(1, uint64(len(comms))))
	var outcomes [][]byte
	for _, typ := range builtTypes {
		for _, op := range builtOps {
			for _, count := range []int{1, 13, 700, 3001} {
				j := roughJob(t, comms, streams, typ, op, count, rng)
				require.NoError(t, Group(j.enqueue))
				for rank, c := range comms {
					require.NoError(t, streams[rank].Synchronize(soon(t)))
					got := make([]byte, j.bytes())
					require.NoError(t, c.Device().CopyOut(got, j.recv[rank]))
					outcomes = append(outcomes, got)
				}
				j.release()
			}
		}
	}
	return outcomes
}

// TestSameBits compares a GPU with the PTX machine bit for bit: integers, and
// floats whose order the ring fixes.
func TestSameBits(t *testing.T) {
	openGPUs(t)
	for _, ranks := range []int{2, 3, 8} {
		for _, proto := range everyProto {
			t.Run(fmt.Sprintf("%d ranks %v", ranks, proto), func(t *testing.T) {
				var bits [2][][]byte
				for i, e := range []engine{simEngine, cudaEngine} {
					cfg := together(e.config(t, ranks))
					cfg.System = systemOf(t, openGPUs(t).Infos())
					cfg.Protos, cfg.MinChannels = []coll.Proto{proto}, cfg.MaxChannels
					bits[i] = roughBits(t, cfg)
				}
				require.Len(t, bits[1], len(bits[0]))
				for i := range bits[0] {
					require.Equal(t, bits[0][i], bits[1][i], "outcome %d: the PTX machine's, then the GPU's", i)
				}
			})
		}
	}
}

// TestSizes compares sizes from one element to 256 MiB with the host, for several
// ranks on one GPU, with the planner's choice of channels and threads. The PTX
// machine does the small ones.
func TestSizes(t *testing.T) { onEngines(t, testSizes) }

func testSizes(t *testing.T, e engine) {
	const most = 256 << 20
	sizes := []int{8, 1 << 10, 20_000}
	if e.fast {
		sizes = []int{4, 8, 64, 1 << 10, 10_000, 1 << 16, 1_000_000, 1 << 22, 33_000_000, most}
	}
	for _, ranks := range []int{2, 3, 8} {
		for _, proto := range everyProto {
			t.Run(fmt.Sprintf("%d ranks %v", ranks, proto), func(t *testing.T) {
				cfg := together(e.config(t, ranks))
				cfg.Protos = []coll.Proto{proto}
				if e.fast {
					cfg.MaxChannels, cfg.Threads, cfg.BufferBytes = 0, 0, [coll.NumProtos]int{}
				}
				comms := mustInit(t, cfg)
				streams := streamsOf(t, comms)
				for i, size := range sizes {
					for k, typ := range []coll.DataType{coll.Float32, coll.Float16, coll.Int8, coll.Float64} {
						ops := []coll.UserOp{coll.OpSum, coll.OpMax, coll.OpProd}
						if size > 1<<20 {
							// One op of each type is enough for the large ones.
							ops = ops[k%3:][:1]
						}
						if size == most && k > 0 {
							break
						}
						for _, op := range ops {
							if count := size / typ.Size(); count > 0 {
								j := newJob(t, comms, streams, typ, op, count, (i+k)%2 == 0)
								require.NoError(t, Group(j.enqueue))
								j.check(t)
								j.release()
							}
						}
					}
				}
			})
		}
	}
}

// TestForeignStream works on streams that others made, in graphs too.
func TestForeignStream(t *testing.T) {
	openGPUs(t)
	comms := mustInit(t, cudaEngine.config(t, 2))
	made := streamsOf(t, comms)
	var streams []device.Stream
	for _, s := range made {
		foreign, err := s.Device().(*cuda.Device).ForeignStream(s.(*cuda.Stream).Handle())
		require.NoError(t, err)
		streams = append(streams, foreign)
	}
	j := newJob(t, comms, streams, coll.Float32, coll.OpSum, 5000, false)
	require.NoError(t, Group(j.enqueue))
	j.check(t)

	// Others begin and end the capture.
	r := &replayed{job: newJob(t, comms, streams, coll.Int32, coll.OpSum, 900, false)}
	r.graphs = captures(t, made, false, func() {
		require.NoError(t, Group(r.enqueue))
		require.NoError(t, streams[0].CopyAsync(r.send[0], r.recv[0], r.bytes()))
	})
	for range 10 {
		r.launch(t, made)
		require.NoError(t, Group(j.enqueue))
	}
	r.check(t, "foreign", 10, [][]device.Stream{made, streams})
	j.check(t)
	for _, s := range streams {
		require.NoError(t, s.Close())
	}
}

// TestLoadOnce loads kernels for a process's first communicator, all of them
// before it is made, and none for the next.
func TestLoadOnce(t *testing.T) { onEngines(t, testLoadOnce) }

func testLoadOnce(t *testing.T, e engine) {
	var told []int
	cfg := e.config(t, 2)
	cfg.OnLoad = func(done, total int) {
		told = append(told, done)
		require.LessOrEqual(t, done, total)
	}
	comms := mustInit(t, cfg)
	require.NotEmpty(t, told)
	require.True(t, slices.IsSorted(told))
	require.Equal(t, len(ranksByDevice(cfg.Devices))*comms[0].kernels.Len(), told[len(told)-1])
	told = nil
	mustInit(t, cfg)
	require.Empty(t, told)
}

// TestSpinningPeer enqueues while kernels wait for a rank that has not come:
// nothing waits for them, groups with more works than fit in a kernel's parameter
// and captures included.
func TestSpinningPeer(t *testing.T) { onEngines(t, testSpinningPeer) }

func testSpinningPeer(t *testing.T, e engine) {
	comms := mustInit(t, e.config(t, 2, func(c *sim.Config) { patient(c) }))
	streams := streamsOf(t, comms)
	first := newJob(t, comms, streams, coll.Float32, coll.OpSum, 900, false)
	graph := newReplayed(t, comms, streams, 300, false)
	var many []*job
	for i := range 130 {
		many = append(many, newJob(t, comms, streams, coll.Float32, coll.OpMax, 1+i, false))
	}
	rank := func(r int) {
		c := comms[r]
		require.NoError(t, c.AllReduce(first.send[r], first.recv[r], uint64(first.count), first.typ, first.op, streams[r]))
		require.NoError(t, graph.graphs[r].Launch(streams[r]))
		require.NoError(t, Group(func(g *Calls) error {
			for _, j := range many {
				if err := g.AllReduce(c, j.send[r], j.recv[r], uint64(j.count), j.typ, j.op, streams[r]); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	rank(0)
	// By now the kernel of rank 0 waits for rank 1.
	done, err := streams[0].Query()
	require.NoError(t, err)
	require.False(t, done)
	rank(1)
	first.check(t)
	graph.check(t, "graph", 1, [][]device.Stream{streams})
	for _, j := range many {
		j.check(t)
	}
}
