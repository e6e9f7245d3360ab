package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/sim"
)

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
