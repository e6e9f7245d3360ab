package nccl

import (
	"fmt"

	"github.com/ncclgo/ncclgo/internal/result"
)

// match refuses a group in which two ranks of one communicator do not add the
// same operations in the same order: their kernels would wait for each other for
// ever, or combine data that do not belong together. Every rank is compared with
// the one before it that is in the group.
func match(parts []part) error {
	for i := range parts {
		for j := i - 1; j >= 0; j-- {
			if parts[j].comm.shared != parts[i].comm.shared {
				continue
			}
			if err := matchRanks(&parts[j], &parts[i]); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func matchRanks(a, b *part) error {
	ranks := []int{a.comm.rank, b.comm.rank}
	for k := range min(len(a.calls), len(b.calls)) {
		if x, y := &a.calls[k], &b.calls[k]; x.shape != y.shape || x.op != y.op {
			return result.New(result.InvalidArgument, "Group",
				"operation %d of rank %d is %v, of rank %d it is %v; every rank must add the same operations in the same order",
				k, ranks[0], x, ranks[1], y).At(ranks...)
		}
	}
	if len(a.calls) != len(b.calls) {
		return result.New(result.InvalidArgument, "Group",
			"rank %d adds %d operations, but rank %d adds %d; every rank must add the same operations in the same order",
			ranks[0], len(a.calls), ranks[1], len(b.calls)).At(ranks...)
	}
	return nil
}

// String returns what must be the same on all ranks.
func (k *call) String() string {
	return fmt.Sprintf("%v %v of %d %v", k.shape.fn, k.op, k.shape.count, k.shape.typ)
}
