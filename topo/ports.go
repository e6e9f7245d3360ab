package topo

// fromPorts searches for a channel that comes in by a network port.
func (w *walker) fromPorts(t turns) {
	// NCCL counts whole GB/s here.
	bw := float32(int(w.g.bwInter))
	ports := w.nics.choose(int(w.g.typeInter), anyGPU)
	found := false
	for i := range ports {
		if w.g.heads() && found {
			return
		}
		port := ports[(w.g.n+i)%len(ports)]
		net := w.s.Nodes[NodeNET][port].Net
		switch {
		case w.g.collNet && !net.Coll, w.netFree[port] < bw:
			continue
		case w.swaps() && int(w.g.inter[(w.g.n-1)*2+1]) != port:
			continue
		}
		w.g.inter[w.g.n*2] = int32(port)
		w.g.latency = net.Latency
		for _, same := range w.samePort[port] {
			w.netFree[same] -= bw
		}
		if w.g.heads() {
			if gpu := net.LocalGPU; w.g.n < len(ports) && gpu != none && !w.isHead(gpu) {
				w.try(&w.netGPU[port*w.gpus+gpu], false, gpu, 0, t, followAny)
				found = true
			}
		} else if !w.fromPort(port, t) {
			// NCCL does not give the port's bandwidth back then.
			continue
		}
		for _, same := range w.samePort[port] {
			w.netFree[same] += bw
		}
	}
}

// swaps reports whether the channel is the second of a pair in which each goes
// out where the other comes in.
func (w *walker) swaps() bool {
	return w.g.pattern == PatternRing && w.g.crossNIC == CrossNICPairs && w.g.n&1 == 1
}

// fromPort tries the GPUs to which a channel may come in by port. It reports
// whether there are any.
func (w *walker) fromPort(port int, t turns) bool {
	in := w.netGPU[port*w.gpus : (port+1)*w.gpus]
	if w.g.n > 0 && w.g.same {
		gpu := w.replayed(0)
		w.try(&in[gpu], false, gpu, 0, t, followReplay)
		return true
	}
	if w.g.n == 0 && !w.hasNVS {
		// A first graph to compare with, at no cost.
		budget := w.budget
		w.budget = pciOrderSteps
		w.try(&in[0], false, 0, 0, t, followPCI)
		if w.budget != perfect {
			w.budget = budget
		}
	}
	local := w.s.Nodes[NodeNET][port].Net.LocalGPU
	if local != none {
		w.try(&in[local], false, local, 0, t, followAny)
	}
	near := w.nearGPUs[port]
	if len(near) == 0 {
		return false
	}
	for _, gpu := range near {
		if gpu != local {
			w.try(&in[gpu], false, gpu, 0, t, followAny)
		}
	}
	return true
}

// toPort leaves the host, or, in a tree, adds the other port, and goes on.
func (w *walker) toPort(gpu, position int, t turns, f follow) {
	if !w.inter {
		return
	}
	start := int(w.g.inter[w.g.n*2])
	balanced := w.g.pattern == PatternBalancedTree
	for _, port := range w.nics.choose(int(w.g.typeInter), gpu) {
		if !w.mayLeave(start, port, position) {
			continue
		}
		// The first two GPUs of a balanced tree share what goes to the network.
		onwards, share := turns{none, t.first}, float32(1)
		bwInter := w.g.bwInter
		if balanced {
			w.g.bwInter /= 2
			if position == 0 {
				onwards.net = 1
			}
		}
		r := &w.gpuNET[gpu*w.nets+port]
		there := w.reserve(r, share, false)
		w.g.bwInter = bwInter
		if !there {
			continue
		}
		w.g.inter[w.g.n*2+1] = int32(port)
		w.visit(gpu, position, onwards, f)
		if balanced {
			w.g.bwInter /= 2
		}
		w.reserve(r, -share, false)
		w.g.bwInter = bwInter
	}
}

// mayLeave reports whether a channel that comes in by one port may go out by
// another, at that position (ncclTopoSearchCheckNet, NCCL v2.30
// src/graph/search.cc).
func (w *walker) mayLeave(in, out, position int) bool {
	from, to := w.s.Nodes[NodeNET][in], w.s.Nodes[NodeNET][out]
	known := func(a, b int) bool { return a != none && b != none }
	if known(from.Net.Plane, to.Net.Plane) && from.Net.Plane != to.Net.Plane {
		return false
	}
	if w.g.pattern == PatternTree && in != out {
		return false
	}
	switch {
	case w.g.pattern == PatternRing && w.g.crossNIC == CrossNICPairs:
		if w.g.n&1 == 1 && out != int(w.g.inter[(w.g.n-1)*2]) {
			return false
		}
	case w.g.crossNIC != CrossNICNever:
	case known(from.Net.Rail, to.Net.Rail):
		if from.Net.Rail != to.Net.Rail {
			return false
		}
	default:
		if !w.onePort(in, out) {
			return false
		}
	}
	return w.g.pattern != PatternBalancedTree || position == 0 || out == int(w.g.inter[w.g.n*2+1])
}
