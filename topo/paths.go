package topo

// Path is the best way from one GPU to another.
type Path struct {
	Type PathType
	BW   float32 // GB/s of its narrowest link
	// Links are the links in order; none if the ranks are on one GPU node or
	// there is no way.
	Links []*Link
}

// findPaths computes the path between each two GPUs.
func (s *System) findPaths() {
	gpus := s.Nodes[NodeGPU]
	s.paths = make([][]Path, len(gpus))
	for i := range s.paths {
		s.paths[i] = make([]Path, len(gpus))
	}
	for _, to := range gpus {
		all := s.pathsTo(to)
		for _, from := range gpus {
			s.paths[from.Index][to.Index] = all[from.seq]
		}
	}
}

// pathsTo returns the best path from each node to the GPU base, indexed by
// Node.seq: a search from base outwards, level by level, in which a node is
// visited again when a better path to it appears. Better is a lower type, then
// more bandwidth, then fewer links (ncclTopoSetPaths, NCCL v2.30
// src/graph/paths.cc).
func (s *System) pathsTo(base *Node) []Path {
	total := 0
	for _, nodes := range s.Nodes {
		total += len(nodes)
	}
	paths := make([]Path, total)
	for i := range paths {
		paths[i].Type = PathDIS
	}
	paths[base.seq] = Path{Type: PathLOC, BW: bwLOC}

	level := []*Node{base}
	queued := make([]bool, total)
	for len(level) > 0 {
		var next []*Node
		clear(queued)
		for _, n := range level {
			for i := range n.Links {
				l := &n.Links[i]
				path := &paths[n.seq]
				old := &paths[l.To.seq]
				t, ok := extend(base, n, l, path)
				bw := min(path.BW, l.BW)
				hops := len(path.Links) + 1
				if !ok || !better(t, bw, hops, old) {
					continue
				}
				back := reverse(n, l)
				if back == nil {
					continue
				}
				*old = Path{Type: t, BW: bw, Links: append([]*Link{back}, path.Links...)}
				if !queued[l.To.seq] {
					queued[l.To.seq] = true
					next = append(next, l.To)
				}
			}
		}
		level = next
	}
	return paths
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

// relayHops is the length of a path from a rank to the second GPU of an NVLink
// chain: rank, its GPU, the next GPU.
const relayHops = 2

// extend returns the type of path, which is from n to base, lengthened by l,
// and whether that is allowed: a GPU forwards for others only by NVLink and
// only once.
func extend(base, n *Node, l *Link, path *Path) (PathType, bool) {
	through := n.Type == NodeDEV && n != base.GPU.DEV
	toRank := l.Type == LinkLOC && l.To.Type == NodeGPU
	if through && !toRank && (l.Type != LinkNVL || l.To.Type != NodeDEV || len(path.Links) > relayHops) {
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
	case n.Type == NodeDEV && path.Type == PathNVL && l.Type == LinkNVL && len(path.Links) == relayHops:
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
