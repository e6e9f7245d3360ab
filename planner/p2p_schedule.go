package planner

import (
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// P2PSchedule is the order in which ranks send to and receive from one another.
// There are as many rounds as ranks. In a round every rank sends to one and
// receives from one, and whom it sends to receives from it in the same round.
//
// Ranks of a node are divided into groups of one size. A rank turns to the groups
// one after the other, and to the ranks of a group, beginning with the one at its
// own place in it. The distances of groups follow the triangular numbers, which
// spread neighbouring rounds over the network.
type P2PSchedule struct {
	groupSize int
	ranks     []int32 // [place]: groups one after the other
	places    []int32 // [rank]
	deltas    []int32 // [turn]: distance of the group
	turns     []int32 // [distance]
}

// Round is whom a rank sends to and receives from in a round.
type Round struct{ Send, Recv int }

const opSchedule = "p2p schedule"

// NewP2PSchedule makes the schedule of a communicator from the ranks of each node,
// nodes in order. Between nodes groups have groupSize ranks, 0 for [topo.P2PBatch], or
// what divides the ranks of each node (NCCL_P2P_SCHEDULE_GROUP_SIZE). On one node
// all ranks are a group (ncclP2pSchedule, NCCL v2.30 src/init.cc).
func NewP2PSchedule(nodes [][]int, groupSize int) (*P2PSchedule, error) {
	if groupSize < 0 {
		return nil, result.New(result.InvalidArgument, opSchedule, "groups of %d ranks; 1 or more are allowed, 0 is %d", groupSize, topo.P2PBatch)
	}
	if len(nodes) == 0 {
		return nil, result.New(result.InvalidArgument, opSchedule, "no nodes; at least one is needed")
	}
	s := &P2PSchedule{groupSize: groupSize}
	switch {
	case len(nodes) == 1:
		s.groupSize = len(nodes[0])
	case groupSize == 0:
		s.groupSize = topo.P2PBatch
	}
	total := 0
	for node, ranks := range nodes {
		if len(ranks) == 0 {
			return nil, result.New(result.InvalidArgument, opSchedule, "node %d has no ranks; each node has one or more", node)
		}
		total += len(ranks)
		if len(ranks)%s.groupSize != 0 {
			s.groupSize = gcd(s.groupSize, len(ranks))
		}
	}
	s.ranks, s.places = make([]int32, 0, total), make([]int32, total)
	for i := range s.places {
		s.places[i] = -1
	}
	for node, ranks := range nodes {
		for _, rank := range ranks {
			if rank < 0 || rank >= total || s.places[rank] >= 0 {
				return nil, result.New(result.InvalidArgument, opSchedule,
					"node %d has rank %d; all nodes together have each of 0 to %d once", node, rank, total-1)
			}
			s.places[rank] = int32(len(s.ranks))
			s.ranks = append(s.ranks, int32(rank))
		}
	}
	s.turnToGroups(total / s.groupSize)
	return s, nil
}

// turnToGroups orders the distances of groups: the triangular numbers modulo a
// power of 2, each of which comes up once, without those that are too large.
func (s *P2PSchedule) turnToGroups(groups int) {
	s.deltas, s.turns = make([]int32, 0, groups), make([]int32, groups)
	all := pow2Up(groups)
	for i, delta := 0, 0; i < all; i++ {
		delta = (delta + i) & (all - 1)
		if delta < groups {
			s.turns[delta] = int32(len(s.deltas))
			s.deltas = append(s.deltas, int32(delta))
		}
	}
}

// NRanks returns the number of ranks, which is that of rounds too.
func (s *P2PSchedule) NRanks() int { return len(s.ranks) }

// GroupSize returns the number of ranks of a group.
func (s *P2PSchedule) GroupSize() int { return s.groupSize }

// Round returns whom a rank sends to and receives from in a round, both from 0 to
// NRanks-1.
func (s *P2PSchedule) Round(rank, round int) Round {
	size, groups := s.groupSize, len(s.deltas)
	group, local := int(s.places[rank])/size, int(s.places[rank])%size
	apart, delta := int(s.deltas[round/size]), round%size
	at := func(group, local int) int {
		if group >= groups {
			group -= groups
		}
		if local >= size {
			local -= size
		}
		return int(s.ranks[group*size+local])
	}
	return Round{Send: at(group+apart, local+delta), Recv: at(group-apart+groups, local-delta+size)}
}

// SendRound returns the round in which a rank sends to a peer. It is the round in
// which the peer receives from the rank.
func (s *P2PSchedule) SendRound(rank, peer int) int {
	size, groups := s.groupSize, len(s.deltas)
	from, to := int(s.places[rank]), int(s.places[peer])
	apart := (to/size - from/size + groups) % groups
	return int(s.turns[apart])*size + (to%size-from%size+size)%size
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
