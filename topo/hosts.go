package topo

import (
	"slices"

	"github.com/ncclgo/ncclgo/internal/result"
)

// HostParams describe a communicator over equal hosts.
type HostParams struct {
	// Hosts is how many times the system is there; 0 stands for once. A system
	// that NVLink joins out of several hosts counts as one here.
	Hosts int
	// Params and Search are what views and searches depend on. Rank, NRanks and
	// CollNet of Params are not used.
	Params Params
	Search SearchParams
	// NetPeerChannels is over how many channels ranks talk to one another through
	// the network (NCCL_NCHANNELS_PER_NET_PEER); 0 leaves it to the bandwidth of
	// network cards.
	NetPeerChannels int
	// NetChannelBW is what one of these carries, GB/s
	// (NCCL_P2P_PER_CHANNEL_NET_BW); 0 stands for 14.
	NetChannelBW int
	// GraphFile, if not nil, has the graphs of each node, or some, for which
	// then nobody searches (NCCL_GRAPH_FILE).
	GraphFile *GraphFile
}

// GraphFile is a graph file: its name, which appears in errors, and what it holds.
type GraphFile struct {
	Name string
	Data []byte
}

// Members returns the nodes of a communicator over equal hosts, with what their
// ranks find. Ranks of the first host are those of s, those of each next host
// follow. The parts of a host that reach one another best by network are nodes of
// their own, each with its own search. Hosts that are not 1 to what makes about a
// million ranks are an invalid argument; what is wrong in the graph file is a
// [*FileError].
func Members(s *System, p HostParams) ([]Member, error) {
	hosts := max(p.Hosts, 1)
	if p.Hosts < 0 || hosts > maxRanks/s.NRanks() {
		return nil, result.New(result.InvalidArgument, "hosts", "%d hosts of %d ranks; 1 to %d are allowed", p.Hosts, s.NRanks(), maxRanks/s.NRanks())
	}
	p.Params.NRanks = hosts * s.NRanks()
	p.Params.CollNet = p.Search.CollNet
	first, err := s.nodes(p)
	if err != nil {
		return nil, err
	}
	if p.Search.Better && len(first) > 1 {
		p.Search.Better = false
		nccl, err := s.nodes(p)
		if err != nil {
			return nil, err
		}
		if !agreedBetter(first, nccl) {
			first = nccl
		}
	}
	members := first
	for host := 1; host < hosts; host++ {
		for _, m := range first {
			m.Ranks = slices.Clone(m.Ranks)
			for i := range m.Ranks {
				m.Ranks[i] += host * s.NRanks()
			}
			members = append(members, m)
		}
	}
	return members, nil
}

// nodes returns the nodes of a host by themselves.
func (s *System) nodes(p HostParams) ([]Member, error) {
	var nodes []Member
	seen := make([]bool, s.NRanks())
	var parts []int
	for rank := range s.NRanks() {
		if seen[rank] {
			continue
		}
		p.Params.Rank = rank
		v, err := s.view(p.Params, parts)
		if err != nil {
			return nil, err
		}
		parts = v.parts
		if f := p.GraphFile; f != nil {
			if p.Search.Given, err = ParseGraphs(f.Name, f.Data, v); err != nil {
				return nil, err
			}
		}
		m := newMember(v, p)
		for _, r := range m.Ranks {
			seen[r] = true
		}
		nodes = append(nodes, m)
	}
	return nodes, nil
}

// agreedBetter reports whether nodes are better off with better channels than NCCL's also
// once they have agreed: on the least number of channels of any and the least bandwidth
// of any, which may be of nodes that differ.
func agreedBetter(better, nccl []Member) bool {
	ours, theirs, wins := agreed(better), agreed(nccl), false
	for _, id := range []GraphID{GraphRing, GraphTree} {
		if !ours[id].noWorseThan(theirs[id]) {
			return false
		}
		wins = wins || ours[id].counted() >= betterBy*theirs[id].counted()
	}
	return wins
}

// agreed returns the graphs of the first node with what all agree on.
func agreed(members []Member) *Graphs {
	l := Layout{members: members}
	l.merge()
	graphs := l.Graphs(0)
	graphs[GraphTree].Pattern = l.MaxTreePattern
	return graphs
}

// maxRanks is the most ranks of a communicator, so that a number of hosts that is a
// slip does not exhaust memory. It is far above the 16,384 that tests go to.
const maxRanks = 1 << 20

// newMember returns the node that v is the view of.
func newMember(v *System, p HostParams) Member {
	m := Member{Graphs: Search(v, p.Search), P2PChannels: MaxChannels, Hardware: v.hardware()}
	local := newLocality(v)
	for i, gpu := range v.Nodes[NodeGPU] {
		m.Ranks = append(m.Ranks, gpu.GPU.Rank)
		m.P2PChannels = min(m.P2PChannels, local.p2pChannels(gpu, &p))
		if bw := local.minNetBW(gpu); i == 0 || bw < m.MinNetBW {
			m.MinNetBW = bw
		}
	}
	slices.Sort(m.Ranks)
	for _, g := range m.Graphs {
		for _, c := range g.Channels {
			for i, rank := range c.Ranks {
				c.Ranks[i] = slices.Index(m.Ranks, rank)
			}
		}
	}
	return m
}
