package topo

import "slices"

// tree returns a tree graph with as many channels as a ring graph, which is no worse
// than old; nil if there is none. It is what the search finds for that number of
// channels, or the rings cut open.
func (p *packing) tree(sp *SearchParams, old, ring *Graph) *Graph {
	best, n := p.cutOpen(ring, old), len(ring.Channels)
	found := newSearch(newWalker(p.s, sp), sp, PatternBalancedTree, n, n, false).run()
	if found.n == n && !found.simple {
		if g := found.graph(p.s, GraphTree); g.noWorseThan(old) && (best == nil || g.counted() > best.counted()) {
			return g
		}
	}
	return best
}

// cutOpen returns the best tree graph that rings make which are cut open, each between
// the same two positions, and that carries no more to the network than they; nil if none
// is as good as old.
func (p *packing) cutOpen(ring, old *Graph) *Graph {
	rings := p.byPosition(ring)
	turns, flips := p.gpus, []bool{false, true}
	patterns, speeds := []Pattern{old.Pattern}, []float64{float64(ring.BWInter)}
	if p.inter {
		// A chain begins where its port is. What goes to the network and comes back
		// is lacking where the chain goes on, so less of it may be more; fill takes a
		// little off.
		turns, flips = 1, flips[:1]
		patterns = []Pattern{PatternBalancedTree, PatternTree}
		for _, share := range []float64{1, 1 / PlainTreeShare} {
			enough := share * float64(times(len(old.Channels), old.BWInter)) / float64(len(rings)) / rounding / rounding
			speeds = append(speeds, min(speeds[0], enough))
		}
	}
	var best *Graph
	for _, flip := range flips {
		if best != nil {
			break
		}
		for turn := range turns {
			chains := p.chains(rings, turn, flip)
			for _, pattern := range patterns {
				for _, speed := range speeds {
					g := p.cut(chains, pattern, speed, old)
					if g != nil && g.noWorseThan(old) && (best == nil || g.counted() > best.counted()) {
						best = g
					}
				}
			}
		}
	}
	return best
}

// counted returns what of [Graph.BW] the cost model counts, GB/s.
func (g *Graph) counted() float64 { return float64(g.BW()) * g.Pattern.share() }

// share is 1 but for plain trees.
func (p Pattern) share() float64 {
	if p == PatternTree {
		return PlainTreeShare
	}
	return 1
}

// noWorseThan reports whether a ring or tree graph counts for as much as another, inside
// the host and to the network, over paths that are no worse for the cost model.
func (g *Graph) noWorseThan(o *Graph) bool {
	inter := func(g *Graph) float64 { return float64(times(len(g.Channels), g.BWInter)) * g.Pattern.share() }
	paths := worstPaths(o)
	worst := paths[len(paths)-1]
	return g.counted() >= o.counted() && inter(g) >= inter(o) && g.TypeIntra <= worst.intra && g.TypeInter <= worst.inter &&
		g.LatencyInter <= worst.latency
}

// chains returns rings cut open and led back to the port that they come from. Each begins
// turn ranks later, and with flip every other one runs the other way: as in NCCL a tree
// is charged for one direction alone.
func (p *packing) chains(rings []packed, turn int, flip bool) []packed {
	chains := make([]packed, len(rings))
	for i, r := range rings {
		order := slices.Concat(r.order[turn:], r.order[:turn])
		if flip && i%2 == 1 {
			slices.Reverse(order)
		}
		chains[i] = packed{r.in, r.in, order}
	}
	return chains
}

// cut makes a tree of chains that carry up to bwInter to the network; nil if there is no
// way to their ports.
func (p *packing) cut(chains []packed, pattern Pattern, bwInter float64, old *Graph) *Graph {
	clear(p.load)
	if p.inter {
		for i := range chains {
			if !p.putPort(&chains[i], pattern, bwInter) {
				return nil
			}
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
	c := newCandidate(pattern, p.gpus, len(chains), len(chains))
	p.fill(&c, chains, bwIntra, bwInter)
	if !p.inter {
		c.typeInter = old.TypeInter
	}
	return c.graph(p.s, GraphTree)
}

// putPort charges a chain for its port, and reports whether there is a way.
func (p *packing) putPort(r *packed, pattern Pattern, bw float64) bool {
	port, senders := p.gpus+r.in, pattern.senders(r.order)
	p.add(port, r.order[0], bw)
	for _, gpu := range senders {
		if *p.hop(gpu, port) == nil {
			return false
		}
		p.add(gpu, port, bw/float64(len(senders)))
	}
	return true
}

// senders returns the GPUs of a channel that send to the network, in equal shares: of a
// balanced tree the first two, of a plain one the first, of a ring the last.
func (p Pattern) senders(order []int) []int {
	switch p {
	case PatternBalancedTree:
		return order[:2]
	case PatternTree:
		return order[:1]
	default:
		return order[len(order)-1:]
	}
}
