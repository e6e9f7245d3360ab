package topo

import "math/bits"

// nearest returns the indices of the nodes of type t that n has the best path
// to: the most bandwidth, then the lowest type (ncclTopoGetLocal, NCCL v2.30
// src/graph/topo.cc).
func (n *Node) nearest(t NodeType) []int {
	var best []int
	bw, worst := float32(0), PathDIS
	for i := range n.paths[t] {
		p := &n.paths[t][i]
		if p.BW > bw || (p.BW == bw && p.Type < worst) {
			bw, worst = p.BW, p.Type
			best = best[:0]
		}
		if p.BW == bw && p.Type == worst && worst < PathDIS {
			best = append(best, i)
		}
	}
	return best
}

// localCPU returns the CPU nearest to a GPU, of several the one with the
// shortest path (ncclGetLocalCpu, NCCL v2.30 src/graph/paths.cc).
func (s *System) localCPU(gpu *Node) *Node {
	paths := gpu.paths[NodeCPU]
	best := -1
	for _, c := range gpu.nearest(NodeCPU) {
		if best < 0 || len(paths[c].Links) < len(paths[best].Links) {
			best = c
		}
	}
	if best < 0 {
		return nil
	}
	return s.Nodes[NodeCPU][best]
}

// LocalNet returns the network port that a GPU uses for a channel, nil if it
// reaches none (ncclTopoGetLocalNet, NCCL v2.30 src/graph/topo.cc). GPUs that
// share ports begin with different ones, spread in bit-reversed order where the
// number of ports is a power of two.
func (s *System) LocalNet(gpu *Node, channel int) *Node {
	return s.netOf(gpu, gpu.nearest(NodeNET), channel)
}

// netOf is LocalNet with the ports nearest to the GPU.
func (s *System) netOf(gpu *Node, nets []int, channel int) *Node {
	if len(nets) == 0 {
		return nil
	}
	gpus := len(s.Nodes[NodeNET][nets[0]].nearest(NodeGPU))
	if gpus == 0 {
		return nil
	}
	first := gpu.GPU.Dev % gpus
	if n := len(nets); n&(n-1) == 0 {
		first = mirror(first, n)
	}
	first += channel % s.Params.NetDevs.perGPU(len(nets), gpus)
	return s.Nodes[NodeNET][nets[first%len(nets)]]
}

// mirror returns the lowest bits of v, as many as numbers below the power of two
// n have, in reverse order.
func mirror(v, n int) int {
	width := bits.Len(uint(n)) - 1
	if width == 0 {
		return 0
	}
	return int(bits.Reverse64(uint64(v)) >> (64 - width))
}

// localGPU returns the GPU whose local port net is: of those nearest to it the
// first that uses it for the lowest channel; nil if none does
// (ncclTopoGetLocalGpu, NCCL v2.30 src/graph/topo.cc).
func (s *System) localGPU(net *Node) *Node {
	gpus := net.nearest(NodeGPU)
	nets := make([][]int, len(gpus))
	for i, g := range gpus {
		nets[i] = s.Nodes[NodeGPU][g].nearest(NodeNET)
	}
	for c := range MaxChannels {
		for i, g := range gpus {
			if gpu := s.Nodes[NodeGPU][g]; s.netOf(gpu, nets[i], c) == net {
				return gpu
			}
		}
	}
	return nil
}
