package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

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
