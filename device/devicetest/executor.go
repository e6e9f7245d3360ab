package devicetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// executor runs rows on one device.
type executor struct {
	open         func(t *testing.T) device.Driver
	driver       device.Driver
	dev          device.Device
	stream       device.Stream
	in, out, mem device.Ptr
}

func (x *executor) start(t *testing.T) {
	x.driver = x.open(t)
	var err error
	x.dev, err = x.driver.Open(0)
	require.NoError(t, err)
	x.stream, err = x.dev.NewStream()
	require.NoError(t, err)
	const bytes = rowThreads * maxOperands * slotBytes
	x.in, err = x.dev.Alloc(bytes, "spec in")
	require.NoError(t, err)
	x.out, err = x.dev.Alloc(bytes, "spec out")
	require.NoError(t, err)
	x.mem, err = x.dev.Alloc(memBytes, "spec mem")
	require.NoError(t, err)
}

func (x *executor) stop() { x.driver.Close() }

// restart replaces the driver: after a fault its device runs nothing more.
func (x *executor) restart(t *testing.T) {
	x.stop()
	x.start(t)
}

// runBatch runs rows as subtests, from one module if it loads; if not, or once
// a fault took the module along, each from its own, so that one bad row does not
// hide the others.
func (x *executor) runBatch(t *testing.T, rows []*row) {
	if need := rows[0].needs().sm; x.dev.Info().SM < need {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) { t.Skipf("needs sm_%d", need) })
		}
		return
	}
	text, symbols := module(rows)
	m, err := x.dev.LoadModule("spec.ptx", []byte(text))
	if err != nil {
		m = nil
	}
	for j, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			mod, symbol := m, symbols[j]
			if mod == nil {
				mod, symbol = x.load(t, r)
			}
			f, err := mod.Function(symbol)
			require.NoError(t, err)
			if err := x.run(t, r, f); err != nil {
				x.restart(t)
				m = nil
				require.NoError(t, err, "%s", numbered(rowText(r)))
			}
		})
	}
}

// load makes a module of one row.
func (x *executor) load(t *testing.T, r *row) (device.Module, string) {
	text, symbols := module([]*row{r})
	m, err := x.dev.LoadModule("spec.ptx", []byte(text))
	require.NoError(t, err, "%s", numbered(text))
	return m, symbols[0]
}

// rowText is the PTX of one row.
func rowText(r *row) string {
	text, _ := module([]*row{r})
	return text
}

// numbered adds line numbers.
func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%4d %s\n", i+1, line)
	}
	return b.String()
}

// run runs a row's kernel and compares. The error is the device's; wrong results
// fail t.
func (x *executor) run(t *testing.T, r *row, f device.Function) error {
	g := r.operands(r.size(testing.Short()))
	out, mem, err := x.launch(r, f, g)
	switch {
	case err != nil:
		return err
	case r.check == nil:
		r.compare(t, g, out)
		return nil
	}
	for i := range g {
		g[i].d = r.results(out, i)
	}
	if err := r.check(g, mem); err != nil {
		t.Errorf("%s: %v", strings.TrimSpace(r.code), err)
	}
	return nil
}

// launch runs the kernel for the threads of g and returns their records and the
// common memory.
func (x *executor) launch(r *row, f device.Function, g []thread) (out, mem []byte, err error) {
	out, mem = make([]byte, len(g)*len(r.out)*slotBytes), make([]byte, memBytes)
	launch := &device.Launch{
		Function: f,
		Grid:     len(g) / ctaThreads,
		Threads:  ctaThreads,
		Args:     arguments(x.in, x.out, x.mem),
		Label:    r.name,
	}
	for _, step := range []func() error{
		func() error { return x.dev.CopyIn(x.in, encode(g)) },
		func() error { return x.stream.MemsetAsync(x.out, untouched, int64(len(out))) },
		func() error { return x.stream.MemsetAsync(x.mem, r.fill, memBytes) },
		func() error { return x.stream.Launch(launch) },
		func() error {
			ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
			defer cancel()
			return x.stream.Synchronize(ctx)
		},
		func() error { return x.dev.CopyOut(out, x.out) },
		func() error { return x.dev.CopyOut(mem, x.mem) },
	} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return out, mem, nil
}

// encode lays the operands of threads out in records.
func encode(g []thread) []byte {
	var buf []byte
	for _, th := range g {
		for _, v := range th.a {
			buf = binary.LittleEndian.AppendUint64(buf, v)
		}
	}
	return buf
}

// results decodes the record of thread i. 8-bit results fill a 16-bit register.
func (r *row) results(out []byte, i int) []uint64 {
	d := make([]uint64, len(r.out))
	for j, k := range r.out {
		d[j] = mask(binary.LittleEndian.Uint64(out[(i*len(r.out)+j)*slotBytes:]), k.width())
	}
	return d
}

// compare runs the reference and reports the first differences.
func (r *row) compare(t *testing.T, g []thread, out []byte) {
	const reported = 3
	r.reference(g)
	bad := 0
	for i, th := range g {
		if r.open != nil && r.open(th.a) && !(r.thinned() && left(i)) {
			continue
		}
		for j, got := range r.results(out, i) {
			if r.right(j, got, th.d[j]) {
				continue
			}
			if bad++; bad <= reported {
				k := r.out[j]
				t.Errorf("%s: thread %d: d%d = %s, want %s, from %s", strings.TrimSpace(r.code), i, j,
					k.text(got), k.text(th.d[j]), r.operandText(th.a))
			}
		}
	}
	if bad > reported {
		t.Errorf("%d of %d results are wrong", bad, len(g)*len(r.out))
	}
}

// reference fills in the expected results, group by group.
func (r *row) reference(g []thread) {
	size := r.group
	switch size {
	case 0:
		size = 1
	case wholeGrid:
		size = len(g)
	}
	for i := 0; i < len(g); i += size {
		if r.thinned() && left(i) {
			g[i].leave(r.out...)
			continue
		}
		r.ref(g[i : i+size])
	}
}

// right reports whether got may stand for want in operand i.
func (r *row) right(i int, got, want uint64) bool {
	switch {
	case got == want:
		return true
	case r.equal != nil:
		return r.equal(i, got, want)
	}
	return r.out[i].same(got, want)
}

func (r *row) operandText(a []uint64) string {
	var parts []string
	for i, v := range a {
		parts = append(parts, r.in[i].text(v))
	}
	return strings.Join(parts, " ")
}
