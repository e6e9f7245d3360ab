package topo

import "slices"

// tree returns a tree graph with as many channels as a ring graph, which is no worse
// than old; nil if there is none. It is what the search finds for that number of
// channels, or the rings cut open.
func (p *packing) tree(sp *SearchParams, old *Graph, ring *candidate) *Graph {
	best := p.cutOpen(p.expanded(ring), ring.bwInter, old)
	found := newSearch(newWalker(p.s, sp), sp, PatternBalancedTree, ring.n, ring.n, false).run()
	if found.n == ring.n && !found.simple {
		if g := found.graph(p.s, GraphTree); g.noWorseThan(old) && (best == nil || g.BW() > best.BW()) {
			return g
		}
	}
	return best
}

// cutOpen returns the best tree graph that rings make which are cut open, each between
// the same two positions, and that carries up to bwInter to the network; nil if none is
// as good as old.
func (p *packing) cutOpen(rings []packed, bwInter float32, old *Graph) *Graph {
	turns, speeds := p.gpus, []float64{float64(bwInter)}
	if p.inter {
		// A chain begins where its port is. What goes to the network and comes back
		// is lacking where the chain goes on, so less of it may be more; fill takes a
		// little off.
		turns = 1
		speeds = append(speeds, min(speeds[0], float64(times(len(old.Channels), old.BWInter))/float64(len(rings))/rounding/rounding))
	}
	var best *Graph
	for _, flip := range []bool{false, true} {
		if flip && (best != nil || p.inter) {
			break
		}
		for turn := range turns {
			for _, speed := range speeds {
				c := p.cut(rings, turn, flip, speed, old)
				if c == nil {
					continue
				}
				if g := c.graph(p.s, GraphTree); g.noWorseThan(old) && (best == nil || g.BW() > best.BW()) {
					best = g
				}
			}
		}
	}
	return best
}

// noWorseThan reports whether a tree graph carries as much as another, inside the
// host and to the network, over paths that are no worse for the cost model.
func (g *Graph) noWorseThan(o *Graph) bool {
	inter := func(g *Graph) float32 { return times(len(g.Channels), g.BWInter) }
	paths := worstPaths(o)
	worst := paths[len(paths)-1]
	return g.BW() >= o.BW() && inter(g) >= inter(o) && g.TypeIntra <= worst.intra && g.TypeInter <= worst.inter
}

// expanded returns the channels of a candidate.
func (p *packing) expanded(c *candidate) []packed {
	var list []packed
	for i := range c.n {
		r := packed{int(c.inter[i*2]), int(c.inter[i*2+1]), nil}
		for _, gpu := range c.intra[i*c.gpus : (i+1)*c.gpus] {
			r.order = append(r.order, int(gpu))
		}
		list = append(list, r)
	}
	return list
}

// cut makes a tree of rings; nil if a chain has no way back to its port. Each begins turn
// ranks later, and with flip every other one runs the other way: as in NCCL a tree is
// charged for one direction alone.
func (p *packing) cut(rings []packed, turn int, flip bool, bwInter float64, old *Graph) *candidate {
	pattern := old.Pattern
	if p.inter {
		pattern = PatternTree
	}
	c := newCandidate(pattern, p.gpus, len(rings), len(rings))
	chains := make([]packed, len(rings))
	for i, r := range rings {
		r.order = slices.Concat(r.order[turn:], r.order[:turn])
		if flip && i%2 == 1 {
			slices.Reverse(r.order)
		}
		chains[i] = packed{r.in, r.in, r.order}
		if p.inter && *p.hop(r.order[0], p.gpus+r.in) == nil {
			return nil
		}
	}
	clear(p.load)
	if p.inter {
		for _, r := range chains {
			p.add(p.gpus+r.in, r.order[0], bwInter)
			p.add(r.order[0], p.gpus+r.in, bwInter)
		}
		if part := p.part(); part < 1 {
			bwInter *= part
			for i := range p.load {
				p.load[i] *= part
			}
		}
	}
	taken := slices.Clone(p.load)
	clear(p.load)
	for i := range chains {
		p.putChain(&chains[i], 1)
	}
	// As in search.tighten, no more than twice what goes to the network.
	bwIntra := 2 * bwInter
	for i, load := range p.load {
		if load > 0 {
			bwIntra = min(bwIntra, (p.room[i]-taken[i])/load)
		}
	}
	p.fill(&c, chains, bwIntra, bwInter)
	if !p.inter {
		c.typeInter = old.TypeInter
	}
	return &c
}
