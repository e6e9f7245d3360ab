package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Model is what is known of a communicator before its first call.
type Model struct {
	limits   Limits
	nranks   int
	channels int // of the communicator
	geometry geometry
	algos    []coll.Algo // those that have costs, in order
	costs    [coll.NumFuncs][coll.NumAlgos][coll.NumProtos]cost
	// built tells which variants have both a model and a kernel, and are safe.
	built      [coll.NumIDs]bool
	kernel     func(coll.Variant) error
	maxThreads [coll.NumProtos]int
	// threshold is in bytes for each thread.
	threshold [coll.NumProtos]int64
}

// New makes the model of a communicator.
//
// It has twice the graph's channels, as NCCL's communicators do, unless limits
// or residency allow fewer: the CTAs of all channels of all ranks on a GPU wait
// on one another and must be resident together.
func New(c *Config) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	g := c.Ring
	m := &Model{limits: c.Limits, nranks: g.NRanks, algos: []coll.Algo{coll.Ring}, kernel: c.Kernel}
	m.geometry = geometry{nranks: g.NRanks, nodes: 1}
	resident := c.resident()
	if resident < c.Limits.MinChannels {
		return nil, result.New(result.InvalidArgument, opNew,
			"%d channels at least, but %d SMs hold %d CTAs each of %d ranks: %d channels can be resident together; use fewer channels or ranks on a GPU",
			c.Limits.MinChannels, c.NumSMs, c.CTAsPerSM, max(c.RanksPerGPU, g.RanksPerGPU), resident)
	}
	m.channels = max(c.Limits.MinChannels, min(2*len(g.Channels), c.Limits.MaxChannels, resident))

	m.maxThreads = maxThreads
	if g.BW() <= slowRingBW {
		m.maxThreads[coll.Simple] = slowThreads
	}
	for p := range m.maxThreads {
		m.maxThreads[p] = min(m.maxThreads[p], c.Limits.MaxThreads)
	}
	m.threshold = [coll.NumProtos]int64{
		coll.LL: int64(thresholdLL * g.NRanks), coll.LL128: thresholdLL128, coll.Simple: thresholdSimple,
	}
	for f := range coll.Func(coll.NumFuncs) {
		if !f.HasAlgo() {
			continue
		}
		for p := range coll.Proto(coll.NumProtos) {
			m.costs[f][coll.Ring][p] = ringCost(f, p, g)
		}
	}
	for id := range coll.ID(coll.NumIDs) {
		v := id.Variant()
		model := &m.costs[v.Func][v.Algo][v.Proto]
		m.built[id] = model.bw > 0 && model.unsafe == "" && c.Kernel(v) == nil
	}
	return m, nil
}

// Channels returns the number of channels that the communicator needs: no
// choice uses more.
func (m *Model) Channels() int { return m.channels }
