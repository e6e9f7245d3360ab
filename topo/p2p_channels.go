package topo

// netChannelBW is what a channel of sends and receives carries over a network, GB/s
// (NCCL_P2P_PER_CHANNEL_NET_BW, NCCL v2.30 src/graph/paths.cc).
const netChannelBW = 14

// p2pChannels returns the least number of channels over which the rank of gpu
// talks to another rank of the communicator (ncclTopoComputeP2pChannelsPerPeer,
// NCCL v2.30 src/graph/paths.cc). perNetPeer is that number for ranks beyond the
// network if a user gave it (NCCL_NCHANNELS_PER_NET_PEER), else 0.
func (s *System) p2pChannels(gpu *Node, perNetPeer int) int {
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
	if perNetPeer == 0 {
		perNetPeer = 2
		if ports, bw := s.usedPorts(gpu); ports > 0 {
			perNetPeer = max(ports, (int(bw)+netChannelBW-1)/netChannelBW)
		}
	}
	return min(least, perNetPeer)
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
