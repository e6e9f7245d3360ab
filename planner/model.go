package planner

import (
	"math"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// Model is what is known of a communicator before its first call.
type Model struct {
	facts    Facts
	settings Settings
	limits   Limits
	nranks   int
	// maxCount is the largest count of a call, far from overflow in whatever is made
	// of it.
	maxCount int64
	// channels is how many channels the communicator has, nvlsChannels how many an
	// operation of NVLS has.
	channels, nvlsChannels int
	kernel                 func(coll.Variant) error
	asNCCL                 bool

	costs [coll.NumFuncs][coll.NumAlgos][coll.NumProtos]cost
	// ways are the costs of a function that are available, in order.
	ways [coll.NumFuncs][]way
	// built tells which variants have both a model and a kernel.
	built      [coll.NumIDs]bool
	maxThreads [coll.NumAlgos][coll.NumProtos]int
	// thresholds are in bytes for each thread.
	thresholds [coll.NumAlgos][coll.NumProtos]int64
	tuned      [coll.NumFuncs][]tunedRange

	plateau         int64   // bytes from which on rings between nodes are slower
	plateauFactor   float64 // by how much
	correctNVLSTree bool
}

// way is an algorithm with a protocol.
type way struct {
	algo  coll.Algo
	proto coll.Proto
	// id is what it adds to the ID of a variant with the first of both.
	id   coll.ID
	cost *cost
}

func newWay(a coll.Algo, p coll.Proto, c *cost) way {
	v := coll.Variant{Func: coll.AllReduce}
	first := v.ID()
	v.Algo, v.Proto = a, p
	return way{a, p, v.ID() - first, c}
}

// New makes the model of a communicator. It has the channels of the facts, unless
// limits or residency allow fewer: the CTAs of all channels of all ranks on a GPU
// wait on one another and must be resident together.
func New(c *Config) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	resident := c.resident()
	if resident < c.Limits.MinChannels {
		return nil, result.New(result.InvalidArgument, opNew,
			"%d channels at least, but %d SMs hold %d CTAs each of %d ranks: %d channels can be resident together; use fewer channels or ranks on a GPU",
			c.Limits.MinChannels, c.NumSMs, c.CTAsPerSM, c.ranksPerGPU(), resident)
	}
	m := &Model{
		facts: c.Facts, nranks: c.Facts.NRanks, maxCount: math.MaxInt64 / int64(64*c.Facts.NRanks),
		settings: c.Settings, limits: c.Limits, kernel: c.Kernel, asNCCL: c.AsNCCL,
	}
	most := min(c.Limits.MaxChannels, resident)
	m.channels = max(c.Limits.MinChannels, min(c.Facts.Channels, most))
	m.nvlsChannels = min(c.Facts.NVLSChannels, most)
	m.setThreads()
	m.setPlateau()
	m.setCosts()
	if err := m.setTuning(c.Tuning); err != nil {
		return nil, err
	}
	return m, nil
}

// setPlateau sets what depends on the size of a call alone (ncclTopoGetAlgoTime,
// NCCL v2.30 src/graph/tuning.cc).
func (m *Model) setPlateau() {
	f := &m.facts
	m.plateau, m.plateauFactor = math.MaxInt64, plateauFactor
	if f.NNodes > 1 {
		m.plateau = plateauBytes * int64(m.channels) * int64(f.NRanks)
	}
	if f.MinSM < 80 {
		m.plateauFactor = plateauFactorVolta
	}
	m.correctNVLSTree = f.MinSM >= 100 && f.Hardware.Arch == topo.ArchX86
}

// setCosts makes the costs and finds out what is available and built.
func (m *Model) setCosts() {
	t := newTuner(&m.facts, &m.settings)
	for f := range coll.Func(coll.NumFuncs) {
		if !f.HasAlgo() {
			continue
		}
		for a := range coll.Algo(coll.NumAlgos) {
			for p := range coll.Proto(coll.NumProtos) {
				c := &m.costs[f][a][p]
				if m.asNCCL && a >= coll.Algo(coll.NumNCCLAlgos) {
					*c = cost{out: "not one of NCCL's", barrier: origin}
					continue
				}
				*c = t.cost(f, a, p)
				if out, why := m.disabled(t, f, a, p); out != "" {
					if c.out == "" {
						c.out, c.barrier = out, why
					}
					c.bw = 0
				}
				if c.out == "" {
					m.ways[f] = append(m.ways[f], newWay(a, p, c))
				}
			}
		}
		if m.nranks == 1 {
			// All take no time. NCCL's choice is Simple (updateCollCostTable, NCCL v2.30
			// src/enqueue.cc).
			slices.Reverse(m.ways[f])
		}
	}
	for id := range coll.ID(coll.NumIDs) {
		v := id.Variant()
		m.built[id] = v.Func.HasAlgo() && m.costs[v.Func][v.Algo][v.Proto].out == "" && undefined(v) == "" && m.kernel(v) == nil
	}
}

// Channels returns the number of channels that the communicator needs: no choice
// but one of NVLS uses more.
func (m *Model) Channels() int { return m.channels }

// Latency and Bandwidth return the model of a function with an algorithm and a
// protocol, µs and GB/s of the call's bytes; a bandwidth of 0 says that it is not
// available.
func (m *Model) Latency(f coll.Func, a coll.Algo, p coll.Proto) float32 {
	return m.costs[f][a][p].latency
}

// Bandwidth returns the bandwidth beside [Model.Latency].
func (m *Model) Bandwidth(f coll.Func, a coll.Algo, p coll.Proto) float32 {
	return m.costs[f][a][p].bw
}

// MaxThreads returns the most threads of a CTA, Threshold the bytes for each of them
// below which fewer take part.
func (m *Model) MaxThreads(a coll.Algo, p coll.Proto) int { return m.maxThreads[a][p] }

// Threshold returns the threshold beside [Model.MaxThreads].
func (m *Model) Threshold(a coll.Algo, p coll.Proto) int64 { return m.thresholds[a][p] }
