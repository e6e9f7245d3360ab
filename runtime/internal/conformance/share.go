package conformance

import "github.com/ncclgo/ncclgo/coll"

// Turn is the number that chooses, with a kernel's variant, the rank count of the
// kernel's share of the suite: in any len(rankCounts) turns in a row each kernel
// meets each rank count once, whatever other kernels come or go meanwhile.
type Turn uint64

// ranks returns the rank count of the kernel of a variant.
func (t Turn) ranks(v coll.Variant) int {
	return rankCounts[(uint64(t)+uint64(v.ID()))%uint64(len(rankCounts))]
}

// Share returns the indices of the kernel's part of the suite in a turn: up to n
// of its cases, of one rank count and of little work. Turns that have the same
// rank count go on to others.
func (t Turn) Share(v coll.Variant, cases []Case, n int) []int {
	ranks := t.ranks(v)
	var all []int
	for i := range cases {
		if cases[i].Ranks == ranks && cases[i].work() <= shareWork {
			all = append(all, i)
		}
	}
	n = min(n, len(all))
	round := uint64(t) / uint64(len(rankCounts))
	var share []int
	for i := range n {
		share = append(share, all[(round*uint64(n)+uint64(i))%uint64(len(all))])
	}
	return share
}

// shareWork is the most work of a case in a share: some 100,000 warp
// instructions.
const shareWork = 1500

// work estimates what a case costs, in visits of a warp to a step.
func (c *Case) work() int {
	if c.Ranks == 1 {
		return 0
	}
	bytes := c.Count * c.Type.Size()
	loop := c.Ranks * c.Channels * c.Chunk
	steps := (bytes + loop - 1) / loop * c.Ranks * 2
	perWarp := 1 + min(bytes, loop)/c.Ranks/c.Channels/(32*c.Type.Size())/(c.Workers/32)
	return c.Calls * c.Channels * c.Ranks * (c.Threads / 32) * steps * perWarp
}
