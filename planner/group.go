package planner

import (
	"cmp"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
)

// aggregated: calls of less than this many times the traffic of the smallest are
// decided together with it (ncclPrepareTasks, NCCL v2.30 src/enqueue.cc).
const aggregated = 4

// ChooseGroup decides how the calls of a group are done. Since the calls run
// together, those of one function, operator and type that differ by less than four
// times in traffic are decided as the one call that they are together: small calls
// get what suits their sum. Time is then that of all of them. A call alone, or of
// no elements, gets what [Model.Choose] says.
func (m *Model) ChooseGroup(calls []Call, o Options) ([]Task, error) {
	tasks := make([]Task, len(calls))
	order := make([]int, 0, len(calls))
	for i, c := range calls {
		if err := m.check(c, o); err != nil {
			return nil, err
		}
		tasks[i].Call = c
		if c.Count > 0 {
			order = append(order, i)
			continue
		}
		var err error
		if tasks[i].Choice, err = m.Choose(c, o); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := calls[a].kind(), calls[b].kind()
		return cmp.Or(compareKinds(x, y), cmp.Compare(x.Count, y.Count))
	})
	perChannel := int(ceilDiv(int64(len(order)), int64(m.channels)))
	for len(order) > 0 {
		n, together := m.similar(calls, order)
		choice, err := m.choose(together, perChannel, o)
		if err != nil {
			return nil, err
		}
		for _, i := range order[:n] {
			t := &tasks[i]
			t.Choice = choice
			t.Choice.Bytes = m.Bytes(t.Call)
			t.Choice.ChunkBytes = m.chunk(choice.Variant, m.partBytes(t.Call, choice.Channels))
		}
		order = order[n:]
	}
	return tasks, nil
}

// kind returns a call as far as calls that are decided together are alike: what
// copies elements copies bytes.
func (c *Call) kind() Call {
	if c.Func.Reduces() {
		return *c
	}
	return Call{Func: c.Func, Type: coll.Uint8, Count: c.Count * int64(c.Type.Size())}
}

func compareKinds(a, b Call) int {
	return cmp.Or(cmp.Compare(a.Func, b.Func), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Type, b.Type))
}

// similar returns how many calls at the front of order are decided together, and
// the call that they are together. Calls of one kind are in a row there, the
// smallest first.
func (m *Model) similar(calls []Call, order []int) (n int, together Call) {
	least := calls[order[0]].kind()
	together = least
	for n = 1; n < len(order); n++ {
		c := calls[order[n]].kind()
		if compareKinds(c, least) != 0 || c.Count >= aggregated*least.Count || c.Count > m.maxCount-together.Count {
			break
		}
		together.Count += c.Count
	}
	return n, together
}
