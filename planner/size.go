package planner

import (
	"cmp"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// setThreads sets the most threads of a CTA and the least work of one
// (ncclTopoTuneModel, NCCL v2.30 src/graph/tuning.cc).
func (m *Model) setThreads() {
	ring := &m.facts.Graphs[topo.GraphRing]
	simple := maxThreads[coll.Simple]
	if float64(float32(float32(ring.Channels)*ring.BWIntra)) <= slowRingBW {
		simple = slowThreads
	}
	s := &m.settings
	m.maxThreads = [coll.NumAlgos][coll.NumProtos]int{
		coll.CollNetDirect: {coll.Simple: maxThreadsAny}, coll.CollNetChain: {coll.Simple: maxThreadsAny},
		coll.NVLS: {coll.Simple: maxThreadsAny}, coll.NVLSTree: {coll.Simple: maxThreadsAny},
		coll.OneShot: maxThreads, coll.TwoShot: maxThreads,
	}
	for _, a := range []coll.Algo{coll.Tree, coll.Ring} {
		m.maxThreads[a] = [coll.NumProtos]int{
			coll.LL:     cmp.Or(s.Threads, maxThreads[coll.LL]),
			coll.LL128:  cmp.Or(s.LL128Threads, maxThreads[coll.LL128]),
			coll.Simple: cmp.Or(s.Threads, maxThreads[coll.Simple]),
		}
	}
	m.maxThreads[coll.Ring][coll.Simple] = cmp.Or(s.Threads, simple)
	if m.nranks == 1 {
		return
	}
	for a := range m.thresholds {
		m.thresholds[a] = [coll.NumProtos]int64{coll.LL: thresholdLL, coll.LL128: thresholdLL128, coll.Simple: thresholdSimple}
	}
	m.thresholds[coll.Ring][coll.LL] *= int64(m.nranks)
	m.thresholds[coll.CollNetDirect][coll.Simple] = thresholdCollNet
	m.thresholds[coll.CollNetChain][coll.Simple] = thresholdCollNet
	if s.Thresholds == nil {
		return
	}
	for i, a := range []coll.Algo{coll.Tree, coll.Ring} {
		for p, n := range s.Thresholds[i] {
			if n >= 0 {
				m.thresholds[a][p] = n
			}
		}
	}
}

// size sets channels and threads: all of both if each thread has enough to do, else
// fewer channels, then fewer threads (topoGetAlgoInfo, NCCL v2.30 src/enqueue.cc).
func (m *Model) size(c *Choice, o Options) {
	a, p := c.Variant.Algo, c.Variant.Proto
	channels, threads, threshold := m.channels, min(m.maxThreads[a][p], m.limits.MaxThreads), m.thresholds[a][p]
	fewest := m.limits.MinChannels
	if o.Channels != 0 {
		channels, fewest = o.Channels, o.Channels
	}
	if o.Threads != 0 {
		threads = min(o.Threads, mostThreads(a, p))
	}
	switch a {
	case coll.NVLS, coll.NVLSTree:
		if o.Channels == 0 {
			channels = m.nvlsChannels
			if a == coll.NVLS && m.facts.NNodes > 1 {
				channels = min(channels, m.channels)
			}
		}
	case coll.CollNetDirect:
		channels = m.collNetChannels(c.Bytes, channels, fewest, int64(threads), threshold)
	default:
		if each := int64(threads) * threshold; each > 0 {
			channels = max(fewest, int(min(int64(channels), c.Bytes/each)), 1)
		}
		for o.Threads == 0 && threads > 0 && c.Bytes < int64(channels)*int64(threads)*threshold && threads%(4*warpSize) == 0 {
			threads /= 2
		}
	}
	c.Channels, c.Threads, c.Warps = channels, threads, launched(a, p, threads)/warpSize
	switch {
	case o.Threads != 0:
	case a == coll.Tree:
		// Trees use all of their threads whatever the size.
		c.Threads = min(m.maxThreads[a][p], m.limits.MaxThreads)
	case a == coll.PAT:
		c.Threads = min(maxThreadsAny, m.limits.MaxThreads)
	case p != coll.Simple:
		// NCCL launches three warps at least; one of Simple's three is the one
		// for flags.
		c.Threads = max(threads, min(minLaunch, m.limits.MaxThreads))
	}
}

// mostThreads returns the most threads of a CTA that may be asked for.
func mostThreads(a coll.Algo, p coll.Proto) int {
	if hasFlags(a) {
		return maxThreads[p]
	}
	return maxThreadsAny
}

// collNetChannels returns the channels of CollNet without chains: fewer of them, to
// half as many at a time, the less there is to do for each head.
func (m *Model) collNetChannels(n int64, channels, fewest int, threads, threshold int64) int {
	heads := int64(m.facts.DirectHeads)
	for least, idle := 16, true; least >= 1 && idle; least /= 2 {
		for {
			idle = n < int64(channels)*threads*heads*threshold
			if !idle || channels <= max(least, fewest) {
				break
			}
			if channels == least+least/2 {
				threshold /= 2
			}
			channels--
		}
	}
	return channels
}

// launched returns the threads that NCCL launches for so many that move data.
func launched(a coll.Algo, p coll.Proto, threads int) int {
	switch {
	case a == coll.Tree || a == coll.PAT:
		return maxThreadsAny
	case a == coll.Ring && p == coll.Simple:
		threads += ringSyncThreads
	}
	return max(threads, minLaunch)
}
