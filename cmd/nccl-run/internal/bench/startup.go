package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
)

// Began tells the machine when the command began, for [Config.Startup].
func (m *Machine) Began(at time.Time) { m.began = at }

// start runs the first operation of a run, the smallest there is, and returns
// what it took to get there from the beginning.
func (p *pass) start(ctx context.Context, m *Machine, w walk, size int64) ([]report.Phase, error) {
	k := w.cases[0]
	cell := cell{k.typ, k.op, int(max(size, int64(k.typ.Size()))) / k.typ.Size(), false}
	if int64(cell.count*k.typ.Size()) > p.c.MaxBytes {
		cell.count = 0
	}
	p.place(cell)
	began := time.Now()
	err := p.issue(ctx, cell, 1)
	if err == nil {
		err = p.wait(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("first operation: %v: %w", cell, err)
	}
	first := time.Since(began)

	var phases []report.Phase
	if m.startup != nil {
		phases = m.startup(p.driver)
	}
	return append(phases,
		phase("communicators", p.made, "InitAll, with assembly and load"),
		phase("first launch", first, cell.String()),
		phase("first result", time.Since(m.began), "since the command began"),
	), nil
}
