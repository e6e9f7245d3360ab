package topo

import "cmp"

// defaultNetChannelBW is what a channel of sends and receives carries over a
// network, GB/s (NCCL v2.30 src/graph/paths.cc).
const defaultNetChannelBW = 14

// p2pChannels returns the least number of channels over which the rank of gpu
// talks to another rank of the communicator (ncclTopoComputeP2pChannelsPerPeer,
// NCCL v2.30 src/graph/paths.cc).
func (c *locality) p2pChannels(gpu *Node, h *HostParams) int {
	least := MaxChannels
	for _, peer := range c.Nodes[NodeGPU] {
		if peer == gpu {
			continue
		}
		n := 2
		if p := peer.Path(gpu); p.Type == PathNVL || p.Type == PathNVB {
			n *= max(1, int(p.BW/nvLinkBW(gpu.GPU.SM)))
		}
		least = min(least, n)
	}
	if !c.Inter {
		return least
	}
	if h.NetPeerChannels > 0 {
		return min(least, h.NetPeerChannels)
	}
	byNet := 2
	if ports, bw := c.usedPorts(gpu); ports > 0 {
		each := cmp.Or(h.NetChannelBW, defaultNetChannelBW)
		byNet = max(ports, (int(bw)+each-1)/each)
	}
	return min(least, byNet)
}

// usedPorts returns how many network ports a GPU needs to send as fast as its link
// to the CPU allows, and their bandwidth, GB/s.
func (c *locality) usedPorts(gpu *Node) (ports int, bw float32) {
	cpu := c.localCPU(gpu)
	if cpu == nil {
		return 0, 0
	}
	for _, net := range c.ports(gpu) {
		ports++
		if bw += gpu.Path(net).BW; bw >= gpu.Path(cpu).BW {
			break
		}
	}
	return ports, bw
}

// minNetBW returns the least bandwidth between a GPU and one of the ports it uses,
// GB/s; 0 if it has none.
func (c *locality) minNetBW(gpu *Node) float32 {
	var least float32
	for i, net := range c.ports(gpu) {
		if bw := gpu.Path(net).BW; i == 0 || bw < least {
			least = bw
		}
	}
	return least
}
