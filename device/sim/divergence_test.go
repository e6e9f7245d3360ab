package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

func TestDivergence(t *testing.T) {
	cases := []struct {
		name    string
		threads int
		body    string
		want    func(i int) int
	}{
		{"if and else", 40, `
and.b32 x, t, 1; setp.eq.u32 p, x, 0;
@p bra EVEN;
mul.lo.u32 y, t, 3; bra DONE;
EVEN: add.u32 y, t, 100;
DONE: st.global.u32 [at], y;`, func(i int) int {
			if i%2 == 0 {
				return i + 100
			}
			return 3 * i
		}},
		{"a loop with a count for each lane", 64, `
mov.u32 x, 0; mov.u32 y, 0;
LOOP: setp.ge.u32 p, x, t; @p bra DONE;
add.u32 x, x, 1; add.u32 y, y, x; bra LOOP;
DONE: st.global.u32 [at], y;`, func(i int) int { return i * (i + 1) / 2 }},
		{"nested branches that join", 32, `
setp.lt.u32 p, t, 16; @!p bra HIGH;
setp.lt.u32 q, t, 8; @!q bra MID;
mov.u32 y, 1; bra JOIN;
MID: mov.u32 y, 2; bra JOIN;
HIGH: mov.u32 y, 3;
JOIN: activemask.b32 x; popc.b32 x, x; mad.lo.u32 y, y, 100, x; st.global.u32 [at], y;`, func(i int) int {
			return (min(i/8, 2)+1)*100 + 32
		}},
		{"exits under a predicate", 32, `
setp.lt.u32 p, t, 5;
st.global.u32 [at], 1;
@p exit;
activemask.b32 x; st.global.u32 [at], x;`, func(i int) int {
			if i < 5 {
				return 1
			}
			return 0xffffffe0
		}},
		{"a guarded store", 32, `
setp.gt.u32 p, t, 20; @p st.global.u32 [at], t;`, func(i int) int {
			if i > 20 {
				return i
			}
			return 0
		}},
		// The lanes that wait are behind those they wait for, and before them.
		{"lanes wait for a lane that took the branch", 32, `
setp.eq.u32 p, t, 9; @p bra SET;
WAIT: ld.volatile.shared.u32 x, [sm]; setp.eq.u32 q, x, 0; @q bra WAIT;
bra DONE;
SET: st.volatile.shared.u32 [sm], 77; mov.u32 x, 77;
DONE: st.global.u32 [at], x;`, func(int) int { return 77 }},
		{"lanes wait for a lane that fell through", 32, `
setp.ne.u32 p, t, 9; @p bra WAIT;
st.volatile.shared.u32 [sm], 77; mov.u32 x, 77; bra DONE;
WAIT: ld.volatile.shared.u32 x, [sm]; setp.eq.u32 q, x, 0; @q bra WAIT;
DONE: st.global.u32 [at], x;`, func(int) int { return 77 }},
		// Each lane takes a lock, in turn: a lock-step machine would hang.
		{"a lock taken lane by lane", 64, `
TRY: atom.shared.cas.b32 x, [sm], 0, 1; setp.ne.u32 p, x, 0; @p bra TRY;
ld.volatile.shared.u32 y, [sm+4]; add.u32 y, y, 1; st.volatile.shared.u32 [sm+4], y;
atom.shared.exch.b32 x, [sm], 0;
bar.sync 0;
ld.volatile.shared.u32 y, [sm+4]; st.global.u32 [at], y;`, func(int) int { return 64 }},
		{"a sleeping lane does not stop the others", 32, `
setp.eq.u32 p, t, 0; @!p bra GO;
nanosleep.u32 100000;
GO: st.global.u32 [at], 5;`, func(int) int { return 5 }},
		{"local memory is each thread's own", 40, `
st.local.u32 [lo+8], t;
mov.u64 b, lo; cvta.local.u64 b, b;
ld.u32 x, [b+8];
st.global.u32 [at], x;`, func(i int) int { return i }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(4) {
				l := newLab(t, sim.Config{Seed: seed})
				require.Equal(t, generate(c.threads, c.want), l.run(c.threads, c.body))
			}
		})
	}
}

func TestWarpSync(t *testing.T) {
	below20 := func(i int) int {
		if i < 20 {
			return 1<<20 - 1
		}
		return 0
	}
	cases := []struct {
		name string
		body string
		want func(i int) int
	}{
		{"lanes meet after a branch", `
setp.lt.u32 p, t, 7; @p bra LOW;
mul.lo.u32 x, t, 10; bra MEET;
LOW: nanosleep.u32 500; mul.lo.u32 x, t, 20;
MEET: shfl.sync.bfly.b32 y, x, 31, 31, -1;
st.global.u32 [at], y;`, func(i int) int {
			if j := 31 - i; j < 7 {
				return 20 * j
			}
			return 10 * (31 - i)
		}},
		{"lanes meet at different instructions", `
setp.lt.u32 p, t, 7; @p bra LOW;
shfl.sync.idx.b32 y, t, 3, 31, -1; bra DONE;
LOW: shfl.sync.idx.b32 y, t, 20, 31, -1;
DONE: st.global.u32 [at], y;`, func(i int) int {
			if i < 7 {
				return 20
			}
			return 3
		}},
		{"two groups at one instruction", `
and.b32 x, t, 16; mov.b32 y, 0xffff; shl.b32 y, y, x;
vote.sync.ballot.b32 z, 1, y;
st.global.u32 [at], z;`, func(i int) int { return 0xffff << (i & 16) }},
		{"lanes that have exited are not waited for", `
setp.ge.u32 p, t, 20; @p exit;
vote.sync.ballot.b32 z, 1, -1;
st.global.u32 [at], z;`, below20},
		{"nor lanes that exit later", `
setp.ge.u32 p, t, 20; @p bra LATE;
vote.sync.ballot.b32 z, 1, -1;
st.global.u32 [at], z; bra END;
LATE: nanosleep.u32 1000;
END:`, below20},
		{"groups and a guard", `
setp.lt.u32 p, t, 12; mov.u32 z, 0;
@p vote.sync.ballot.b32 z, 1, 0xfff;
st.global.u32 [at], z;`, func(i int) int {
			if i < 12 {
				return 0xfff
			}
			return 0
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				l := newLab(t, sim.Config{Seed: seed})
				require.Equal(t, generate(32, c.want), l.run(32, c.body))
			}
		})
	}
	t.Run("lanes without a thread are not waited for", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		require.Equal(t, generate(20, func(int) int { return 1<<20 - 1 }), l.run(20, `
vote.sync.ballot.b32 z, 1, -1; st.global.u32 [at], z;`))
	})
}

func TestWarpSyncFaults(t *testing.T) {
	cases := []struct {
		name, body, at string
		kind           device.FaultKind
		lane           int
		says           string
	}{
		{"a lane not in its mask", `
bar.warp.sync 0xfffffffe;`, "bar.warp", device.IllegalOperand, 0, "not in its own member mask"},
		{"a lane that has exited", `
setp.eq.u32 p, t, 4; @p exit;
bar.warp.sync -1;`, "bar.warp", device.BarrierMismatch, 0, "names lanes 0x10, which have exited"},
		{"a lane that exits later", `
setp.ge.u32 p, t, 4; @p bra LATE;
bar.warp.sync -1;
LATE: nanosleep.u32 1000; exit;`, "bar.warp", device.BarrierMismatch, 0, "which have exited"},
		{"different instructions", `
setp.lt.u32 p, t, 7; @p bra LOW;
vote.sync.any.pred q, 1, -1; bra DONE;
LOW: shfl.sync.idx.b32 y, t, 20, 31, -1;
DONE:`, "", device.BarrierMismatch, -1, "meet at different instructions"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			f := l.fault(shape{threads: 32}, c.body)
			require.Equal(t, c.kind, f.Kind, "%v", f)
			require.Contains(t, f.Detail, c.says)
			if c.at != "" {
				require.Equal(t, bodyLine(c.body, c.at), f.Line)
				require.Equal(t, c.lane, f.Lane)
			}
		})
	}
}
