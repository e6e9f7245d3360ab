package sim_test

import (
	"encoding/binary"
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
