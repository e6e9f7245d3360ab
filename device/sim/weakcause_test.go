package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// A CTA that has another's place has not done what that did: whoever learns of the
// later one knows nothing of the earlier one.
func TestWeakPlaceOfAnEndedCTA(t *testing.T) {
	for seed := range uint64(20) {
		l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}, Seed: seed, Weak: &sim.Weak{}})
		require.NoError(t, l.devs[1].EnablePeer(l.devs[0]))
		// The GPU has room for four CTAs. The first ends at once, and the fifth has
		// its place; the others take their time.
		l.launch(shape{grid: 5, threads: 32, label: "writer"}, `
			setp.ne.u32 p, t, 0;
			@p bra END;
			setp.eq.u32 p, cta, 0;
			@p st.global.u32 [a], 1;
			@p bra END;
			setp.eq.u32 p, cta, 4;
			@p bra TELL;
			mov.u32 x, 0;
			LOOP: add.u32 x, x, 1;
			setp.lt.u32 p, x, 3000;
			@p bra LOOP;
			ret;
			TELL: fence.acq_rel.sys;
			st.relaxed.sys.global.u32 [a+256], 1;
			END:`)
		l.launch(shape{gpu: 1, threads: 1, label: "reader"}, lines(pollY, fence, "ld.global.u32 x, [a];"))
		err := l.sync(1)
		var f *device.Fault
		require.ErrorAs(t, err, &f, "seed %d", seed)
		require.Equal(t, device.Race, f.Kind)
		require.Equal(t, "reader", f.Label)
		require.Equal(t, []int{0, 0, 0}, []int{f.Others[0].CTA, f.Others[0].Warp, f.Others[0].Lane})
	}
}

// Read-modify-writes pass on what they replace if they are morally strong with it,
// and with who reads them.
func TestWeakPassingOn(t *testing.T) {
	const (
		publish = "st.global.u32 [a], 1; fence.acq_rel.sys; st.relaxed.sys.global.u32 [a+256], 1;"
		wait    = "POLL: ld.relaxed.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 2; @p bra POLL;"
		read    = "ld.global.u32 x, [a]; st.global.u32 [b], x;"
	)
	passer := func(scope string) string {
		return "POLL: atom.relaxed." + scope + ".global.cas.b32 x, [a+256], 1, 2; setp.ne.u32 p, x, 1; @p bra POLL;"
	}
	for _, test := range []struct {
		name   string
		bodies []string
		want   []string
	}{
		{"all of them", []string{publish, passer("sys"), lines(wait, fence, read)}, []string{"1"}},
		// It is 1 where the reader saw the first write before the swap.
		{"does not reach either", []string{publish, passer("gpu"), lines(wait, fence, read)}, []string{"1", "race", "stuck"}},
		{"no fence of the reader", []string{publish, passer("sys"), lines(wait, read)}, []string{"race"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{bodies: test.bodies, results: 1}
			require.Equal(t, test.want, p.outcomes(t, 60))
		})
	}
	// The scopes of the first write and of the last read need not include each
	// other: those of their fences do.
	p := &program{threads: 2, results: 1, bodies: []string{`
		setp.ne.u32 q, t, 0;
		@q bra PASS;
		st.global.u32 [a], 1;
		fence.acq_rel.sys;
		st.relaxed.cta.global.u32 [a+256], 1;
		ret;
		PASS: ` + passer("sys"),
		"setp.ne.u32 q, t, 0; @q ret;\n" + lines(wait, fence, read)}}
	require.Equal(t, []string{"1"}, p.outcomes(t, 60))
}

// A compare-and-swap that finds something else is a read: of the newest value,
// behind which its thread does not go back, and no write.
func TestWeakFailedSwap(t *testing.T) {
	p := &program{results: 2, bodies: []string{storeX, lines("atom.relaxed.sys.global.cas.b32 y, [a], 7, 8;", loadX, putYX)}}
	require.Equal(t, []string{"0 0", "0 1", "1 1"}, p.outcomes(t, weakSeeds))
	p = &program{results: 1, bodies: []string{"ld.global.u32 x, [a];", "atom.relaxed.sys.global.cas.b32 y, [a], 7, 8;"}}
	require.Equal(t, []string{"0"}, p.outcomes(t, 40))
}

// A strong write ends no plain reads for other strong writes, which it does not
// come before.
func TestWeakReadBetweenStrongWrites(t *testing.T) {
	p := &program{results: 1, bodies: []string{
		lines("ld.global.u32 x, [a];", fence, storeY),
		lines(pollY, fence, storeX, "st.relaxed.sys.global.u32 [a+512], 1;"),
		"POLL: ld.relaxed.sys.global.u32 y, [a+512]; setp.ne.u32 p, y, 1; @p bra POLL; mov.u32 z, y; st.relaxed.gpu.global.u32 [a], 2;",
	}}
	p.bodies[1] = "POLL: ld.relaxed.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 1; @p bra POLL; fence.acq_rel.sys; st.relaxed.sys.global.u32 [a], 1;"
	p.bodies[2] = "POLL: ld.relaxed.gpu.global.u32 y, [a]; setp.ne.u32 p, y, 1; @p bra POLL; st.relaxed.sys.global.u32 [a], 2;"
	require.Equal(t, []string{"race", "stuck"}, p.outcomes(t, 40))
}

// The host's loads are strong reads.
func TestWeakHostLoads(t *testing.T) {
	l := newLab(t, sim.Config{Weak: &sim.Weak{}})
	h, err := l.devs[0].AllocHost(64, "flags")
	require.NoError(t, err)
	spin := "mov.u32 x, 0; LOOP: add.u32 x, x, 1; setp.lt.u32 p, x, 20000; @p bra LOOP; "
	l.launch(shape{threads: 1}, "st.global.u32 [b], 1;"+spin, l.out, h.Ptr())
	done, err := l.streams[0].Query()
	require.NoError(t, err)
	require.False(t, done)
	h.Load32(0)
	var f *device.Fault
	require.ErrorAs(t, l.streams[0].Synchronize(context.Background()), &f)
	require.Equal(t, device.Race, f.Kind)

	// What it read, nobody behind it reads an older value than.
	for seed := range uint64(40) {
		l := newLab(t, sim.Config{Weak: &sim.Weak{}, Seed: seed})
		h, err := l.devs[0].AllocHost(64, "flags")
		require.NoError(t, err)
		l.launch(shape{threads: 1}, "st.relaxed.sys.global.u32 [b], 1;"+spin, l.out, h.Ptr())
		done, err := l.streams[0].Query()
		require.NoError(t, err)
		require.False(t, done)
		require.Equal(t, uint32(1), h.Load32(0))
		beside, err := l.devs[0].NewStream()
		require.NoError(t, err)
		l.streams[0] = beside
		l.launch(shape{threads: 1}, "ld.relaxed.sys.global.u32 x, [b]; st.global.u32 [a], x;", l.out, h.Ptr())
		require.NoError(t, l.sync(0))
		require.Equal(t, []uint32{1}, l.words(1), "seed %d", seed)
	}
}

// The lanes of an instruction are in no order.
func TestWeakLaneOrder(t *testing.T) {
	p := &program{threads: 2, results: 2, bodies: []string{"atom.relaxed.sys.global.add.u32 x, [a], 1; mad.wide.u32 b, t, 4, b; st.global.u32 [b], x;"}}
	require.Equal(t, []string{"0 1", "1 0"}, p.outcomes(t, 40))
	p = &program{threads: 2, results: 1, bodies: []string{"st.relaxed.sys.global.u32 [a], t; bar.sync 0; ld.global.u32 x, [a]; setp.ne.u32 p, t, 0; @!p st.global.u32 [b], x;"}}
	require.Equal(t, []string{"0", "1"}, p.outcomes(t, 40))
}

// Atomics pass on which reads are done, also those that return nothing.
func TestWeakPassingOnCredits(t *testing.T) {
	p := &program{results: 1, bodies: []string{
		lines("ld.global.u32 x, [a];", "bar.sync 0;", storeY),
		lines(pollY, fence, "st.relaxed.sys.global.u32 [a+512], 1;"),
		"nanosleep.u32 100000; red.relaxed.sys.global.add.u32 [a+512], 1;",
		"POLL: nanosleep.u32 100000; atom.relaxed.sys.global.or.b32 y, [a+512], 0; setp.ne.u32 p, y, 2; @p bra POLL; st.global.u32 [a], 1;",
	}}
	require.Equal(t, []string{"0"}, p.outcomes(t, 40))
}

// Who has seen a strong write comes after it: its plain accesses do not race with
// that, if the two are morally strong.
func TestWeakSeenWrite(t *testing.T) {
	const reset = "st.global.u32 [a+256], 0;"
	for _, test := range []struct {
		name   string
		bodies []string
		want   []string
	}{
		{"a plain write", []string{storeY, lines(pollY, reset)}, []string{"0"}},
		{"a plain read", []string{storeY, lines(pollY, "ld.global.u32 x, [a+256]; st.global.u32 [b], x;")}, []string{"1"}},
		{"told to another", []string{storeY, lines(pollY, fence, storeX),
			lines("POLL: ld.relaxed.sys.global.u32 y, [a]; setp.ne.u32 p, y, 1; @p bra POLL;", fence, reset)}, []string{"0"}},
		{"told without a fence", []string{storeY, lines(pollY, storeX),
			lines("POLL: ld.relaxed.sys.global.u32 y, [a]; setp.ne.u32 p, y, 1; @p bra POLL;", fence, reset)}, []string{"race"}},
		{"a scope that does not reach", []string{"st.relaxed.gpu.global.u32 [a+256], 1;", lines(pollY, reset)}, []string{"race", "stuck"}},
		{"two writes", []string{lines(storeY, "st.relaxed.sys.global.u32 [a+256], 1;"), lines(pollY, reset)}, []string{"race"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{bodies: test.bodies, results: 1}
			got := p.outcomes(t, 40)
			require.Subset(t, got, test.want)
			if test.name != "two writes" {
				require.Equal(t, test.want, got)
			}
		})
	}
}

// Atomics come after those whose results they read, however many.
func TestWeakLastOfMany(t *testing.T) {
	count := `
		mov.u32 z, 0;
		LOOP: add.u32 z, z, 1;
		atom.relaxed.%s.global.add.u32 x, [a], 1;
		setp.eq.u32 p, x, 17;
		@p st.global.u32 [a], 0;
		setp.lt.u32 q, z, 6;
		@q bra LOOP;
		@p ld.global.u32 x, [a];
		@p st.global.u32 [b], x;`
	sys, gpu := fmt.Sprintf(count, "sys"), fmt.Sprintf(count, "gpu")
	p := &program{results: 1, bodies: []string{sys, sys, sys}}
	require.Equal(t, []string{"0"}, p.outcomes(t, 40))
	p.bodies[1] = gpu
	require.Equal(t, []string{"race"}, p.outcomes(t, 40))
}

// Strong stores that nothing orders are counted: others have more outcomes than the
// machine shows.
func TestWeakUnorderedStores(t *testing.T) {
	for _, test := range []struct {
		name   string
		second string
		want   uint64
	}{
		{"unordered", "nanosleep.u32 100000; st.relaxed.sys.global.u32 [a], 2;", 1},
		{"seen", "POLL: ld.relaxed.sys.global.u32 x, [a]; setp.ne.u32 p, x, 1; @p bra POLL; st.relaxed.sys.global.u32 [a], 2;", 0},
		{"an atomic", "nanosleep.u32 100000; atom.relaxed.sys.global.exch.b32 x, [a], 2;", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}, Weak: &sim.Weak{}})
			require.NoError(t, l.devs[1].EnablePeer(l.devs[0]))
			l.launch(shape{threads: 1}, lines(storeX, storeX))
			l.launch(shape{gpu: 1, threads: 1}, test.second, l.out)
			require.NoError(t, l.sync(1))
			require.NoError(t, l.sync(0))
			require.Equal(t, test.want, l.m.Stats().UnorderedStores)
		})
	}
}
