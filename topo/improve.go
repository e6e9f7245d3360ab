package topo

import (
	"cmp"
	"math"
	"slices"
)

const (
	// betterBy is by how much more rings must carry than NCCL's can, and rings than
	// fewer rings.
	betterBy = 1.05
	// packingSteps is what looking for better rings may cost, in steps of tours.
	packingSteps = 1 << 23
	// packingGPUs is the most GPUs for which it is done.
	packingGPUs = 32
)

// improve replaces the rings and trees that NCCL's search found by better ones, if
// there are any. What is better carries more, by betterBy, in rings than NCCL's could
// if their speed were not one of a list, and not less in trees, over paths that are no
// worse for the cost model, to network ports that are no slower.
func improve(v *System, p *SearchParams, graphs *Graphs) {
	old := graphs[GraphRing]
	if len(v.Nodes[NodeGPU]) < 2 || len(v.Nodes[NodeGPU]) > packingGPUs || p.Given != nil || p.CollNet {
		return
	}
	w := newWalker(v, p)
	least := float64(old.BW())
	for _, worst := range worstPaths(old) {
		if ringLimit(v, worst) < betterBy*least {
			continue
		}
		pack := newPacking(w.terrain, worst, packingSteps)
		if !old.Simple {
			pack.first = w.byPosition(old)
			least = max(least, pack.carried(pack.first)*float64(len(pack.first)))
		}
		fewest := newSearch(w, p, PatternRing, 1, maxSearchChannels, false).start.min
		n, bw := pack.most(fewest, least, ringLimit(v, worst))
		if n > 0 && pack.replace(p, graphs, old, bw, betterBy*least) {
			least = float64(n) * bw
		}
	}
	if graphs[GraphRing] == old && !old.Simple {
		improveTree(w, graphs)
	}
}

// improveTree replaces the tree graph by one along the rings, if that carries more.
func improveTree(w *walker, graphs *Graphs) {
	ring, old := graphs[GraphRing], graphs[GraphTree]
	paths := worstPaths(ring)
	pack := newPacking(w.terrain, paths[len(paths)-1], 0)
	tree := pack.cutOpen(ring, old)
	if tree != nil && tree.counted() >= betterBy*old.counted() && len(tree.Channels) == len(old.Channels) {
		tree.Instead = old.BW()
		graphs[GraphTree] = tree
	}
}

// replace puts the rings that were found in the place of old ones, and trees that go
// with them, if all are better. It reports whether they are.
func (p *packing) replace(sp *SearchParams, graphs *Graphs, old *Graph, bw, least float64) bool {
	ring := newCandidate(PatternRing, p.gpus, len(p.best), maxSearchChannels)
	p.fill(&ring, p.best, bw, bw)
	if !p.inter {
		ring.typeInter = old.TypeInter
	}
	ring.duplicate(p.minSM())
	better := ring.graph(p.s, GraphRing)
	tree := p.tree(sp, graphs[GraphTree], better)
	if tree == nil || float64(better.BW()) < least {
		return false
	}
	better.MinChannels, better.MaxChannels = old.MinChannels, old.MaxChannels
	better.Instead = old.BW()
	tree.Instead = cmp.Or(graphs[GraphTree].Instead, graphs[GraphTree].BW())
	chain := *graphs[GraphCollNetChain]
	chain.MinChannels, chain.MaxChannels = len(better.Channels), len(better.Channels)
	graphs[GraphRing], graphs[GraphTree], graphs[GraphCollNetChain] = better, tree, &chain
	return true
}

// reach is what channels may go over at worst: paths between GPUs and to the network,
// and ports of that latency, µs.
type reach struct {
	intra, inter PathType
	latency      float32
}

// anywhere is no limit.
var anywhere = reach{PathSYS, PathSYS, math.MaxFloat32}

// worstPaths returns how far better channels than those of g may reach: first no
// farther than these, then as far as makes no difference for the cost model, which only
// asks whether NVLink is between GPUs, and whether the network is near enough for LL128.
func worstPaths(g *Graph) []reach {
	near, far := reach{g.TypeIntra, g.TypeInter, g.LatencyInter}, reach{PathSYS, PathSYS, g.LatencyInter}
	if g.Simple {
		return []reach{anywhere}
	}
	if near.intra <= PathNVB {
		far.intra = near.intra
	}
	if near.inter <= PathPXN {
		far.inter = near.inter
	}
	if near == far {
		return []reach{near}
	}
	return []reach{near, far}
}

// ringLimit returns a bandwidth that rings over such paths can't exceed together: that
// of the links by which they may leave the GPU that has least of them.
func ringLimit(v *System, worst reach) float64 {
	least := noWay
	for _, gpu := range v.Nodes[NodeGPU] {
		var out []*Link
		sum := 0.
		leave := func(to NodeType, farthest PathType) {
			for i := range gpu.paths[to] {
				path := &gpu.paths[to][i]
				links := path.Links
				if len(links) == 0 || path.Type > farthest || to == NodeNET && v.Nodes[to][i].Net.Latency > worst.latency {
					continue
				}
				l := links[max(0, slices.IndexFunc(links, func(l *Link) bool { return l.Type != LinkLOC }))]
				if !slices.Contains(out, l) {
					out = append(out, l)
					sum += float64(l.BW)
				}
			}
		}
		leave(NodeGPU, worst.intra)
		if v.Inter {
			leave(NodeNET, worst.inter)
		}
		least = min(least, sum)
	}
	return least
}

// byPosition returns the channels of a graph with GPUs and ports by position.
func (t *terrain) byPosition(g *Graph) []packed {
	var list []packed
	for _, ch := range g.Channels {
		r := packed{none, none, nil}
		for _, rank := range ch.Ranks {
			r.order = append(r.order, t.s.byRank[rank].Index)
		}
		if t.inter {
			r.in, r.out = t.s.Port(ch.Nets[0]).Index, t.s.Port(ch.Nets[1]).Index
		}
		list = append(list, r)
	}
	return list
}

// carried returns how much each of some rings can carry.
func (p *packing) carried(rings []packed) float64 {
	if len(rings) == 0 {
		return 0
	}
	clear(p.load)
	for i := range rings {
		p.put(&rings[i], 1)
	}
	return p.part()
}

// most looks for the rings that carry most together, at least fewest of them, and
// returns their number and what each carries: 0 if they don't carry more than least, by
// betterBy. Nothing carries more than limit. Fewer rings are preferred, as each takes
// a CTA.
func (p *packing) most(fewest int, least, limit float64) (n int, bw float64) {
	var best []packed
	for count := fewest; count <= maxSearchChannels && betterBy*least <= limit; count++ {
		target := limit / float64(count)
		for range 3 {
			got := p.attempt(count, target)
			limit = min(limit, p.limit())
			if total := float64(count) * got; total >= betterBy*least || count == n && total > least {
				n, bw, least = count, got, total
				best = slices.Clone(p.best)
			}
			if got == 0 || got > .999*target {
				break
			}
			target = (got + target) / 2
		}
	}
	p.best = best
	return n, bw
}

// rounding keeps what each channel carries within what links have, whatever is lost
// when it is written as a float32.
const rounding = 1 - 1e-6

// fill sets the channels of a candidate, which has room for them.
func (p *packing) fill(c *candidate, channels []packed, bwIntra, bwInter float64) {
	c.n, c.same = len(channels), true
	c.bwIntra, c.bwInter = float32(bwIntra*rounding), float32(bwInter*rounding)
	c.typeInter = PathLOC
	for i, r := range channels {
		c.same = c.same && slices.Equal(r.order, channels[0].order)
		c.inter[i*2], c.inter[i*2+1] = int32(r.in), int32(r.out)
		for at, gpu := range r.order {
			c.intra[i*c.gpus+at] = int32(gpu)
			if at > 0 {
				c.along(&p.gpuGPU[r.order[at-1]*p.gpus+gpu], &c.typeIntra)
			}
		}
		first, last := r.order[0], r.order[len(r.order)-1]
		switch {
		case r.in != none:
			c.along(&p.netGPU[r.in*p.gpus+first], &c.typeInter)
			for _, gpu := range c.pattern.senders(r.order) {
				c.along(&p.gpuNET[gpu*p.nets+r.out], &c.typeInter)
			}
			c.latency = max(c.latency, p.s.Nodes[NodeNET][r.in].Net.Latency)
		case c.pattern == PatternRing:
			c.along(&p.gpuGPU[last*p.gpus+first], &c.typeIntra)
		}
	}
}

// along adds a route to what a candidate goes over.
func (c *candidate) along(r *route, worst *PathType) {
	*worst = max(*worst, r.kind)
	c.hops += r.links
}
