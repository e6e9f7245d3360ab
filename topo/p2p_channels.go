package topo

import "cmp"

// defaultNetChannelBW is what a channel of sends and receives carries over a
// network, GB/s (NCCL v2.30 src/graph/paths.cc).
const defaultNetChannelBW = 14

// p2pChannels returns the least number of channels over which the rank of gpu
// talks to another rank of the communicator (ncclTopoComputeP2pChannelsPerPeer,
// NCCL v2.30 src/graph/paths.cc).
func (s *System) p2pChannels(gpu *Node, h *HostParams) int {
	least := MaxChannels
	for _, peer := range s.Nodes[NodeGPU] {
		if peer == gpu {
			continue
		}
		n := 2
		if p := peer.Path(gpu); p.Type == PathNVL || p.Type == PathNVB {
			n *= max(1, int(p.BW/nvLinkBW(gpu.GPU.SM)))
		}
		least = min(least, n)
	}
	if !s.Inter {
		return least
	}
	if h.NetPeerChannels > 0 {
		return min(least, h.NetPeerChannels)
	}
	byNet := 2
	if ports, bw := s.usedPorts(gpu); ports > 0 {
		each := cmp.Or(h.NetChannelBW, defaultNetChannelBW)
		byNet = max(ports, (int(bw)+each-1)/each)
	}
	return min(least, byNet)
}

// usedPorts returns how many network ports a GPU needs to send as fast as its link
// to the CPU allows, and their bandwidth, GB/s.
func (s *System) usedPorts(gpu *Node) (ports int, bw float32) {
	cpu := s.localCPU(gpu)
	if cpu == nil {
		return 0, 0
	}
	for _, net := range s.ports(gpu) {
		ports++
		if bw += gpu.Path(net).BW; bw >= gpu.Path(cpu).BW {
			break
		}
	}
	return ports, bw
}

// ports returns the network ports that the channels of a GPU use in turn.
func (s *System) ports(gpu *Node) []*Node {
	var ports []*Node
	for c := range MaxChannels {
		net := s.LocalNet(gpu, c)
		if net == nil || c > 0 && net == ports[0] {
			break
		}
		ports = append(ports, net)
	}
	return ports
}

// minNetBW returns the least bandwidth between a GPU and one of the ports it uses,
// GB/s; 0 if it has none.
func (s *System) minNetBW(gpu *Node) float32 {
	var least float32
	for i, net := range s.ports(gpu) {
		if bw := gpu.Path(net).BW; i == 0 || bw < least {
			least = bw
		}
	}
	return least
}
