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

// locality remembers which ports are nearest to each GPU and which GPUs to each
// port, for as long as the paths between them are the same.
type locality struct {
	*System
	nets [][]int // [GPU index]; nil if not known
	gpus [][]int // [port index]; nil if not known
}

func newLocality(s *System) *locality {
	return &locality{s, make([][]int, len(s.Nodes[NodeGPU])), make([][]int, len(s.Nodes[NodeNET]))}
}

// changed forgets what was known of a GPU and a port between which a path
// changed.
func (c *locality) changed(gpu, net *Node) {
	c.nets[gpu.Index], c.gpus[net.Index] = nil, nil
}

func (c *locality) netsOf(gpu *Node) []int {
	if c.nets[gpu.Index] == nil {
		c.nets[gpu.Index] = gpu.nearest(NodeNET)
	}
	return c.nets[gpu.Index]
}

func (c *locality) gpusOf(net *Node) []int {
	if c.gpus[net.Index] == nil {
		c.gpus[net.Index] = net.nearest(NodeGPU)
	}
	return c.gpus[net.Index]
}

// net returns the network port that a GPU uses for a channel, nil if it reaches
// none (ncclTopoGetLocalNet, NCCL v2.30 src/graph/topo.cc). GPUs that share ports
// begin with different ones, spread in bit-reversed order where the number of
// ports is a power of two.
func (c *locality) net(gpu *Node, channel int) *Node {
	nets := c.netsOf(gpu)
	if len(nets) == 0 {
		return nil
	}
	gpus := len(c.gpusOf(c.Nodes[NodeNET][nets[0]]))
	if gpus == 0 {
		return nil
	}
	first := gpu.GPU.Dev % gpus
	if n := len(nets); n&(n-1) == 0 {
		first = mirror(first, n)
	}
	first += channel % c.Params.NetDevs.perGPU(len(nets), gpus)
	return c.Nodes[NodeNET][nets[first%len(nets)]]
}

// ports returns the network ports that the channels of a GPU use in turn: from the
// first on until it comes again.
func (c *locality) ports(gpu *Node) []*Node {
	var ports []*Node
	for channel := range MaxChannels {
		net := c.net(gpu, channel)
		if net == nil || channel > 0 && net == ports[0] {
			break
		}
		ports = append(ports, net)
	}
	return ports
}

// gpu returns the GPU whose local port net is: of those nearest to it the first
// that uses it for the lowest channel; nil if none does (ncclTopoGetLocalGpu,
// NCCL v2.30 src/graph/topo.cc).
func (c *locality) gpu(net *Node) *Node {
	for channel := range MaxChannels {
		for _, g := range c.gpusOf(net) {
			if gpu := c.Nodes[NodeGPU][g]; c.net(gpu, channel) == net {
				return gpu
			}
		}
	}
	return nil
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
