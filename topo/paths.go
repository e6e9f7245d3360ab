package topo

// Path is the best way from one node to another.
type Path struct {
	Type PathType
	BW   float32 // GB/s of its narrowest link, as it is from the end backwards
	// Links are the links in order; none if both ends are one node or there is
	// no way.
	Links []*Link
}

// hasPaths says between which nodes paths are kept, by the type of the node
// they start from and the type they lead to: what the search and the settings
// look at.
var hasPaths = [NumNodeTypes][NumNodeTypes]bool{
	NodeGPU: {NodeGPU: true, NodeDEV: true, NodeNVS: true, NodeCPU: true, NodeNET: true},
	NodeDEV: {NodeGPU: true, NodeDEV: true, NodeNVS: true, NodeCPU: true, NodeNET: true},
	NodeNVS: {NodeGPU: true, NodeDEV: true},
	NodeCPU: {NodeGPU: true, NodeNET: true},
	NodeNET: {NodeGPU: true, NodeDEV: true, NodeNVS: true, NodeCPU: true},
}

// Path returns the path from n to another node of its system. There are paths
// from GPU and DEV nodes to GPU, DEV, NVS, CPU and NET nodes, from NVS nodes to
// GPU and DEV, from CPU nodes to GPU and NET, from NET nodes to GPU, DEV, NVS
// and CPU nodes; nil between others.
func (n *Node) Path(to *Node) *Path {
	if to.Index >= len(n.paths[to.Type]) {
		return nil
	}
	return &n.paths[to.Type][to.Index]
}

// findPaths computes the paths between all nodes, by links alone (ncclTopoSetPaths,
// NCCL v2.30 src/graph/paths.cc). Without relay no path goes through another GPU.
func (s *System) findPaths(noRelay bool) {
	for from, nodes := range s.Nodes {
		for _, n := range nodes {
			for to := range n.paths {
				if hasPaths[from][to] {
					n.paths[to] = make([]Path, len(s.Nodes[to]))
				}
			}
		}
	}
	w := newWave(s, noRelay)
	for to, bases := range s.Nodes {
		for _, base := range bases {
			if !hasPaths[NodeGPU][to] {
				continue
			}
			w.from(base)
			for from, nodes := range s.Nodes {
				if !hasPaths[from][to] {
					continue
				}
				for _, n := range nodes {
					n.paths[to][base.Index] = w.paths[n.seq]
				}
			}
		}
	}
}

// wave is a search from one node outwards, level by level, in which a node is
// visited again when a better path to it appears. Better is a lower type, then
// more bandwidth, then fewer links.
type wave struct {
	paths       []Path // [Node.seq]: to base
	queued      []bool // [Node.seq]
	level, next []*Node
	found       []int // the nodes whose paths have changed
	// links[but][Node.seq] are the links of each node but some.
	links   [1 << 2][][]*Link
	noRelay bool
}

// Links that lead nowhere better, as bits of an index of wave.links.
const (
	butCards = 1 << iota // to network cards
	butCPUs              // to other CPUs
)

func newWave(s *System, noRelay bool) *wave {
	w := &wave{
		paths:   make([]Path, s.numNodes),
		queued:  make([]bool, s.numNodes),
		noRelay: noRelay,
	}
	for i := range w.paths {
		w.paths[i].Type = PathDIS
	}
	for but := range w.links {
		w.links[but] = make([][]*Link, s.numNodes)
		for _, nodes := range s.Nodes {
			for _, n := range nodes {
				for i := range n.Links {
					l := &n.Links[i]
					if but&butCards != 0 && l.To.Type == NodeNIC || but&butCPUs != 0 && l.Type == LinkSYS {
						continue
					}
					w.links[but][n.seq] = append(w.links[but][n.seq], l)
				}
			}
		}
	}
	return w
}

// from finds the best path from each node to base.
func (w *wave) from(base *Node) {
	for _, i := range w.found {
		w.paths[i] = Path{Type: PathDIS}
	}
	w.paths[base.seq] = Path{Type: PathLOC, BW: bwLOC}
	w.found = append(w.found[:0], base.seq)
	w.level = append(w.level[:0], base)
	for len(w.level) > 0 {
		w.next = w.next[:0]
		for _, n := range w.level {
			w.past(base, n)
		}
		for _, n := range w.next {
			w.queued[n.seq] = false
		}
		w.level, w.next = w.next, w.level
	}
}

// past goes along the links of n, which has a path to base.
func (w *wave) past(base, n *Node) {
	if base.Type == NodeNET && n.Type == NodeNIC {
		// The card's other ports lead nowhere. Its slot comes last: see sortLinks.
		w.along(base, n, &n.Links[len(n.Links)-1])
		return
	}
	but := 0
	// Nothing behind a card is nearer to another card than the card's own slot, and
	// no path from there is asked for.
	if base.Type == NodeNET && n.Type != NodeNET {
		but |= butCards
	}
	// All CPUs of a host are linked. What came from one of them has reached the
	// others too, by a link less and with no less bandwidth.
	if path := &w.paths[n.seq]; n.Type == NodeCPU && len(path.Links) > 0 && path.Links[0].Type == LinkSYS {
		but |= butCPUs
	}
	for _, l := range w.links[but][n.seq] {
		w.along(base, n, l)
	}
}

// along offers the end of link l, which leaves n, a path to base through n.
func (w *wave) along(base, n *Node, l *Link) {
	path, old := &w.paths[n.seq], &w.paths[l.To.seq]
	t, ok := w.extend(base, n, l, path)
	// As in NCCL it is the link away from base that counts, not the one towards it.
	// They differ between GPUs of two kinds.
	bw := min(path.BW, l.BW)
	if !ok || !better(t, bw, len(path.Links)+1, old) {
		return
	}
	back := reverse(n, l)
	if back == nil {
		return
	}
	links := make([]*Link, 0, len(path.Links)+1)
	*old = Path{Type: t, BW: bw, Links: append(append(links, back), path.Links...)}
	if !w.queued[l.To.seq] {
		w.queued[l.To.seq] = true
		w.next = append(w.next, l.To)
		w.found = append(w.found, l.To.seq)
	}
}

func better(t PathType, bw float32, hops int, old *Path) bool {
	if t != old.Type {
		return t < old.Type
	}
	if bw != old.BW {
		return bw > old.BW
	}
	return hops < len(old.Links)
}

// extend returns the type of path, which is from n to base, lengthened by l,
// and whether that is allowed: a GPU forwards for others only by NVLink and
// only once.
func (w *wave) extend(base, n *Node, l *Link, path *Path) (PathType, bool) {
	// The GPU the path ends at, and the length of a path to it from the second
	// GPU of an NVLink chain.
	end, relay := base, 1
	if base.Type == NodeGPU {
		end, relay = base.GPU.DEV, 2
	}
	through := n.Type == NodeDEV && n != end
	toRank := l.Type == LinkLOC && l.To.Type == NodeGPU
	relayed := !w.noRelay && l.Type == LinkNVL && l.To.Type == NodeDEV && len(path.Links) <= relay
	if through && !toRank && !relayed {
		return 0, false
	}
	t := PathType(l.Type)
	switch {
	case l.Type == LinkNET:
		t = PathLOC
	case n.Type == NodePCI && l.To.Type == NodePCI:
		t = PathPXB
	case l.Type == LinkPCI && (n.Type == NodeCPU || l.To.Type == NodeCPU):
		t = PathPHB
	case n.Type == NodeDEV && path.Type == PathNVL && l.Type == LinkNVL && len(path.Links) == relay:
		t = PathNVB
	}
	return max(path.Type, t), true
}

// reverse returns the link back from l's end to n, nil if there is none.
func reverse(n *Node, l *Link) *Link {
	for i := range l.To.Links {
		if back := &l.To.Links[i]; back.To == n && back.Type == l.Type {
			return back
		}
	}
	return nil
}
