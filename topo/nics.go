package topo

import "slices"

// nics chooses the network ports that a search tries.
type nics struct {
	s *System
	// own[gpu] are the ports that a GPU uses, in the order of channels.
	own [][]int
	// gpuFirst takes one port of each GPU, then another of each, rather than all
	// of a GPU's.
	gpuFirst bool
	chosen   [NumPathTypes + 1][][]int // [typeInter+1][gpu+1]: see choose
}

func newNICs(s *System, gpuFirst bool) *nics {
	n := &nics{s: s, gpuFirst: gpuFirst}
	local := newLocality(s)
	for _, gpu := range s.Nodes[NodeGPU] {
		var own []int
		for _, net := range local.ports(gpu) {
			own = append(own, net.Index)
		}
		n.own = append(n.own, own)
	}
	return n
}

// anyGPU asks choose for the ports at which a search begins.
const anyGPU = -1

// preferredOnly asks choose for the ports that GPUs prefer.
const preferredOnly = -1

// choose returns the ports to try for a GPU, those it prefers first, then those
// by paths of increasing type up to typeInter (ncclTopoSelectNets, NCCL v2.30
// src/graph/search.cc).
func (n *nics) choose(typeInter, gpu int) []int {
	cache := &n.chosen[typeInter+1]
	if *cache == nil {
		*cache = make([][]int, len(n.own)+1)
	}
	if (*cache)[gpu+1] == nil {
		(*cache)[gpu+1] = n.list(typeInter, gpu)
	}
	return (*cache)[gpu+1]
}

func (n *nics) list(typeInter, gpu int) []int {
	gpus := []int{gpu}
	if gpu == anyGPU {
		gpus = gpus[:0]
		for g := range n.own {
			gpus = append(gpus, g)
		}
	}
	ports := n.preferred(gpus)
	perGPU := n.s.Params.NetDevs.limit()
	full := func() bool { return perGPU > 0 && len(ports) >= perGPU*len(gpus) }
	if full() {
		return ports
	}
	for t := PathLOC; int(t) <= typeInter; t++ {
		for _, g := range gpus {
			for net, to := range n.s.Nodes[NodeNET] {
				if net == MaxChannels {
					break
				}
				if n.s.Nodes[NodeGPU][g].Path(to).Type != t {
					continue
				}
				ports = appendNew(ports, net)
				if full() {
					return ports
				}
			}
		}
	}
	return ports
}

// preferred returns the ports that GPUs use.
func (n *nics) preferred(gpus []int) []int {
	ports := []int{}
	if !n.gpuFirst {
		for _, g := range gpus {
			for _, net := range n.own[g] {
				ports = appendNew(ports, net)
			}
		}
		return ports
	}
	for c := range MaxChannels {
		for _, g := range gpus {
			if c < len(n.own[g]) {
				ports = appendNew(ports, n.own[g][c])
			}
		}
	}
	return ports
}

func appendNew(list []int, v int) []int {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
