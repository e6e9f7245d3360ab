package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

func TestBarriers(t *testing.T) {
	// neighbour writes sm[t], waits with a barrier and reads sm[(t+32) % n].
	neighbour := func(barrier string) string {
		return `
shl.b32 x, t, 1; cvt.u64.u32 rx, x; mov.u64 b, sm; add.s64 b, b, rx;
st.shared.u16 [b], t;
` + barrier + `
mov.u32 y, %ntid.x; add.u32 x, t, 32; rem.u32 x, x, y;
shl.b32 x, x, 1; cvt.u64.u32 rx, x; mov.u64 b, sm; add.s64 b, b, rx;
ld.shared.u16 z, [b];
st.global.u32 [at], z;`
	}
	cases := []struct {
		name    string
		threads int
		body    string
		want    func(i int) int
	}{
		{"all threads", 96, neighbour("bar.sync 0;"), func(i int) int { return (i + 32) % 96 }},
		{"a last warp that is not full", 80, neighbour("barrier.sync 3;"), func(i int) int { return (i + 32) % 80 }},
		{"a count", 96, neighbour("bar.sync 15, 96;"), func(i int) int { return (i + 32) % 96 }},
		{"a count with a last warp that is not full", 80, neighbour("bar.sync 1, 96;"), func(i int) int { return (i + 32) % 80 }},
		{"two groups of warps with a barrier each", 128, neighbour(`
shr.u32 x, t, 6; add.u32 x, x, 1; barrier.sync x, 64; barrier.sync 0;`), func(i int) int { return (i + 32) % 128 }},
		{"a diverged warp", 64, neighbour(`
and.b32 x, t, 1; setp.eq.u32 p, x, 0; @p bra A; nanosleep.u32 100;
A: bar.sync 0;`), func(i int) int { return (i + 32) % 64 }},
		{"producers arrive, consumers wait", 64, `
setp.lt.u32 p, t, 32; @p bra CONSUMER;
st.shared.u32 [sm], 9; bar.arrive 2, 64;
st.global.u32 [at], 1; bra DONE;
CONSUMER: bar.sync 2, 64; ld.shared.u32 x, [sm]; st.global.u32 [at], x;
DONE:`, func(i int) int {
			if i < 32 {
				return 9
			}
			return 1
		}},
		{"a barrier used again and again", 64, `
mov.u32 x, 0;
LOOP: bar.sync 0; atom.shared.add.u32 y, [sm], 1; bar.sync 0; ld.shared.u32 y, [sm];
add.u32 x, x, 1; setp.lt.u32 p, x, 20; bar.sync 0; @p bra LOOP;
st.global.u32 [at], y;`, func(int) int { return 64 * 20 }},
		{"warps that exit are not waited for", 96, `
st.global.u32 [at], 3;
setp.ge.u32 p, t, 64; @p exit;
bar.sync 0; st.global.u32 [at], 4;`, func(i int) int {
			if i >= 64 {
				return 3
			}
			return 4
		}},
		{"a warp that exits lets the rest go on", 96, `
setp.ge.u32 p, t, 64; @!p bra WAIT;
nanosleep.u32 10000; st.global.u32 [at], 3; exit;
WAIT: bar.sync 0; st.global.u32 [at], 4;`, func(i int) int {
			if i >= 64 {
				return 3
			}
			return 4
		}},
		{"lanes that exit are not waited for", 64, `
and.b32 x, t, 3; setp.eq.u32 p, x, 0; @p exit;
bar.sync 0; st.global.u32 [at], 4;`, func(i int) int {
			if i%4 == 0 {
				return 0
			}
			return 4
		}},
		{"counting", 80, `
and.b32 x, t, 3; setp.eq.u32 p, x, 0;
barrier.red.popc.u32 y, 0, p; barrier.red.popc.u32 z, 0, !p;
mad.lo.u32 y, y, 1000, z; st.global.u32 [at], y;`, func(int) int { return 20*1000 + 60 }},
		{"and, or", 64, `
setp.lt.u32 p, t, 64; barrier.red.and.pred q, 0, p; selp.u32 x, 1, 0, q;
setp.eq.u32 p, t, 40; barrier.red.and.pred q, 0, p; selp.u32 y, 2, 0, q; or.b32 x, x, y;
barrier.red.or.pred q, 0, p; selp.u32 y, 4, 0, q; or.b32 x, x, y;
setp.gt.u32 p, t, 99; barrier.red.or.pred q, 0, p; selp.u32 y, 8, 0, q; or.b32 x, x, y;
st.global.u32 [at], x;`, func(int) int { return 1 | 4 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(5) {
				l := newLab(t, sim.Config{Seed: seed})
				require.Equal(t, generate(c.threads, c.want), l.run(c.threads, c.body))
			}
		})
	}
}

func TestBarrierFaults(t *testing.T) {
	cases := []struct {
		name string
		body string
		kind device.FaultKind
		says string
	}{
		{"no such barrier", `
mov.u32 x, 16; barrier.sync x;`, device.IllegalOperand, "no barrier 16"},
		{"a count of part of a warp", `
mov.u32 x, 40; barrier.sync 1, x;`, device.BarrierMismatch, "multiple of 32"},
		{"a count of more than the CTA has", `
mov.u32 x, 128; barrier.sync 1, x;`, device.BarrierMismatch, "128 threads, and the CTA has 64"},
		{"two counts", `
setp.lt.u32 p, t, 32; selp.u32 x, 64, 32, p;
nanosleep.u32 0;
@!p nanosleep.u32 1000;
barrier.sync 1, x;`, device.BarrierMismatch, "32 threads here and for 64"},
		{"sync and red", `
setp.lt.u32 p, t, 32; @p bra A;
nanosleep.u32 1000; barrier.red.or.pred q, 1, 64, p; bra DONE;
A: barrier.sync 1, 64;
DONE:`, device.BarrierMismatch, "reached with"},
		{"arriving twice", `
setp.lt.u32 p, t, 32; @!p bra OTHER;
bar.arrive 1, 64; bar.arrive 1, 64; bra DONE;
OTHER: nanosleep.u32 1000; bar.sync 1, 64;
DONE:`, device.BarrierMismatch, "a second time"},
		{"waiting for threads that have exited", `
setp.lt.u32 p, t, 32; @!p bra GONE;
bar.sync 1, 64;
GONE:`, device.BarrierMismatch, "have exited"},
		{"an aligned barrier under a divergent guard", `
setp.lt.u32 p, t, 40; @p bar.sync 0;`, device.BarrierMismatch, "aligned barrier under a guard"},
		{"an aligned barrier in both branches", `
and.b32 x, t, 1; setp.eq.u32 p, x, 0; @p bra A;
bar.sync 0; bra DONE;
A: bar.sync 0;
DONE:`, device.BarrierMismatch, "at different instructions"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			f := l.fault(shape{threads: 64}, c.body)
			require.Equal(t, c.kind, f.Kind, "%v", f)
			require.Contains(t, f.Error(), c.says)
			require.Positive(t, f.Line)
		})
	}
}
