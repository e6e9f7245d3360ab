package devicetest

import (
	"fmt"
	"strings"
)

// inCTA makes a reference that sees CTAs.
func inCTA(r *row, ref func(g []thread)) *row {
	r.group = ctaThreads
	r.ref = ref
	return r
}

func barrierRows() []*row {
	rows := exchangeRows()
	rows = append(rows, reduceRows()...)
	rows = append(rows, producerRows()...)
	rows = append(rows, warpBarrierRows()...)
	return append(rows, fenceRows()...)
}

// exchange is code that hands each thread the a0 of a partner through shared
// memory, with the given barrier between store and load. The partner is t xor
// with.
func exchange(barrier string, with int) string {
	return fmt.Sprintf(`mov.u32 w0, sm;
mad.lo.u32 w1, t, 4, w0;
st.shared.u32 [w1], a0;
%s
xor.b32 w2, t, %d;
mad.lo.u32 w2, w2, 4, w0;
ld.shared.u32 d0, [w2];`, barrier, with)
}

func exchanged(with int) func(g []thread) {
	return func(g []thread) {
		for i, th := range g {
			th.d[0] = g[i^with].a[0]
		}
	}
}

// exchangeRows are the forms of bar and barrier that wait.
func exchangeRows() []*row {
	var rows []*row
	add := func(name, barrier string, with int) {
		rows = append(rows, inCTA(&row{
			name: name,
			decl: sharedDecl,
			code: exchange(barrier, with),
			in:   []*kind{u32},
			out:  []*kind{u32},
		}, exchanged(with)))
	}
	add("bar.sync/all", "bar.sync 0;", 127)
	add("bar.sync/named", "bar.sync 15;", 127)
	add("bar.sync/register", "mov.u32 w3, 7;\nbar.sync w3;", 127)
	add("bar.sync/counted", "bar.sync 3, 128;", 127)
	add("bar.cta.sync/all", "bar.cta.sync 1;", 127)
	add("barrier.sync/all", "barrier.sync 2;", 127)
	add("barrier.sync/counted", "mov.u32 w4, 128;\nbarrier.sync 2, w4;", 127)
	add("barrier.sync.aligned/all", "barrier.sync.aligned 2;", 127)
	add("barrier.cta.sync/all", "barrier.cta.sync 4;", 127)
	add("barrier.cta.sync.aligned/counted", "barrier.cta.sync.aligned 4, 128;", 127)
	// Halves of the CTA, each with its own barrier, the number in a register.
	add("bar.sync/halves", "shr.u32 w3, t, 6;\nadd.u32 w3, w3, 1;\nbar.sync w3, 64;", 63)
	// One warp alone.
	add("bar.sync/onewarp", "shr.u32 w3, t, 5;\nbar.sync w3, 32;", 31)
	// barrier without .aligned may be reached on different paths by the lanes of
	// a warp.
	add("barrier.sync/divergent", `and.b32 w3, t, 1;
setp.eq.u32 p, w3, 0;
@p bra EVEN;
barrier.sync 5;
bra JOIN;
EVEN:
barrier.sync 5;
JOIN:`, 127)
	// The barrier is ready for its next use at once.
	rows = append(rows, inCTA(&row{
		name: "bar.sync/repeated",
		decl: sharedDecl,
		code: `mov.u32 w0, sm;
mad.lo.u32 w1, t, 4, w0;
add.u32 w2, t, 1;
and.b32 w2, w2, 127;
mad.lo.u32 w2, w2, 4, w0;
mov.u32 d0, a0;
mov.u32 w3, 0;
AGAIN:
st.shared.u32 [w1], d0;
bar.sync 0;
ld.shared.u32 w4, [w2];
add.u32 d0, d0, w4;
bar.sync 0;
add.u32 w3, w3, 1;
setp.lt.u32 p, w3, 9;
@p bra AGAIN;`,
		in:  []*kind{u32},
		out: []*kind{u32},
	}, func(g []thread) {
		v := make([]uint64, len(g))
		for i := range g {
			v[i] = g[i].a[0]
		}
		for range 9 {
			next := make([]uint64, len(v))
			for i := range v {
				next[i] = mask(v[i]+v[(i+1)%len(v)], 32)
			}
			v = next
		}
		for i := range g {
			g[i].d[0] = v[i]
		}
	}))
	// Lanes that have left do not hold up their warp.
	// Who only arrives goes on at once: here the others come to the barrier only
	// when they have heard of it.
	rows = append(rows, inCTA(&row{
		name: "bar.arrive/goes-on",
		decl: ".shared .align 4 .u32 flag;",
		code: `setp.eq.u32 p, t, 0;
@p st.shared.u32 [flag], 0;
bar.sync 0;
setp.lt.u32 p, t, 64;
@p bra WAIT;
bar.arrive 1, 128;
setp.eq.u32 p, t, 64;
@p st.volatile.shared.u32 [flag], 1;
bra JOIN;
WAIT:
ld.volatile.shared.u32 w0, [flag];
setp.eq.u32 q, w0, 0;
@q bra WAIT;
bar.sync 1, 128;
JOIN:
mov.u32 d0, a0;`,
		in:  []*kind{u32},
		out: []*kind{u32},
	}, exchanged(0)))
	return append(rows, inCTA(&row{
		name: "bar.sync/exited",
		decl: sharedDecl,
		code: "and.b32 w3, t, 1;\nsetp.eq.u32 p, w3, 1;\n@p exit;\n" + exchange("bar.sync 0;", 126),
		in:   []*kind{u32},
		out:  []*kind{u32},
	}, func(g []thread) {
		exchanged(126)(g)
		for i := 1; i < len(g); i += 2 {
			g[i].leave(u32)
		}
	}))
}

// reduceRows are bar.red and barrier.red.
func reduceRows() []*row {
	var rows []*row
	// spread makes CTAs that agree and CTAs that do not.
	spread := func(i int, a []uint64) {
		switch i / ctaThreads % 4 {
		case 0:
			a[0] = 1
		case 1:
			a[0] = 0
		case 2:
			a[0] = truth(i%ctaThreads == 77)
		}
	}
	add := func(name, code string, out *kind, members int, not bool) {
		rows = append(rows, inCTA(&row{
			name:   name,
			code:   code,
			in:     []*kind{pred},
			out:    []*kind{out},
			inputs: spread,
		}, func(g []thread) {
			for first := 0; first < len(g); first += members {
				set := 0
				for _, th := range g[first : first+members] {
					set += int(truth(th.a[0] != 0 != not))
				}
				for _, th := range g[first : first+members] {
					switch {
					case out == u32:
						th.d[0] = uint64(set)
					case strings.Contains(name, ".red.and"):
						th.d[0] = truth(set == members)
					default:
						th.d[0] = truth(set > 0)
					}
				}
			}
		}))
	}
	for _, op := range []string{"bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"} {
		variants := []string{""}
		if strings.HasPrefix(op, "barrier") {
			variants = append(variants, ".aligned")
		}
		for _, a := range variants {
			add(op+".popc"+a+"/u32", op+".popc"+a+".u32 d0, 0, a0;", u32, ctaThreads, false)
			add(op+".and"+a+"/pred", op+".and"+a+".pred d0, 1, a0;", pred, ctaThreads, false)
			add(op+".or"+a+"/pred", op+".or"+a+".pred d0, 2, a0;", pred, ctaThreads, false)
		}
		add(op+".popc.not/u32", op+".popc.u32 d0, 3, !a0;", u32, ctaThreads, true)
		add(op+".and.not/pred", op+".and.pred d0, 3, !a0;", pred, ctaThreads, true)
		add(op+".or.not/pred", op+".or.pred d0, 3, !a0;", pred, ctaThreads, true)
		add(op+".popc.counted/u32", "shr.u32 w3, t, 6;\n"+op+".popc.u32 d0, w3, 64, a0;", u32, 64, false)
		add(op+".and.counted/pred", "shr.u32 w3, t, 6;\n"+op+".and.pred d0, w3, 64, a0;", pred, 64, false)
		add(op+".or.counted/pred", op+".or.pred d0, 9, 128, a0;", pred, 128, false)
	}
	return rows
}

// producerRows let the upper half of a CTA hand values to the lower half, nine
// times through one buffer: full is barrier 1, empty is barrier 2; who has
// nothing to wait for only arrives.
func producerRows() []*row {
	var rows []*row
	for _, form := range [][2]string{{"bar", ""}, {"bar.cta", ""}, {"barrier", ""}, {"barrier.cta", ".aligned"}} {
		op, aligned := form[0], form[1]
		rows = append(rows, inCTA(&row{
			name: op + ".arrive" + aligned + "/producer",
			decl: sharedDecl,
			code: fmt.Sprintf(`mov.u32 w0, sm;
and.b32 w1, t, 63;
mad.lo.u32 w1, w1, 4, w0;
mov.u32 d0, 0;
mov.u32 w2, 0;
setp.ge.u32 p, t, 64;
@p bra PRODUCE;
CONSUME:
%[1]s.sync%[2]s 1, 128;
ld.shared.u32 w3, [w1];
mad.lo.u32 d0, d0, 3, w3;
%[1]s.arrive%[2]s 2, 128;
add.u32 w2, w2, 1;
setp.lt.u32 q, w2, 9;
@q bra CONSUME;
bra JOIN;
PRODUCE:
add.u32 w3, a0, w2;
st.shared.u32 [w1], w3;
%[1]s.arrive%[2]s 1, 128;
%[1]s.sync%[2]s 2, 128;
add.u32 w2, w2, 1;
setp.lt.u32 q, w2, 9;
@q bra PRODUCE;
JOIN:`, op, aligned),
			in:  []*kind{u32},
			out: []*kind{u32},
		}, func(g []thread) {
			for i := range 64 {
				sum := uint64(0)
				for k := range uint64(9) {
					sum = mask(sum*3+g[i+64].a[0]+k, 32)
				}
				g[i].d[0] = sum
			}
		}))
	}
	return rows
}

// warpBarrierRows are bar.warp.sync, for all lanes and for some.
func warpBarrierRows() []*row {
	return []*row{
		inCTA(&row{
			name: "bar.warp.sync/all",
			decl: sharedDecl,
			code: exchange("bar.warp.sync 0xffffffff;", 31),
			in:   []*kind{u32},
			out:  []*kind{u32},
		}, exchanged(31)),
		inCTA(&row{
			name: "bar.warp.sync/partial",
			decl: sharedDecl,
			// Odd and even lanes meet among themselves, on different paths.
			code: exchange(`and.b32 w3, t, 1;
setp.eq.u32 p, w3, 0;
@p bra EVEN;
mov.u32 w4, 0xaaaaaaaa;
bar.warp.sync w4;
bra JOIN;
EVEN:
bar.warp.sync 0x55555555;
JOIN:`, 30),
			in:  []*kind{u32},
			out: []*kind{u32},
		}, exchanged(30)),
		inCTA(&row{
			name: "bar.warp.sync/divergent",
			decl: sharedDecl,
			// All lanes meet, on two paths.
			code: exchange(`and.b32 w3, t, 1;
setp.eq.u32 p, w3, 0;
@p bra EVEN;
bar.warp.sync 0xffffffff;
bra JOIN;
EVEN:
bar.warp.sync 0xffffffff;
JOIN:`, 31),
			in:  []*kind{u32},
			out: []*kind{u32},
		}, exchanged(31)),
	}
}

// fences lists every form of fence and membar with what it needs, and whether
// it orders memory among the threads of a CTA.
var fences = []struct {
	text   string
	isa    isa
	orders bool
}{
	{"membar.cta", baseline, true},
	{"membar.gl", baseline, true},
	{"membar.sys", baseline, true},
	{"fence.cta", baseline, true},
	{"fence.gpu", baseline, true},
	{"fence.sys", baseline, true},
	{"fence.cluster", hopper, true},
	{"fence.acq_rel.cta", baseline, true},
	{"fence.acq_rel.gpu", baseline, true},
	{"fence.acq_rel.sys", baseline, true},
	{"fence.acq_rel.cluster", hopper, true},
	{"fence.sc.cta", baseline, true},
	{"fence.sc.gpu", baseline, true},
	{"fence.sc.sys", baseline, true},
	{"fence.sc.cluster", hopper, true},
	{"fence.proxy.alias", baseline, false},
	{"fence.proxy.async", hopper80, false},
	{"fence.proxy.async.global", hopper80, false},
	{"fence.proxy.async.shared::cta", hopper80, false},
	{"fence.proxy.async.shared::cluster", hopper80, false},
}

// fenceRows pass a message from the upper half of a CTA to the lower half: data,
// fence, flag; flag, fence, data. Each lane polls for itself.
func fenceRows() []*row {
	message := func(name string, is isa, publish, poll, after string) *row {
		return inCTA(&row{
			name:    name,
			isa:     is,
			threads: ctaThreads,
			code: fmt.Sprintf(`and.b32 w0, t, 63;
mad.wide.u32 r0, w0, 16, mem;
mov.u32 d0, 0;
setp.ge.u32 p, t, 64;
@p bra PRODUCE;
POLL:
%s.global.u32 w1, [r0+8];
setp.eq.u32 q, w1, 0;
@q bra POLL;
%s
ld.global.u32 d0, [r0];
bra JOIN;
PRODUCE:
st.global.u32 [r0], a0;
%s.global.u32 [r0+8], 1;
JOIN:`, poll, after, publish),
			in:  []*kind{u32},
			out: []*kind{u32},
		}, func(g []thread) {
			for i := range 64 {
				g[i].d[0] = g[i+64].a[0]
			}
		})
	}
	var rows []*row
	for _, f := range fences {
		first := f.text
		if !f.orders {
			first += ";\nfence.acq_rel.cta" // the form under test only has to run
		}
		rows = append(rows, message(f.text+"/message", f.isa,
			first+";\nst.relaxed.gpu", "ld.relaxed.gpu", first+";"))
	}
	for _, scope := range scopes {
		rows = append(rows, message("st.release"+scope+"+ld.acquire"+scope+"/message", baseline,
			"st.release"+scope, "ld.acquire"+scope, ""))
	}
	for _, scope := range append([]string{".cluster"}, scopes...) {
		rows = append(rows, message("fence.release"+scope+"+fence.acquire"+scope+"/message", hopper86,
			"fence.release"+scope+";\nst.relaxed.gpu", "ld.relaxed.gpu", "fence.acquire"+scope+";"))
	}
	return append(rows, message("st.volatile+ld.volatile/message", baseline,
		"fence.acq_rel.sys;\nst.volatile", "ld.volatile", "fence.acq_rel.sys;"))
}
