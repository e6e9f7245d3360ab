package devicetest

import (
	"fmt"
	"math/big"
)

// inWarp makes a reference that sees lanes.
func inWarp(r *row, ref func(g []thread)) *row {
	r.group = warpLanes
	r.ref = ref
	return r
}

func warpRows() []*row {
	rows := shuffleRows()
	rows = append(rows, voteRows()...)
	rows = append(rows, matchRows()...)
	rows = append(rows, reduxRows()...)
	rows = append(rows, divergentRows()...)
	return append(rows, activeRows()...)
}

// divergentRows have the lanes of a warp come to one operation on two paths,
// all of them in the member mask: they wait for one another.
func divergentRows() []*row {
	divergent := func(op, typ string, is isa, operation string, ref func(g []thread)) *row {
		return inWarp(&row{
			name: op + ".divergent/" + typ,
			isa:  is,
			code: fmt.Sprintf(`and.b32 w0, t, 2;
setp.eq.u32 p, w0, 0;
@p bra OTHER;
%[1]s
bra JOIN;
OTHER:
add.u32 w1, w0, 1;
%[1]s
JOIN:`, operation),
			in:     []*kind{b32},
			out:    []*kind{b32},
			inputs: func(i int, a []uint64) { a[0] %= 64 },
		}, ref)
	}
	return []*row{
		divergent("shfl.sync.bfly", "b32", baseline, "shfl.sync.bfly.b32 d0, a0, 31, 0x1f, 0xffffffff;", func(g []thread) {
			for i, th := range g {
				th.d[0] = g[i^31].a[0]
			}
		}),
		divergent("vote.sync.ballot", "b32", baseline, "setp.lt.u32 q, a0, 32;\nvote.sync.ballot.b32 d0, q, 0xffffffff;", func(g []thread) {
			for _, th := range g {
				th.d[0] = bitwise(warpLanes, func(j int) uint64 { return truth(g[j].a[0] < 32) })
			}
		}),
		divergent("match.any.sync", "b32", baseline, "match.any.sync.b32 d0, a0, 0xffffffff;", func(g []thread) {
			for _, th := range g {
				th.d[0] = bitwise(warpLanes, func(j int) uint64 { return truth(g[j].a[0] == th.a[0]) })
			}
		}),
		divergent("redux.sync.add", "u32", ampere, "redux.sync.add.u32 d0, a0, 0xffffffff;", func(g []thread) {
			var sum uint64
			for _, th := range g {
				sum += th.a[0]
			}
			for _, th := range g {
				th.d[0] = sum
			}
		}),
	}
}

// shuffleSource is the lane that lane reads from, and whether it is in range
// (PTX ISA, shfl.sync).
func shuffleSource(mode string, lane, b, c int) (from int, inRange bool) {
	step, clamp, segment := b&31, c&31, c>>8&31
	top := lane&segment | clamp&^segment
	switch mode {
	case "up":
		from = lane - step
		inRange = from >= top
	case "down":
		from = lane + step
		inRange = from <= top
	case "bfly":
		from = lane ^ step
		inRange = from <= top
	case "idx":
		from = lane&segment | step&^segment
		inRange = from <= top
	}
	if !inRange {
		from = lane
	}
	return from, inRange
}

var shuffleModes = []string{"up", "down", "bfly", "idx"}

// clampFor returns a c operand: whole warp, or segments of 16, 8, 4, 2 or 1,
// sometimes with a smaller clamp.
func clampFor(mode string, i int) uint64 {
	segment := []uint64{0, 0x10, 0x18, 0x1c, 0x1e, 0x1f}[i%6]
	clamp := uint64(0x1f)
	if mode == "up" {
		clamp = 0
	}
	if i%7 == 3 {
		clamp = uint64(i) * 5 % 32
	}
	return segment<<8 | clamp
}

func shuffleRows() []*row {
	var rows []*row
	for _, mode := range shuffleModes {
		shuffled := func(g []thread, i int) (uint64, uint64) {
			from, ok := shuffleSource(mode, i, int(g[i].a[1]), int(g[i].a[2]))
			return g[from].a[0], truth(ok)
		}
		// Every lane has its own b; c is one for the warp or differs too.
		inputs := func(i int, a []uint64) {
			a[2] = clampFor(mode, i/warpLanes)
			if i/warpLanes%2 == 1 {
				a[2] = clampFor(mode, i)
			}
		}
		rows = append(rows,
			inWarp(&row{
				name:   "shfl.sync." + mode + ".pred/b32",
				code:   fmt.Sprintf("shfl.sync.%s.b32 d0|d1, a0, a1, a2, 0xffffffff;", mode),
				in:     []*kind{b32, amount, b32},
				out:    []*kind{b32, pred},
				inputs: inputs,
			}, func(g []thread) {
				for i, th := range g {
					th.d[0], th.d[1] = shuffled(g, i)
				}
			}),
			inWarp(&row{
				name:   "shfl.sync." + mode + "/b32",
				code:   fmt.Sprintf("mov.u32 w1, -1;\nshfl.sync.%s.b32 d0, a0, a1, a2, w1;", mode),
				in:     []*kind{b32, amount, b32},
				out:    []*kind{b32},
				inputs: inputs,
			}, func(g []thread) {
				for i, th := range g {
					th.d[0], _ = shuffled(g, i)
				}
			}),
			inWarp(&row{
				name: "shfl.sync." + mode + ".imm/b32",
				code: fmt.Sprintf("shfl.sync.%s.b32 d0|d1, a0, 3, %d, 0xffffffff;", mode, clampFor(mode, 2)),
				in:   []*kind{b32},
				out:  []*kind{b32, pred},
			}, func(g []thread) {
				for i, th := range g {
					from, ok := shuffleSource(mode, i, 3, int(clampFor(mode, 2)))
					th.d[0], th.d[1] = g[from].a[0], truth(ok)
				}
			}),
		)
	}
	// Only some lanes take part: those of the member mask; the others do
	// something else meanwhile. The destination may be a source.
	rows = append(rows, inWarp(&row{
		name: "shfl.sync.bfly.partial/b32",
		code: `mov.u32 w0, %laneid;
and.b32 w1, w0, 4;
setp.ne.u32 p, w1, 0;
mov.b32 d0, a0;
@p bra OTHERS;
shfl.sync.bfly.b32 d0, d0, 3, 0x1f, 0x0f0f0f0f;
bra JOIN;
OTHERS:
shfl.sync.bfly.b32 d0, d0, 8, 0x1f, 0xf0f0f0f0;
JOIN:`,
		in:  []*kind{b32},
		out: []*kind{b32},
	}, func(g []thread) {
		for i, th := range g {
			if i&4 != 0 {
				th.d[0] = g[i^8].a[0]
			} else {
				th.d[0] = g[i^3].a[0]
			}
		}
	}))
	return append(rows, inWarp(&row{
		name: "shfl.sync.down.predicated/b32",
		code: `mov.u32 w0, %laneid;
setp.lt.u32 p, w0, 16;
mov.b32 d0, 7;
@p shfl.sync.down.b32 d0, a0, 1, 0x0f, 0x0000ffff;`,
		in:  []*kind{b32},
		out: []*kind{b32},
	}, func(g []thread) {
		for i, th := range g {
			th.d[0] = 7
			if i < 16 {
				th.d[0] = g[min(i+1, 15)].a[0]
			}
		}
	}))
}

// mixedPredicates makes warps that agree and warps that do not.
func mixedPredicates(i int, a []uint64) {
	switch i / warpLanes % 4 {
	case 0:
		a[0] = 1
	case 1:
		a[0] = 0
	case 2:
		a[0] = truth(i%warpLanes == i/warpLanes%warpLanes)
	}
}

func voteRows() []*row {
	var rows []*row
	vote := func(mode, source string, not bool) {
		out, typ := pred, "pred"
		if mode == "ballot" {
			out, typ = b32, "b32"
		}
		name := "vote.sync." + mode
		if not {
			name += ".not"
		}
		rows = append(rows, inWarp(&row{
			name:   name + "/" + typ,
			code:   fmt.Sprintf("vote.sync.%s.%s d0, %s, 0xffffffff;", mode, typ, source),
			in:     []*kind{pred},
			out:    []*kind{out},
			inputs: mixedPredicates,
		}, func(g []thread) {
			ballot := bitwise(warpLanes, func(i int) uint64 { return truth(g[i].a[0] != 0 != not) })
			for _, th := range g {
				switch mode {
				case "all":
					th.d[0] = truth(ballot == 0xffffffff)
				case "any":
					th.d[0] = truth(ballot != 0)
				case "uni":
					th.d[0] = truth(ballot == 0 || ballot == 0xffffffff)
				case "ballot":
					th.d[0] = ballot
				}
			}
		}))
	}
	for _, mode := range []string{"all", "any", "uni", "ballot"} {
		vote(mode, "a0", false)
		vote(mode, "!a0", true)
	}
	return append(rows, inWarp(&row{
		name: "vote.sync.ballot.partial/b32",
		code: `mov.u32 w0, %laneid;
and.b32 w1, w0, 1;
setp.ne.u32 p, w1, 0;
@p bra ODD;
vote.sync.ballot.b32 d0, a0, 0x55555555;
bra JOIN;
ODD:
mov.u32 w2, 0xaaaaaaaa;
vote.sync.ballot.b32 d0, a0, w2;
JOIN:`,
		in:  []*kind{pred},
		out: []*kind{b32},
	}, func(g []thread) {
		for i, th := range g {
			th.d[0] = bitwise(warpLanes, func(j int) uint64 { return truth(j%2 == i%2 && g[j].a[0] != 0) })
		}
	}))
}

func matchRows() []*row {
	var rows []*row
	for _, k := range []*kind{b32, b64} {
		inputs := func(i int, a []uint64) {
			a[0] = uint64(i*i) % 5 << (k.bits - 4)
			if i/warpLanes%3 == 0 {
				a[0] = mask(^uint64(0), k.bits)
			}
		}
		equal := func(g []thread, i int) uint64 {
			return bitwise(warpLanes, func(j int) uint64 { return truth(g[j].a[0] == g[i].a[0]) })
		}
		rows = append(rows,
			inWarp(&row{
				name:   "match.any.sync/" + k.name,
				code:   fmt.Sprintf("match.any.sync.%s d0, a0, 0xffffffff;", k.name),
				in:     []*kind{k},
				out:    []*kind{b32},
				inputs: inputs,
			}, func(g []thread) {
				for i, th := range g {
					th.d[0] = equal(g, i)
				}
			}),
			inWarp(&row{
				name:   "match.all.sync/" + k.name,
				code:   fmt.Sprintf("match.all.sync.%s d0|d1, a0, 0xffffffff;", k.name),
				in:     []*kind{k},
				out:    []*kind{b32, pred},
				inputs: inputs,
			}, func(g []thread) {
				for i, th := range g {
					if equal(g, i) == 0xffffffff {
						th.d[0], th.d[1] = 0xffffffff, 1
					}
				}
			}),
		)
	}
	return rows
}

func reduxRows() []*row {
	var rows []*row
	redux := func(op string, k *kind, f func(x []*big.Int) *big.Int) {
		rows = append(rows, inWarp(&row{
			name: "redux.sync." + op + "/" + k.name,
			code: fmt.Sprintf("redux.sync.%s.%s d0, a0, 0xffffffff;", op, k.name),
			isa:  ampere,
			in:   []*kind{k},
			out:  []*kind{k},
		}, func(g []thread) {
			acc := bigOf(g[0].a[0], 32, k.signed)
			for _, th := range g[1:] {
				acc = f([]*big.Int{acc, bigOf(th.a[0], 32, k.signed)})
			}
			for _, th := range g {
				th.d[0] = wrapBig(acc, 32)
			}
		}))
	}
	for _, k := range []*kind{u32, s32} {
		redux("add", k, bigAdd)
		redux("min", k, bigMin)
		redux("max", k, bigMax)
	}
	redux("and", b32, func(x []*big.Int) *big.Int { return new(big.Int).And(x[0], x[1]) })
	redux("or", b32, func(x []*big.Int) *big.Int { return new(big.Int).Or(x[0], x[1]) })
	redux("xor", b32, func(x []*big.Int) *big.Int { return new(big.Int).Xor(x[0], x[1]) })
	return append(rows, inWarp(&row{
		name: "redux.sync.add.partial/u32",
		isa:  ampere,
		code: "mov.u32 w0, %laneid;\nsetp.lt.u32 p, w0, 5;\nmov.u32 d0, 1;\n@p redux.sync.add.u32 d0, a0, 0x1f;",
		in:   []*kind{u32},
		out:  []*kind{u32},
	}, func(g []thread) {
		var sum uint64
		for _, th := range g[:5] {
			sum += th.a[0]
		}
		for i, th := range g {
			th.d[0] = 1
			if i < 5 {
				th.d[0] = mask(sum, 32)
			}
		}
	}))
}

// activeRows are activemask and elect, where the ISA fixes only some of the
// answer.
func activeRows() []*row {
	return []*row{{
		name: "activemask/b32",
		code: `and.b32 w0, t, 1;
setp.ne.u32 p, w0, 0;
@p bra ODD;
activemask.b32 d0;
bra JOIN;
ODD:
activemask.b32 d0;
JOIN:`,
		out:   []*kind{b32},
		group: wholeGrid,
		check: func(g []thread, _ []byte) error {
			for i, th := range g {
				branch := uint64(0x55555555) << (i % 2)
				if th.d[0]&^branch != 0 || bit(th.d[0], i%warpLanes) == 0 {
					return fmt.Errorf("lane %d of %#x is active with %#x", i%warpLanes, branch, th.d[0])
				}
			}
			return nil
		},
	}, {
		name:  "elect.sync/b32",
		code:  "elect.sync d0|d1, 0xffffffff;",
		isa:   hopper80,
		out:   []*kind{b32, pred},
		group: wholeGrid,
		check: func(g []thread, _ []byte) error {
			for first := 0; first < len(g); first += warpLanes {
				leader := g[first].d[0]
				for lane, th := range g[first : first+warpLanes] {
					if th.d[0] != leader || th.d[1] != truth(uint64(lane) == leader) {
						return fmt.Errorf("lane %d: leader %d, elected %d; lane 0 says %d", lane, th.d[0], th.d[1], leader)
					}
				}
				if leader >= warpLanes {
					return fmt.Errorf("lane %d cannot lead", leader)
				}
			}
			return nil
		},
	}}
}
