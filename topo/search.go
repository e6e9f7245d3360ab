package topo

import (
	"fmt"
	"slices"
)

// maxSearchChannels is the most channels a search gives: half of MAXCHANNELS,
// since a communicator runs each twice (NCCL v2.30 src/init.cc).
const maxSearchChannels = 32

// What a channel may carry inside a host, GB/s, by compute capability
// (speedArrayIntra and its variants, NCCL v2.30 src/graph/search.cc).
var (
	speeds      = []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	speedsSM90  = []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	speedsSM100 = []float32{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
)

// SearchRing finds rings of all GPUs, one for each channel.
//
// The first is the one whose worst hop is of the best [PathType], of those one
// that carries most: the smallest of the links' bandwidths, each shared by the
// hops that go over it. Channels repeat that ring as long as it carries another,
// then others with no worse hop in what is left of the links. They are as many,
// and as fast, as use most of the bandwidth.
//
// Beyond a fixed number of steps a search keeps the best ring found so far. The
// result depends on the system alone.
func SearchRing(s *System) (*Graph, error) {
	n := s.NRanks()
	for from := range n {
		for to := range n {
			if s.Path(from, to).Type >= PathNET {
				return nil, fmt.Errorf("%s: no path between the GPUs of ranks %d and %d: a ring needs one host, or one NVLink fabric", s.Name, from, to)
			}
		}
	}
	g := &Graph{Pattern: PatternRing, NRanks: n, SameChannels: true, MinSM: s.RankGPU(0).GPU.SM}
	for rank := range n {
		gpu := s.RankGPU(rank).GPU
		g.MinSM = min(g.MinSM, gpu.SM)
		g.MaxSM = max(g.MaxSM, gpu.SM)
		g.RanksPerGPU = max(g.RanksPerGPU, gpu.DEV.GPU.Ranks)
	}
	best := newRingSearch(s).first()
	rings, bw := channels(s, &best, g.MinSM)
	g.BWIntra, g.TypeIntra = bw, best.hop
	for _, ranks := range rings {
		g.Channels = append(g.Channels, Channel{Ranks: ranks})
		g.SameChannels = g.SameChannels && slices.Equal(ranks, rings[0])
	}
	return g, nil
}

// channels returns the ring of each channel and what each carries: of NCCL's
// channel speeds the one at which the links take most, the highest if several
// do, and not less than about half the best so far. Then, as in NCCL
// (ncclTopoDupChannels), fast channels are made twice as many of half the speed,
// since one CTA hardly drives them.
func channels(s *System, first *ring, sm int) (rings [][]int, bw float32) {
	table := speeds
	switch {
	case sm >= 100:
		table = speedsSM100
	case sm >= 90:
		table = speedsSM90
	}
	for _, speed := range table {
		// NCCL's bound (ncclTopoCompute).
		if rings != nil && speed/bw <= .49 {
			break
		}
		packed := pack(s, first, speed)
		if float32(float32(len(packed))*speed) > float32(float32(len(rings))*bw) {
			rings, bw = packed, speed
		}
	}
	n := len(rings)
	if n == 0 {
		return [][]int{first.ranks}, first.bw
	}
	if bw < 25 || (sm > 80 && bw < 50 && n > 4) {
		return rings, bw
	}
	twice := min(2*n, maxSearchChannels)
	return append(rings, rings[:twice-n]...), bw / float32((twice+n-1)/n)
}

// pack returns the rings of as many channels of the given speed as fit. Through
// AMD CPUs all have one ring, as in NCCL (ncclTopoCompute): traffic between
// their sockets does not add up.
func pack(s *System, first *ring, speed float32) [][]int {
	r := newRingSearch(s)
	oneRing := first.hop == PathSYS && s.Nodes[NodeCPU][0].CPU.Vendor == VendorAMD
	var rings [][]int
	for ranks := first.ranks; len(rings) < maxSearchChannels; {
		if r.carries(ranks) < speed {
			if oneRing {
				break
			}
			if ranks = r.another(first.hop, speed); ranks == nil {
				break
			}
		}
		r.reserve(ranks, speed)
		rings = append(rings, ranks)
	}
	return rings
}
