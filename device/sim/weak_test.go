package sim_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// program is one kernel on each of some GPUs, of one CTA each, that share memory:
// a is 4 KiB of GPU 0's, at which x is [a] and y is [a+256]; b is where results
// go, one word each.
type program struct {
	threads int
	weak    sim.Weak
	bodies  []string // by GPU
	results int
}

const weakSeeds = 400

// outcome runs a program once: the results, or the kind of fault.
func (p *program) outcome(t testing.TB, seed uint64) (string, error) {
	gpus := slices.Repeat([]device.Info{smallGPU()}, len(p.bodies))
	l := newLab(t, sim.Config{Devices: gpus, Seed: seed, Quantum: 1 + int(seed%8), Weak: &p.weak})
	defer l.m.Close()
	a := l.alloc(0, 4096, "shared")
	for i, body := range p.bodies {
		if i > 0 {
			require.NoError(t, l.devs[i].EnablePeer(l.devs[0]))
		}
		l.launch(shape{gpu: i, threads: max(p.threads, 1), label: fmt.Sprintf("rank %d", i)}, body, a, l.out)
	}
	for i := range p.bodies {
		if err := l.sync(i); err != nil {
			var f *device.Fault
			require.ErrorAs(t, err, &f)
			return string(f.Kind), err
		}
	}
	return strings.Trim(fmt.Sprint(l.words(p.results)), "[]"), nil
}

// outcomes runs a program with many seeds and returns what came of it.
func (p *program) outcomes(t testing.TB, seeds uint64) []string {
	seen := map[string]bool{}
	for seed := range seeds {
		o, _ := p.outcome(t, seed)
		seen[o] = true
	}
	var list []string
	for o := range seen {
		list = append(list, o)
	}
	slices.Sort(list)
	return list
}

// lines joins instructions.
func lines(list ...string) string { return strings.Join(list, "\n") }

const (
	storeX  = "st.relaxed.sys.global.u32 [a], 1;"
	storeY  = "st.relaxed.sys.global.u32 [a+256], 1;"
	loadX   = "ld.relaxed.sys.global.u32 x, [a];"
	loadY   = "ld.relaxed.sys.global.u32 y, [a+256];"
	fence   = "fence.acq_rel.sys;"
	fenceSC = "fence.sc.sys;"
	// pollY waits until y is 1.
	pollY = "POLL: ld.relaxed.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 1; @p bra POLL;"
	// The results of the second of two threads, and of either.
	putYX = "st.global.u32 [b], y; st.global.u32 [b+4], x;"
	put0X = "st.global.u32 [b], x;"
	put1Y = "st.global.u32 [b+4], y;"
)

func TestWeakOrder(t *testing.T) {
	plainX := "st.global.u32 [a], 1;"
	readX := "ld.global.u32 x, [a];"
	for _, test := range []struct {
		name   string
		bodies []string
		want   []string // all outcomes
	}{
		{"message passing", []string{lines(storeX, storeY), lines(loadY, loadX, putYX)}, []string{"0 0", "0 1", "1 0", "1 1"}},
		{"message passing, fences", []string{lines(storeX, fence, storeY), lines(loadY, fence, loadX, putYX)}, []string{"0 0", "0 1", "1 1"}},
		{"message passing, one fence", []string{lines(storeX, fence, storeY), lines(loadY, loadX, putYX)}, []string{"0 0", "0 1", "1 0", "1 1"}},
		{"message passing, the other fence", []string{lines(storeX, storeY), lines(loadY, fence, loadX, putYX)}, []string{"0 0", "0 1", "1 0", "1 1"}},
		{"message passing, release and acquire",
			[]string{lines(storeX, "st.release.sys.global.u32 [a+256], 1;"), lines("ld.acquire.sys.global.u32 y, [a+256];", loadX, putYX)},
			[]string{"0 0", "0 1", "1 1"}},
		{"message passing, narrow release",
			[]string{lines(storeX, "st.release.gpu.global.u32 [a+256], 1;"), lines("ld.acquire.sys.global.u32 y, [a+256];", loadX, putYX)},
			[]string{"0 0", "0 1", "1 0", "1 1"}},
		{"message passing, narrow fence", []string{lines(storeX, "fence.acq_rel.gpu;", storeY), lines(loadY, fence, loadX, putYX)},
			[]string{"0 0", "0 1", "1 0", "1 1"}},
		{"plain data", []string{lines(plainX, fence, storeY), lines(pollY, fence, readX, putYX)}, []string{"1 1"}},
		{"plain data, one fence", []string{lines(plainX, storeY), lines(pollY, fence, readX, putYX)}, []string{"race"}},
		{"plain data, the other fence", []string{lines(plainX, fence, storeY), lines(pollY, readX, putYX)}, []string{"race"}},
		{"plain flag", []string{lines(storeX, fence, "st.global.u32 [a+256], 1;"), lines(loadY, fence, loadX, putYX)}, []string{"race"}},
		{"store buffering", []string{lines(storeX, fence, loadY, put1Y), lines(storeY, fence, loadX, put0X)}, []string{"0 0", "0 1", "1 0", "1 1"}},
		{"store buffering, fence.sc", []string{lines(storeX, fenceSC, loadY, put1Y), lines(storeY, fenceSC, loadX, put0X)}, []string{"0 1", "1 0", "1 1"}},
		{"store buffering, membar", []string{lines(storeX, "membar.sys;", loadY, put1Y), lines(storeY, "membar.sys;", loadX, put0X)}, []string{"0 1", "1 0", "1 1"}},
		{"load buffering", []string{lines(loadX, storeY, put0X), lines(loadY, storeX, put1Y)}, []string{"0 0", "0 1", "1 0", "1 1"}},
		{"load buffering, used",
			[]string{lines(loadX, "mov.u32 z, x;", storeY, put0X), lines(loadY, "mov.u32 z, y;", storeX, put1Y)}, []string{"0 0", "0 1", "1 0"}},
		{"coherence", []string{lines(storeX, "st.relaxed.sys.global.u32 [a], 2;"), lines("ld.relaxed.sys.global.u32 y, [a];", loadX, putYX)},
			[]string{"0 0", "0 1", "0 2", "1 1", "1 2", "2 2"}},
		{"own store", []string{lines(storeX, "st.relaxed.sys.global.u32 [a], 2;", loadX, put0X)}, []string{"2 0"}},
		{"own store after a load", []string{lines(loadX, storeX, put0X)}, []string{"0 0"}},
		{"reads of independent writes", []string{storeX, storeY,
			lines("ld.acquire.sys.global.u32 x, [a];", "ld.relaxed.sys.global.u32 y, [a+256];", "shl.b32 y, y, 1; or.b32 x, x, y;", put0X),
			lines("ld.acquire.sys.global.u32 y, [a+256];", "ld.relaxed.sys.global.u32 x, [a];", "shl.b32 y, y, 1; or.b32 y, x, y;", put1Y)},
			[]string{"0 0", "0 1", "0 2", "0 3", "1 0", "1 1", "1 2", "1 3", "2 0", "2 1", "2 2", "2 3", "3 0", "3 1", "3 2", "3 3"}},
		{"three threads", []string{storeX,
			lines("POLL: ld.relaxed.sys.global.u32 x, [a]; setp.ne.u32 p, x, 1; @p bra POLL;", fence, storeY),
			lines(pollY, fence, loadX, putYX)}, []string{"1 1"}},
		{"three threads, one fence", []string{storeX,
			lines("POLL: ld.relaxed.sys.global.u32 x, [a]; setp.ne.u32 p, x, 1; @p bra POLL;", storeY),
			lines(pollY, fence, loadX, putYX)}, []string{"1 0", "1 1"}},
		{"three threads, released", []string{lines("st.release.sys.global.u32 [a], 1;"),
			lines("POLL: ld.acquire.sys.global.u32 x, [a]; setp.ne.u32 p, x, 1; @p bra POLL;", "st.release.sys.global.u32 [a+256], 1;"),
			lines("POLL: ld.acquire.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 1; @p bra POLL;", loadX, putYX)}, []string{"1 1"}},
		{"atomics pass a release on", []string{lines(plainX, "st.release.sys.global.u32 [a+256], 1;"),
			"POLL: atom.relaxed.sys.global.cas.b32 x, [a+256], 1, 2; setp.ne.u32 p, x, 1; @p bra POLL;",
			lines("POLL: ld.acquire.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 2; @p bra POLL;", readX, putYX)}, []string{"2 1"}},
		{"a store does not pass it on", []string{lines(plainX, "st.release.sys.global.u32 [a+256], 1;"),
			"POLL: ld.relaxed.sys.global.u32 x, [a+256]; setp.ne.u32 p, x, 1; @p bra POLL; st.relaxed.sys.global.u32 [a+256], 2;",
			lines("POLL: ld.acquire.sys.global.u32 y, [a+256]; setp.ne.u32 p, y, 2; @p bra POLL;", readX, putYX)}, []string{"2 1", "race"}},
		{"bytes apart do not race", []string{"st.global.u8 [a], 1;", "st.global.u8 [a+1], 1;"}, []string{"0 0"}},
		{"bytes that overlap", []string{"st.global.u16 [a], 1;", "st.global.u8 [a+1], 1;"}, []string{"race"}},
		{"plain reads do not race", []string{readX, readX}, []string{"0 0"}},
		{"constant memory", []string{lines("ld.global.nc.u32 x, [a];", storeY), lines(pollY, fence, storeX)}, []string{"race"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{bodies: test.bodies, results: 2}
			require.Equal(t, test.want, p.outcomes(t, weakSeeds))
		})
	}
}

// A scope that does not reach: the flag may stay unseen for ever, and what it
// guards is not ordered.
func TestWeakScopeThatDoesNotReach(t *testing.T) {
	p := &program{bodies: []string{"st.global.u32 [a], 1; fence.acq_rel.sys; st.relaxed.gpu.global.u32 [a+256], 1;", lines(pollY, fence, "ld.global.u32 x, [a];")}}
	require.Equal(t, []string{"race", "stuck"}, p.outcomes(t, 20))
	for seed := uint64(0); ; seed++ {
		if o, err := p.outcome(t, seed); o == string(device.Stuck) {
			require.ErrorContains(t, err, "never sees that memory holds 0x1: the scope of the write or of the poll")
			break
		}
	}
	// Within a GPU it reaches.
	p.bodies = []string{`
		setp.ne.u32 q, t, 0;
		@q bra READ;
		st.global.u32 [a], 1;
		fence.acq_rel.gpu;
		st.relaxed.gpu.global.u32 [a+256], 1;
		ret;
		READ: ld.relaxed.gpu.global.u32 y, [a+256];
		setp.ne.u32 p, y, 1;
		@p bra READ;
		fence.acq_rel.gpu;
		ld.global.u32 x, [a];
		st.global.u32 [b], x;`}
	p.threads, p.results = 2, 1
	require.Equal(t, []string{"1"}, p.outcomes(t, 50))
}

// Data by all threads of a CTA, published and consumed by one: what a channel does.
func TestWeakBarriers(t *testing.T) {
	const (
		produce = `
			st.global.u32 [at], 5;
			%s
			setp.ne.u32 p, t, 0;
			@p bra END;
			%s
			st.relaxed.sys.global.u32 [a+1024], 1;
			END:`
		consume = `
			setp.ne.u32 p, t, 0;
			@p bra TOGETHER;
			POLL: ld.relaxed.sys.global.u32 y, [a+1024];
			setp.ne.u32 q, y, 1;
			@q bra POLL;
			%s
			TOGETHER: %s
			ld.global.u32 x, [at];
			mad.wide.u32 b, t, 4, b;
			st.global.u32 [b], x;`
		// The threads t0 to t31 and t32 to t63 use different barriers.
		halves = "shr.u32 z, t, 5; add.u32 z, z, 1; barrier.sync z, 32;"
	)
	for _, test := range []struct {
		name                               string
		gather, publish, learn, hand, want string
	}{
		{"right", "bar.sync 0;", fence, fence, "bar.sync 0;", strings.TrimSpace(strings.Repeat("5 ", 64))},
		{"no barrier before", "", fence, fence, "bar.sync 0;", "race"},
		{"no barrier after", "bar.sync 0;", fence, fence, "", "race"},
		{"no fence before", "bar.sync 0;", "", fence, "bar.sync 0;", "race"},
		{"no fence after", "bar.sync 0;", fence, "", "bar.sync 0;", "race"},
		{"narrow fence before", "bar.sync 0;", "fence.acq_rel.gpu;", fence, "bar.sync 0;", "race"},
		{"narrow fence after", "bar.sync 0;", fence, "fence.acq_rel.gpu;", "bar.sync 0;", "race"},
		{"half a barrier before", halves, fence, fence, "bar.sync 0;", "race"},
		{"half a barrier after", "bar.sync 0;", fence, fence, halves, "race"},
		{"a warp's barrier before", "bar.warp.sync -1;", fence, fence, "bar.sync 0;", "race"},
		{"a reduction", "bar.red.popc.u32 z, 0, p;", fence, fence, "bar.red.popc.u32 z, 0, p;", strings.TrimSpace(strings.Repeat("5 ", 64))},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{threads: 64, results: 64,
				bodies: []string{fmt.Sprintf(produce, test.gather, test.publish), fmt.Sprintf(consume, test.learn, test.hand)}}
			require.Equal(t, []string{test.want}, p.outcomes(t, 30))
		})
	}
}

func TestWeakWarpBarrier(t *testing.T) {
	body := "st.global.u32 [at], t;\n%s\nxor.b32 x, t, 1; mad.wide.u32 rx, x, 4, a; ld.global.u32 y, [rx]; mad.wide.u32 b, t, 4, b; st.global.u32 [b], y;"
	for _, test := range []struct{ name, sync, want string }{
		{"all", "bar.warp.sync -1;", "1 0 3 2 5 4 7 6"},
		{"pairs", "mov.u32 z, 3; and.b32 x, t, 30; shl.b32 z, z, x; bar.warp.sync z;", "1 0 3 2 5 4 7 6"},
		{"others", "and.b32 x, t, 1; mov.u32 z, 0x55; shl.b32 z, z, x; bar.warp.sync z;", "race"},
		{"a vote orders nothing", "setp.eq.u32 p, t, t; vote.sync.all.pred p, p, 255;", "race"},
		{"nor does a shuffle", "shfl.sync.idx.b32 x, t, 0, 31, 255;", "race"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{threads: 8, results: 8, weak: sim.Weak{Facts: sim.AllFacts}, bodies: []string{fmt.Sprintf(body, test.sync)}}
			require.Equal(t, []string{test.want}, p.outcomes(t, 10))
		})
	}
}

// bar.arrive contributes and takes nothing.
func TestWeakArrive(t *testing.T) {
	p := &program{threads: 64, results: 1, bodies: []string{`
		setp.ge.u32 p, t, 32;
		@p bra CONSUMER;
		st.shared.u32 [sm], 7;
		bar.arrive 1, 64;
		ret;
		CONSUMER: bar.sync 1, 64;
		ld.shared.u32 x, [sm];
		st.global.u32 [b], x;`}}
	// 32 threads store the same word: a race of their own.
	require.Equal(t, []string{"race"}, p.outcomes(t, 5))
	p.bodies[0] = strings.Replace(p.bodies[0], "st.shared", "setp.eq.u32 q, t, 0;\n@q st.shared", 1)
	p.bodies[0] = strings.Replace(p.bodies[0], "st.global.u32 [b], x;", "setp.eq.u32 q, t, 32;\n@q st.global.u32 [b], x;", 1)
	require.Equal(t, []string{"7"}, p.outcomes(t, 20))
	p.bodies[0] = strings.Replace(p.bodies[0], "bar.arrive 1, 64;\n", "bar.arrive 1, 64;\nld.shared.u32 x, [sm+8];\n", 1)
	p.bodies[0] = strings.Replace(p.bodies[0], "CONSUMER: ", "CONSUMER: setp.eq.u32 q, t, 32; @q st.shared.u32 [sm+8], 1;\n", 1)
	require.Equal(t, []string{"race"}, p.outcomes(t, 20))
}

// A credit is a relaxed store after the barrier that ends the reads, without a
// release: the sender may then overwrite what was read.
func TestWeakCredit(t *testing.T) {
	receiver := `
		ld.global.u32 x, [at];
		%s
		setp.ne.u32 p, t, 0;
		@p bra END;
		st.relaxed.%s.global.u32 [a+1024], 1;
		END:`
	sender := `
		setp.ne.u32 p, t, 0;
		@p bra TOGETHER;
		POLL: ld.relaxed.sys.global.u32 y, [a+1024];
		setp.ne.u32 q, y, 1;
		@q bra POLL;
		TOGETHER: bar.sync 0;
		st.global.u32 [at], 5;`
	for _, test := range []struct {
		name, barrier, scope string
		want                 []string
	}{
		{"right", "bar.sync 0;", "sys", []string{"0"}},
		{"no barrier", "", "sys", []string{"race"}},
		{"used, no barrier", "mov.u32 y, x;", "sys", []string{"race"}},
		{"narrow scope", "bar.sync 0;", "gpu", []string{"race", "stuck"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{threads: 64, results: 1, bodies: []string{fmt.Sprintf(receiver, test.barrier, test.scope), sender}}
			require.Equal(t, test.want, p.outcomes(t, 30))
		})
	}
	// It orders no writes: what the receiver wrote is not the sender's to overwrite.
	p := &program{threads: 64, results: 1, bodies: []string{strings.Replace(fmt.Sprintf(receiver, "bar.sync 0;", "sys"), "ld.global.u32 x, [at];", "st.global.u32 [at], 1;", 1), sender}}
	require.Equal(t, []string{"race"}, p.outcomes(t, 5))
}

// A load that is not used may bind after a later store of its thread.
func TestWeakLateLoadUntilBarrier(t *testing.T) {
	p := &program{results: 2, bodies: []string{lines(loadX, "bar.warp.sync 1;", storeY, put0X), lines(loadY, "bar.sync 0;", storeX, put1Y)}}
	require.Equal(t, []string{"0 0", "0 1", "1 0"}, p.outcomes(t, weakSeeds))
	p.bodies = []string{lines(loadX, "atom.release.sys.global.add.u32 z, [a+256], 1;", put0X), lines(loadY, "fence.acq_rel.cta;", storeX, put1Y)}
	require.Equal(t, []string{"0 0", "0 1", "1 0"}, p.outcomes(t, weakSeeds))
}

func TestWeakPackAndElements(t *testing.T) {
	for _, test := range []struct {
		name, store, load string
		facts             sim.Facts
		torn              bool
	}{
		{"words, pack", "st.relaxed.sys.global.v2.u64 [a], {rx, rx};", "ld.relaxed.sys.global.v2.u64 {rx, ry}, [a];", 0, true},
		{"words, pack whole", "st.relaxed.sys.global.v2.u64 [a], {rx, rx};", "ld.relaxed.sys.global.v2.u64 {rx, ry}, [a];", sim.WholePack, false},
		{"words, read apart", "st.relaxed.sys.global.v2.u64 [a], {rx, rx};", "ld.relaxed.sys.global.u64 rx, [a]; ld.relaxed.sys.global.u64 ry, [a+8];", sim.WholePack, true},
		{"one word", "st.relaxed.sys.global.v2.u64 [a], {rx, ry};", "ld.relaxed.sys.global.u64 rx, [a]; and.b64 ry, rx, 1;", 0, false},
		{"halves of a word", "st.relaxed.sys.global.v2.u32 [a], {x, x};", "ld.relaxed.sys.global.u64 rx, [a]; shr.u64 ry, rx, 32; and.b64 rx, rx, 1;", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{results: 2, weak: sim.Weak{Facts: test.facts}, bodies: []string{
				"mov.u64 rx, 1; mov.u64 ry, 1; mov.u32 x, 1;\n" + test.store,
				test.load + "\ncvt.u32.u64 x, rx; cvt.u32.u64 y, ry; st.global.u32 [b], x; st.global.u32 [b+4], y;"}}
			want := []string{"0 0", "1 1"}
			if test.torn {
				want = []string{"0 0", "0 1", "1 0", "1 1"}
			}
			require.Equal(t, want, p.outcomes(t, weakSeeds))
		})
	}
}

// A line of 128 bytes whose last word is the flag: the lanes load it, vote on the
// flag, and load it again once they agree.
func TestWeakLine(t *testing.T) {
	store := `
		mov.u64 rx, 1;
		mad.wide.u32 a, t, 16, a;
		st.relaxed.sys.global.v2.u64 [a], {rx, rx};`
	load := `
		mad.wide.u32 a, t, 16, a;
		POLL: ld.relaxed.sys.global.v2.u64 {rx, ry}, [a];
		setp.eq.u64 p, ry, 1;
		setp.ne.u32 q, t, 7;
		or.pred p, p, q;
		vote.sync.all.pred p, p, 255;
		@!p bra POLL;
		%s
		and.b64 rx, rx, ry;
		cvt.u32.u64 x, rx;
		mad.wide.u32 b, t, 4, b;
		st.global.u32 [b], x;`
	again := "ld.relaxed.sys.global.v2.u64 {rx, ry}, [a];"
	const whole = "1 1 1 1 1 1 1 1"
	for _, test := range []struct {
		name   string
		weak   sim.Weak
		reload string
		right  bool
	}{
		{"all facts", sim.Weak{Facts: sim.AllFacts}, again, true},
		{"no reload", sim.Weak{Facts: sim.AllFacts}, "", false},
		{"no H1", sim.Weak{Facts: sim.AllFacts &^ sim.WholePack}, again, false},
		{"no H2", sim.Weak{Facts: sim.AllFacts &^ sim.WholeLine}, again, false},
		{"no H3", sim.Weak{Facts: sim.AllFacts &^ sim.OrderedVote}, again, false},
		{"PCIe", sim.Weak{Facts: sim.AllFacts, PCIe: func(a, b int) bool { return a != b }}, again, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &program{threads: 8, results: 8, weak: test.weak, bodies: []string{fmt.Sprintf(load, test.reload), store}}
			got := p.outcomes(t, 100)
			require.Contains(t, got, whole)
			require.Equal(t, test.right, len(got) == 1, "%v", got)
		})
	}
	// Which lane stores which part of the line makes no difference.
	p := &program{threads: 8, results: 8, weak: sim.Weak{Facts: sim.AllFacts}, bodies: []string{
		fmt.Sprintf(load, again), strings.Replace(store, "mad.wide.u32 a, t,", "xor.b32 x, t, 5;\nmad.wide.u32 a, x,", 1)}}
	require.Equal(t, []string{whole}, p.outcomes(t, 100))
}

// There is no read-modify-write of a peer's memory over PCIe.
func TestWeakAtomicOverPCIe(t *testing.T) {
	add := "red.relaxed.sys.global.add.u32 [a], 1;"
	p := &program{results: 1, bodies: []string{add, add}}
	require.Equal(t, []string{"0"}, p.outcomes(t, 3))
	p.weak.PCIe = func(a, b int) bool { return a != b }
	_, err := p.outcome(t, 1)
	var f *device.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, device.IllegalOperand, f.Kind)
	require.Equal(t, 1, f.Device)
	require.Contains(t, f.Detail, "reaches over PCIe")
}

// The two sides of a race are named, and the same seed finds it again.
func TestWeakRaceNamesBothSides(t *testing.T) {
	write, read := "mov.u32 x, 3;\nst.global.u32 [a+4], x;", "ld.global.u32 y, [a+4];"
	p := &program{bodies: []string{write, read}, threads: 1}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		_, err := p.outcome(t, seed)
		var f *device.Fault
		require.ErrorAs(t, err, &f)
		require.Equal(t, device.Race, f.Kind)
		require.Len(t, f.Others, 1)
		sides := []*device.Fault{f, f.Others[0]}
		if f.Device == 1 {
			slices.Reverse(sides)
		}
		for gpu, s := range sides {
			require.Equal(t, gpu, s.Device)
			require.Equal(t, fmt.Sprintf("rank %d", gpu), s.Label)
			require.Equal(t, []int{0, 0, 0}, []int{s.CTA, s.Warp, s.Lane})
			require.Equal(t, []string{"k", "test.ptx"}, []string{s.Kernel, s.File})
		}
		require.Equal(t, bodyLine(write, "st.global"), sides[0].Line)
		require.Equal(t, "st.global.u32 [a+4], x", sides[0].Text)
		require.Equal(t, bodyLine(read, "ld.global"), sides[1].Line)
		require.Equal(t, "shared +0x4", f.AddrLabel)
		require.Contains(t, f.Detail, fmt.Sprintf("seed %d", seed))
		_, again := p.outcome(t, seed)
		require.EqualError(t, again, err.Error())
		seen[f.Text] = true
	}
	require.Len(t, seen, 2, "either side may come last")
}

// A warp that ended is named too, also after another had its place.
func TestWeakRaceWithAnEndedKernel(t *testing.T) {
	l := newLab(t, sim.Config{Weak: &sim.Weak{}})
	other, err := l.devs[0].NewStream()
	require.NoError(t, err)
	l.launch(shape{threads: 64, label: "first"}, "setp.eq.u32 p, t, 40; @p st.global.u32 [a], 1;")
	for range 3 {
		l.launch(shape{threads: 64, label: "next"}, "mov.u32 x, t;")
	}
	done, err := l.streams[0].Query()
	for !done && err == nil {
		done, err = l.streams[0].Query()
	}
	require.NoError(t, err)
	// The host knows of all that now, so its launches on any stream do.
	l.streams[0] = other
	l.launch(shape{threads: 1, label: "late"}, "ld.global.u32 x, [a];")
	require.NoError(t, l.sync(0))

	// Not so what runs beside it.
	l = newLab(t, sim.Config{Weak: &sim.Weak{}})
	other, err = l.devs[0].NewStream()
	require.NoError(t, err)
	l.launch(shape{threads: 64, label: "first"}, "setp.eq.u32 p, t, 40; @p st.global.u32 [a], 1;")
	l.launch(shape{threads: 64, label: "next"}, "mov.u32 x, t;")
	first := l.streams[0]
	l.streams[0] = other
	l.launch(shape{threads: 1, label: "beside"}, "nanosleep.u32 100000;\nld.global.u32 x, [a];")
	err = l.sync(0)
	var f *device.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, "beside", f.Label)
	require.Equal(t, "first", f.Others[0].Label)
	require.Equal(t, []int{1, 8}, []int{f.Others[0].Warp, f.Others[0].Lane})
	require.Error(t, first.Synchronize(context.Background()))
}

// What orders streams and the host orders memory.
func TestWeakStreams(t *testing.T) {
	const store, load = "st.global.u32 [a], 5;", "ld.global.u32 x, [a];\nst.global.u32 [a+4], x;"
	for _, test := range []struct {
		name  string
		order func(l *lab, from, to device.Stream)
		races bool
	}{
		{"nothing", func(*lab, device.Stream, device.Stream) {}, true},
		{"the host", func(l *lab, from, _ device.Stream) { require.NoError(l, from.Synchronize(context.Background())) }, false},
		{"an event", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, from.Record(e))
			require.NoError(l, to.Wait(e))
		}, false},
		{"an event too early", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, to.Wait(e))
			require.NoError(l, from.Record(e))
		}, true},
		{"the host, by the event", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, from.Record(e))
			require.NoError(l, e.Synchronize(context.Background()))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, sim.Config{Weak: &sim.Weak{}, Seed: 2})
			from := l.streams[0]
			to, err := l.devs[0].NewStream()
			require.NoError(t, err)
			l.launch(shape{threads: 1}, store)
			test.order(l, from, to)
			l.streams[0] = to
			l.launch(shape{threads: 1}, load)
			err = errors.Join(to.Synchronize(context.Background()), from.Synchronize(context.Background()))
			if !test.races {
				require.NoError(t, err)
				require.Equal(t, []uint32{5, 5}, l.words(2))
				return
			}
			var f *device.Fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, device.Race, f.Kind)
		})
	}
}

// A captured copy is the replaying stream's, and comes after what that has done.
func TestWeakReplayedCopy(t *testing.T) {
	l := newLab(t, sim.Config{Weak: &sim.Weak{}})
	capturer, ok := l.streams[0].(device.Capturer)
	require.True(t, ok)
	require.NoError(t, capturer.BeginCapture())
	l.launch(shape{threads: 1}, "ld.global.u32 x, [a+64]; add.u32 x, x, 1; st.global.u32 [a], x;")
	require.NoError(t, l.streams[0].CopyAsync(l.out+64, l.out, 4))
	g, err := capturer.EndCapture()
	require.NoError(t, err)
	for range 6 {
		s, err := l.devs[0].NewStream()
		require.NoError(t, err)
		require.NoError(t, g.Launch(s))
		l.streams = append(l.streams, s)
	}
	for i := range l.streams {
		require.NoError(t, l.sync(i))
	}
	require.Equal(t, []uint32{6}, l.words(1))
}

// Copies are accesses too: those of the host, and those of streams.
func TestWeakCopies(t *testing.T) {
	spin := "mov.u32 x, 0; LOOP: add.u32 x, x, 1; setp.lt.u32 p, x, 20000; @p bra LOOP; "
	for _, test := range []struct {
		name string
		copy func(l *lab, beside device.Stream) error
		says string
	}{
		{"the host writes", func(l *lab, _ device.Stream) error { return l.devs[0].CopyIn(l.out, make([]byte, 64)) }, "a copy by the host"},
		{"the host reads", func(l *lab, _ device.Stream) error { return l.devs[0].CopyOut(make([]byte, 64), l.out) }, "a copy by the host"},
		{"a stream writes", func(l *lab, s device.Stream) error { return s.MemsetAsync(l.out, 0, 64) }, "a memset by a stream of GPU 0"},
		{"a stream reads", func(l *lab, s device.Stream) error { return s.CopyAsync(l.out+1024, l.out, 64) }, "a copy by a stream of GPU 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, sim.Config{Weak: &sim.Weak{}})
			beside, err := l.devs[0].NewStream()
			require.NoError(t, err)
			l.launch(shape{threads: 1, label: "kernel"}, "st.global.u32 [a], 1;"+spin+"st.global.u32 [a], 2;")
			done, err := l.streams[0].Query()
			require.NoError(t, err)
			require.False(t, done)
			err = test.copy(l, beside)
			if err == nil {
				err = errors.Join(beside.Synchronize(context.Background()), l.sync(0))
			}
			var f *device.Fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, device.Race, f.Kind)
			require.Contains(t, err.Error(), test.says)
			require.Contains(t, err.Error(), "kernel: k: ")

			// In its place it is right.
			l = newLab(t, sim.Config{Weak: &sim.Weak{}})
			l.launch(shape{threads: 1}, "st.global.u32 [a], 1;")
			require.NoError(t, l.sync(0))
			require.NoError(t, test.copy(l, l.streams[0]))
			l.launch(shape{threads: 1}, "ld.global.u32 x, [a]; st.global.u32 [a+4], x;")
			require.NoError(t, l.sync(0))
		})
	}
}

// The host's stores to pinned memory are strong, and what a kernel released there
// the host acquires.
func TestWeakHostMemory(t *testing.T) {
	for seed := range uint64(20) {
		l := newLab(t, sim.Config{Weak: &sim.Weak{}, Seed: seed})
		h, err := l.devs[0].AllocHost(64, "flags")
		require.NoError(t, err)
		l.launch(shape{threads: 1}, `
			POLL: ld.relaxed.sys.global.u32 x, [b];
			setp.eq.u32 p, x, 0;
			@p bra POLL;
			fence.acq_rel.sys;
			st.global.u32 [a], x;
			fence.acq_rel.sys;
			st.relaxed.sys.global.u32 [b+4], x;
			WAIT: ld.relaxed.sys.global.u32 x, [b];
			setp.ne.u32 p, x, 9;
			@p bra WAIT;`, l.out, h.Ptr())
		step := func() {
			done, err := l.streams[0].Query()
			require.NoError(t, err)
			require.False(t, done)
		}
		step()
		h.Store32(0, 3)
		for h.Load32(4) != 3 {
			step()
		}
		require.Equal(t, []uint32{3}, l.words(1), "what the kernel released")
		h.Store32(0, 9)
		require.NoError(t, l.sync(0))
	}
}

// A poll sees a write at last, and a poll that nothing ends is stuck.
func TestWeakPolls(t *testing.T) {
	p := &program{results: 1, bodies: []string{storeY, lines(pollY, "st.global.u32 [b], y;")}}
	require.Equal(t, []string{"1"}, p.outcomes(t, 50))
	p.bodies[0] = "st.relaxed.sys.global.u32 [a+256], 2;"
	require.Equal(t, []string{"stuck"}, p.outcomes(t, 5))
}

func TestWeakConfig(t *testing.T) {
	_, err := sim.New(sim.Config{Devices: []device.Info{smallGPU()}, Weak: &sim.Weak{Facts: 1 << 5}})
	require.ErrorContains(t, err, "Config.Weak.Facts is 0x20")
	require.Equal(t, "H1+H2+H3", sim.AllFacts.String())
	require.Equal(t, "none", sim.Facts(0).String())
	require.Equal(t, "H3", sim.OrderedVote.String())
}

// Memory of a granule that several threads use, in pieces of one byte.
func TestWeakManyOwnersOfAGranule(t *testing.T) {
	p := &program{threads: 64, results: 16, bodies: []string{`
		cvt.u64.u32 rx, t;
		add.u64 rx, rx, b;
		st.global.u8 [rx], t;
		ld.global.u8 x, [rx];
		setp.ne.u32 p, x, t;
		@p trap;
		st.global.u8 [rx], x;
		bar.sync 0;
		xor.b32 y, t, 7;
		cvt.u64.u32 rx, y;
		add.u64 rx, rx, b;
		ld.global.u8 x, [rx];
		setp.ne.u32 p, x, y;
		@p trap;
		bar.sync 0;
		st.global.u8 [rx], t;`}}
	var bytes [64]byte
	for i := range bytes {
		bytes[i] = byte(i ^ 7)
	}
	var want []uint32
	for i := 0; i < len(bytes); i += 4 {
		want = append(want, binary.LittleEndian.Uint32(bytes[i:]))
	}
	require.Equal(t, []string{strings.Trim(fmt.Sprint(want), "[]")}, p.outcomes(t, 10))
	p.bodies[0] = strings.Replace(p.bodies[0], "bar.sync 0;", "", 1)
	require.Equal(t, []string{"race"}, p.outcomes(t, 10))
}
