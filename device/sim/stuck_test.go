package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// poll waits until the word at c is not 0 and stores it.
const poll = `
WAIT: ld.relaxed.sys.global.u32 x, [c];
setp.eq.u32 p, x, 0; @p bra WAIT;
st.global.u32 [at], x;`

func TestStuckNamesWhoWaitsForWhat(t *testing.T) {
	l := newLab(t, sim.Config{})
	flag := l.alloc(0, 64, "flag from rank 1")
	body := poll
	start := time.Now()
	f := l.fault(shape{threads: 64, label: "rank 0", ctas: []string{"ch 2"}}, body, l.out, 0, flag+8)
	require.Less(t, time.Since(start), time.Second)
	require.Equal(t, device.Stuck, f.Kind)
	require.Len(t, f.Others, 1, "%v", f)
	o := f.Others[0]
	require.Equal(t, "rank 0 ch 2", o.Label)
	require.Equal(t, bodyLine(body, "ld.relaxed"), o.Line)
	require.Equal(t, flag+8, o.Addr)
	require.Equal(t, "flag from rank 1 +0x8", o.AddrLabel)
	require.Contains(t, o.Detail, "reads 0x0 (2 warps, 64 lanes)")
}

func TestStuck(t *testing.T) {
	cases := []struct {
		name, body string
		says       []string
	}{
		{"a rare look at an abort flag does not hide the wait", `
mov.u32 y, 0;
WAIT: ld.relaxed.sys.global.u32 x, [c]; setp.ne.u32 p, x, 0; @p bra DONE;
add.u32 y, y, 1; and.b32 z, y, 1023; setp.ne.u32 p, z, 0; @p bra WAIT;
ld.relaxed.sys.global.u32 z, [c+4]; setp.eq.u32 p, z, 0; @p bra WAIT;
DONE:`, []string{"ld.relaxed.sys.global.u32 x, [c]", "address"}},
		{"a poll that sleeps", `
WAIT: nanosleep.u32 100; ld.volatile.global.u32 x, [c]; setp.eq.u32 p, x, 0; @p bra WAIT;`, []string{"ld.volatile"}},
		{"a poll by compare and swap", `
WAIT: atom.global.cas.b32 x, [c], 1, 2; ld.volatile.global.u32 y, [c]; setp.ne.u32 p, x, 1; @p bra WAIT;`, []string{"ld.volatile"}},
		{"one lane polls, the rest wait at a barrier", `
setp.ne.u32 p, t, 0; @p bra GO;
WAIT: ld.volatile.global.u32 x, [c]; setp.eq.u32 p, x, 0; @p bra WAIT;
GO: bar.sync 5;`, []string{"ld.volatile", "bar.sync 5", "waits at barrier 5: 32 of 64 threads"}},
		{"two barriers", `
setp.lt.u32 p, t, 32; @p bra A;
barrier.sync 1, 64; bra DONE;
A: barrier.sync 2, 64;
DONE:`, []string{"barrier 1: 32 of 64", "barrier 2: 32 of 64"}},
		{"lanes of a member mask", `
setp.ne.u32 p, lane, 9; @p bra A;
WAIT: ld.volatile.shared.u32 x, [sm]; setp.eq.u32 p, x, 0; @p bra WAIT;
A: bar.warp.sync -1;`, []string{"waits for lanes 0x200 of member mask 0xffffffff", "ld.volatile.shared"}},
		{"a poll with a vote", `
WAIT: ld.relaxed.sys.global.u32 x, [c]; setp.ne.u32 p, x, 0; vote.sync.any.pred p, p, -1; @!p bra WAIT;`, []string{"ld.relaxed"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			f := l.fault(shape{threads: 64}, c.body, l.out, 0, l.alloc(0, 64, "flag"))
			require.Equal(t, device.Stuck, f.Kind)
			for _, s := range c.says {
				require.Contains(t, f.Error(), s)
			}
		})
	}
}

// None of these is stuck.
func TestNotStuck(t *testing.T) {
	cases := []struct {
		name, body string
		want       uint32
	}{
		{"a loop that computes", `
mov.u32 x, 0;
LOOP: add.u32 x, x, 1; setp.lt.u32 p, x, 400000; @p bra LOOP;
st.global.u32 [at], x;`, 400000},
		{"a loop that reads on", `
mov.u32 x, 0; mov.u32 y, 0;
LOOP: and.b32 z, x, 4095; mad.wide.u32 b, z, 4, a; ld.global.u32 z, [b]; add.u32 y, y, z;
add.u32 x, x, 1; setp.lt.u32 p, x, 100000; @p bra LOOP;
st.global.u32 [at], x;`, 100000},
		{"a wait that gives up after a second", `
mov.u64 rx, %globaltimer; add.s64 rx, rx, 1000000000;
WAIT: ld.volatile.global.u32 x, [c]; setp.ne.u32 p, x, 0; @p bra DONE;
mov.u64 ry, %globaltimer; setp.lt.u64 p, ry, rx; @p bra WAIT;
mov.u32 x, 111;
DONE: st.global.u32 [at], x;`, 111},
		{"a long sleep", `
mov.u32 x, 1000000000; nanosleep.u32 x; nanosleep.u32 x;
st.global.u32 [at], 3;`, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			l.launch(shape{threads: 32}, c.body, l.out, 0, l.alloc(0, 64, "flag"))
			require.NoError(t, l.sync(0))
			require.Equal(t, c.want, l.words(1)[0])
		})
	}
}

// A loop that reads nothing may end: only the context ends the wait for it, and
// Close the loop.
func TestEndlessLoopEndsWithItsContext(t *testing.T) {
	for name, body := range map[string]string{
		"a branch to itself": "\nLOOP: bra LOOP;",
		"a loop that computes": `
LOOP: add.u32 x, x, 1; setp.ne.u32 p, t, 77; @p bra LOOP;`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			l.launch(shape{threads: 64}, body)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			start := time.Now()
			require.ErrorIs(t, l.streams[0].Synchronize(ctx), context.DeadlineExceeded)
			require.Less(t, time.Since(start), time.Second)
			require.NoError(t, l.m.Close())
			require.ErrorContains(t, l.sync(0), "the machine is closed")
		})
	}
}

// A report with more places than it lists leaves nobody out: not the last rank,
// and of each rank as many CTAs as of any other.
func TestStuckListsEveryLaunch(t *testing.T) {
	const ranks, ctas = 7, 24
	gpu := sim.H200()
	l := newLab(t, sim.Config{Devices: slices.Repeat([]device.Info{gpu}, ranks+1)})
	labels := make([]string, ctas)
	for i := range labels {
		labels[i] = fmt.Sprintf("ch %d", i)
	}
	// One warp of each CTA polls a flag of its own, the other waits for it.
	const body = `
setp.ge.u32 p, t, 32; @p bra GO;
mad.wide.u32 c, cta, 4, c;
WAIT: ld.relaxed.sys.global.u32 x, [c]; setp.eq.u32 p, x, 0; @p bra WAIT;
GO: bar.sync 0;`
	for r := range ranks {
		l.launch(shape{gpu: r, grid: ctas, threads: 64, label: fmt.Sprintf("rank %d", r), ctas: labels}, body,
			l.out, 0, l.alloc(r, 4*ctas, "flags"))
	}
	l.alloc(ranks, 64, "of the rank that did not come")
	var f *device.Fault
	require.ErrorAs(t, l.sync(0), &f)
	require.Equal(t, device.Stuck, f.Kind)
	require.Equal(t, "no warp can progress: 336 wait (64 of 336 places listed); GPU 7 runs no kernel and has none queued", f.Detail)
	require.Len(t, f.Others, 64)
	var listed []string
	for i, o := range f.Others {
		require.NotZero(t, o.Addr, "the poll comes first: %v", o)
		listed = append(listed, o.Label)
		if i > 0 {
			require.GreaterOrEqual(t, o.Device, f.Others[i-1].Device)
		}
	}
	for r := range ranks {
		n := 9
		if r == 0 {
			n = 10
		}
		for c := range n {
			require.Contains(t, listed, fmt.Sprintf("rank %d ch %d", r, c))
		}
	}
}

// A report says which launches were never started.
func TestStuckNamesWhoIsQueued(t *testing.T) {
	l := newLab(t, sim.Config{Devices: slices.Repeat([]device.Info{smallGPU()}, 4)})
	flag := l.alloc(0, 64, "flag")
	l.alloc(2, 64, "used")
	event, err := l.devs[0].NewEvent()
	require.NoError(t, err)
	l.launch(shape{threads: 32, label: "rank 0"}, poll, l.out, 0, flag)
	require.NoError(t, l.streams[0].Record(event))
	// GPU 1's kernel, which would write the flag, waits for the one that polls it.
	require.NoError(t, l.streams[1].Wait(event))
	l.launch(shape{gpu: 1, threads: 32, label: "rank 1"}, "\nst.global.u32 [c], 1;", l.out, 0, flag)
	var f *device.Fault
	require.ErrorAs(t, l.sync(1), &f)
	require.Equal(t, device.Stuck, f.Kind)
	require.Equal(t, "no warp can progress: 1 wait; on GPU 1, rank 1: k is queued behind an event that is not complete; GPU 2 runs no kernel and has none queued", f.Detail)
	require.Len(t, f.Others, 1)
}

// With more launches than places each still has one.
func TestStuckListsMoreLaunchesThanPlaces(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200()}})
	flag := l.alloc(0, 64, "flag")
	for i := range 70 {
		s, err := l.devs[0].NewStream()
		require.NoError(t, err)
		l.streams[0] = s
		l.launch(shape{threads: 32, label: fmt.Sprintf("rank %d", i)}, poll, l.out, 0, flag)
	}
	var f *device.Fault
	require.ErrorAs(t, l.sync(0), &f)
	require.Len(t, f.Others, 70)
	require.Equal(t, "rank 69", f.Others[69].Label)
}

// A wait without a context is refused.
func TestNilContext(t *testing.T) {
	l := newLab(t, sim.Config{})
	event, err := l.devs[0].NewEvent()
	require.NoError(t, err)
	var none context.Context
	require.ErrorContains(t, l.streams[0].Synchronize(none), "the context is nil")
	require.ErrorContains(t, event.Synchronize(none), "the context is nil")
}

// A wait for the time that never comes is stuck all the same.
func TestStuckAfterTimeJumps(t *testing.T) {
	l := newLab(t, sim.Config{})
	f := l.fault(shape{threads: 32}, `
WAIT: mov.u64 rx, %globaltimer; ld.volatile.global.u32 x, [c]; setp.eq.u32 p, x, 0; @p bra WAIT;`, l.out, 0, l.alloc(0, 64, "flag"))
	require.Equal(t, device.Stuck, f.Kind)
	require.GreaterOrEqual(t, l.m.Stats().Nanoseconds, uint64(time.Hour))
}

// In the grace period a host call may still help.
func TestGrace(t *testing.T) {
	l := newLab(t, sim.Config{StuckGrace: 10 * time.Second})
	h, err := l.devs[0].AllocHost(64, "flag")
	require.NoError(t, err)
	l.launch(shape{threads: 32}, poll, l.out, 0, h.Ptr())
	done := make(chan error, 1)
	go func() { done <- l.sync(0) }()
	// Long enough for the machine to find that nobody can progress.
	time.Sleep(50 * time.Millisecond)
	select {
	case err := <-done:
		require.FailNow(t, "ended before the grace period", "%v", err)
	default:
	}
	h.Store32(0, 42)
	require.NoError(t, <-done)
	require.Equal(t, uint32(42), l.words(1)[0])

	l.launch(shape{threads: 32}, poll, l.out, 0, h.Ptr()+4)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, l.streams[0].Synchronize(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(start), time.Second)

	short := newLab(t, sim.Config{StuckGrace: 30 * time.Millisecond})
	f := short.fault(shape{threads: 32}, poll, short.out, 0, short.alloc(0, 64, "flag"))
	require.Equal(t, device.Stuck, f.Kind)
}

// A Query does not wait, and still finds out.
func TestQueryFindsStuck(t *testing.T) {
	l := newLab(t, sim.Config{})
	l.launch(shape{threads: 32}, poll, l.out, 0, l.alloc(0, 64, "flag"))
	var f *device.Fault
	require.Eventually(t, func() bool {
		done, err := l.streams[0].Query()
		require.False(t, done)
		if err != nil {
			require.ErrorAs(t, err, &f)
		}
		return err != nil
	}, 5*time.Second, time.Microsecond)
	require.Equal(t, device.Stuck, f.Kind)
}
