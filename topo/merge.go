package topo

import "slices"

// merge sets what all nodes can do: of channels and bandwidth the least, of paths
// the worst, since ranks that chose by different figures would wait for each
// other for ever. A graph that one node lacks nobody has.
func (l *Layout) merge() {
	l.MinNetBW, l.hardware = l.members[0].MinNetBW, l.members[0].Hardware
	for i := range l.members {
		l.hardware.limit(&l.members[i].Hardware)
	}
	for id := range GraphID(NumGraphs) {
		l.counts[id] = MaxChannels
		for i := range l.members {
			m := &l.members[i]
			l.MinNetBW = min(l.MinNetBW, m.MinNetBW)
			g := m.Graphs[id]
			if g == nil {
				g = &Graph{}
			}
			l.counts[id] = min(l.counts[id], len(g.Channels))
			if i == 0 {
				first := *g
				first.Channels = nil
				l.merged[id] = &first
				continue
			}
			l.merged[id].limit(g)
		}
	}
	n := min(l.counts[GraphRing], l.counts[GraphTree])
	l.counts[GraphRing], l.counts[GraphTree] = n, n
	for i := range l.members {
		l.MaxTreePattern = max(l.MaxTreePattern, l.members[i].Graphs[GraphTree].Pattern)
	}
}

// limit brings the figures of g down to what o has.
func (g *Graph) limit(o *Graph) {
	g.SameChannels = g.SameChannels && o.SameChannels
	g.BWIntra = min(g.BWIntra, o.BWIntra)
	g.BWInter = min(g.BWInter, o.BWInter)
	g.LatencyInter = max(g.LatencyInter, o.LatencyInter)
	g.TypeIntra = max(g.TypeIntra, o.TypeIntra)
	g.TypeInter = max(g.TypeInter, o.TypeInter)
	g.CrossNIC = max(g.CrossNIC, o.CrossNIC)
	g.MinSM = min(g.MinSM, o.MinSM)
	g.MaxSM = max(g.MaxSM, o.MaxSM)
	g.RanksPerGPU = max(g.RanksPerGPU, o.RanksPerGPU)
}

// Graphs returns the graphs of a node with the figures that all nodes agreed on
// and as many channels as all have, over ranks of the communicator. Those that
// some node lacks are nil.
func (l *Layout) Graphs(node int) *Graphs {
	m := &l.members[node]
	var graphs Graphs
	for id := range graphs {
		if l.counts[id] == 0 {
			continue
		}
		own, g := m.Graphs[id], *l.merged[id]
		g.ID, g.Pattern, g.NRanks, g.LatencyInter = own.ID, own.Pattern, own.NRanks, own.LatencyInter
		g.MinChannels, g.MaxChannels, g.Hops = own.MinChannels, own.MaxChannels, own.Hops
		g.Channels = m.overRanks(own.Channels[:l.counts[id]])
		graphs[id] = &g
	}
	return &graphs
}

// Found returns what the node's search found, over ranks of the communicator.
func (m *Member) Found() *Graphs {
	var graphs Graphs
	for id, own := range m.Graphs {
		if own != nil {
			g := *own
			g.Channels = m.overRanks(own.Channels)
			graphs[id] = &g
		}
	}
	return &graphs
}

// overRanks returns channels with ranks in place of local ranks.
func (m *Member) overRanks(channels []Channel) []Channel {
	var list []Channel
	for _, c := range channels {
		ranks := slices.Clone(c.Ranks)
		for i, local := range ranks {
			ranks[i] = m.Ranks[local]
		}
		list = append(list, Channel{Ranks: ranks, Nets: c.Nets})
	}
	return list
}
