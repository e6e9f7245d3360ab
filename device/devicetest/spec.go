package devicetest

import (
	"testing"
	"time"

	"github.com/ncclgo/ncclgo/device"
)

// Spec runs every row of the spec table on device 0 of the drivers that open
// returns, one for each family of instructions. A row is a subtest named
// family/instruction/types. With -short each row sees fewer operands. Rows that
// need a newer GPU than device 0 are skipped.
func Spec(t *testing.T, open func(t *testing.T) device.Driver) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			x := &executor{open: open}
			x.start(t)
			t.Cleanup(x.stop)
			for _, batch := range batches(f.rows()) {
				x.runBatch(t, batch)
			}
		})
	}
}

// family is a part of the spec table.
type family struct {
	name string
	rows func() []*row
}

// families returns the whole table.
func families() []family {
	return []family{
		{"int", intRows},
		{"bits", bitRows},
		{"float", floatRows},
		{"compare", compareRows},
		{"cvt", cvtRows},
		{"mem", memRows},
		{"atom", atomRows},
		{"warp", warpRows},
		{"barrier", barrierRows},
		{"control", controlRows},
	}
}

const (
	batchRows    = 48   // kernels in a module
	rowThreads   = 2048 // operand sets a row sees
	shortThreads = 256  // ... with -short
	gridThreads  = 1024 // threads where the reference sees the whole grid
	// rowTimeout is far more than any row takes: a row that ends by it hangs.
	rowTimeout = 30 * time.Second
	// maxOperands is the most operands a row has, in or out.
	maxOperands = 8
)

// batches cuts rows into lists that can share a module.
func batches(rows []*row) [][]*row {
	var all [][]*row
	last := map[isa]int{}
	for _, r := range rows {
		if r.unit != "" {
			all = append(all, []*row{r})
			continue
		}
		i, ok := last[r.needs()]
		if !ok || len(all[i]) == batchRows {
			i = len(all)
			last[r.needs()] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}
