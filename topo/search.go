package topo

import "fmt"

// SearchParams are the settings that a search depends on beside the system.
type SearchParams struct {
	// CrossNIC is NCCL_CROSS_NIC; [CrossNICPairs] is NCCL's default.
	CrossNIC CrossNIC
	// NoScatter tries the network ports of one GPU after another even where
	// NVLink joins several hosts (NCCL_MNNVL_SCATTER_NETS_ENABLE=0).
	NoScatter bool
	// RailPerHost takes ports of different hosts for one rail if their cards are
	// at the same PCI address (NCCL_MNNVL_RAIL_PER_HOST).
	RailPerHost bool
	// CollNet asks for the graphs of CollNet.
	CollNet bool
	// NVLS asks for the graph of NVLS where hardware has it: two GPUs or more
	// below NVSwitches, from sm_90 on, one rank on each.
	NVLS bool
	// Better looks for rings and trees that are better than NCCL's, where these fall
	// short of what links allow: see [Graph.Instead]. It leaves alone what CollNet or
	// given graphs depend on.
	Better bool
	// Given are graphs that are taken instead of being searched for, as those of
	// NCCL_GRAPH_FILE are: where one is nil or without channels, or lets rails
	// cross although CrossNIC forbids it, the search goes on.
	Given *Graphs
}

// given returns the graph that is taken instead of a search, or nil.
func (p *SearchParams) given(id GraphID) *Graph {
	if p.Given == nil {
		return nil
	}
	g := p.Given[id]
	if g == nil || len(g.Channels) == 0 || p.CrossNIC == CrossNICNever && g.CrossNIC == CrossNICAll {
		return nil
	}
	return g
}

// maxSearchChannels is the most channels of a ring graph: half of those of a
// communicator, which runs each twice (NCCL v2.30 src/init.cc).
const maxSearchChannels = MaxChannels / 2

// Search finds channels in a [System.View]: those of rings and trees, and those
// of the algorithms that p asks for; the other graphs have none. They are those
// of NCCL (ncclTopoCompute, NCCL v2.30 src/graph/search.cc), or better ones if p
// asks for them. The result depends on the arguments alone, since searches are
// limited by steps, not by time.
func Search(v *System, p SearchParams) *Graphs {
	w := newWalker(v, &p)
	graphs := Graphs{
		GraphNVLS:          {ID: GraphNVLS, Pattern: PatternNVLS, MinChannels: 1, MaxChannels: MaxChannels},
		GraphCollNetDirect: {ID: GraphCollNetDirect, Pattern: PatternCollNetDirect, MinChannels: 1, MaxChannels: MaxChannels},
	}
	find := func(id GraphID, pattern Pattern, minimum, maximum int, collNet bool) {
		if graphs[id] = p.given(id); graphs[id] != nil {
			return
		}
		graphs[id] = newSearch(w, &p, pattern, minimum, maximum, collNet).run().graph(v, id)
	}
	// The order counts: see ledger.
	find(GraphRing, PatternRing, 1, maxSearchChannels, false)
	n := len(graphs[GraphRing].Channels)
	find(GraphTree, PatternBalancedTree, n, n, false)
	graphs[GraphCollNetChain] = &Graph{ID: GraphCollNetChain, Pattern: PatternTree, MinChannels: n, MaxChannels: n}
	if p.CollNet {
		find(GraphCollNetChain, PatternTree, n, n, true)
		find(GraphCollNetDirect, PatternCollNetDirect, 1, MaxChannels, true)
	}
	if p.NVLS && w.hasNVLS() {
		find(GraphNVLS, PatternNVLS, 1, MaxChannels, false)
	}
	if p.Better {
		improve(v, &p, &graphs)
	}
	return &graphs
}

// ConnectHost makes the layout of a communicator over all GPUs of a system with no
// network between them: of NCCL's channels, or of better ones if there are any.
func ConnectHost(s *System, better bool) (*Layout, error) {
	if err := s.joined(); err != nil {
		return nil, err
	}
	members, err := Members(s, HostParams{
		Params: Params{NoIntraNet: true},
		Search: SearchParams{CrossNIC: CrossNICPairs, NVLS: true, Better: better},
	})
	if err != nil {
		return nil, err
	}
	return Connect(members, LayoutParams{})
}

// joined returns an error if GPUs have no path to one another but the network.
func (s *System) joined() error {
	for from := range s.NRanks() {
		for to := range s.NRanks() {
			if s.Path(from, to).Type >= PathNET {
				return fmt.Errorf("%s: no path between the GPUs of ranks %d and %d: a ring needs one host, or one NVLink fabric", s.Name, from, to)
			}
		}
	}
	return nil
}
