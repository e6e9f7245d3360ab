package devicetest

import (
	"fmt"
	"strings"
)

func controlRows() []*row {
	rows := guardRows()
	rows = append(rows, branchRows()...)
	rows = append(rows, leaveRows()...)
	rows = append(rows, indexRows()...)
	return append(rows, clockRows()...)
}

// guardRows put a predicate before an instruction of every kind: where it is
// false nothing may happen.
func guardRows() []*row {
	kinds := []struct {
		name, decl, code string // computes d0 from a0
		f                func(x uint64) uint64
	}{
		{"add", "", "add.u32 d0, a0, 1;", func(x uint64) uint64 { return x + 1 }},
		{"mad", "", "mad.lo.u32 d0, a0, 3, 5;", func(x uint64) uint64 { return x*3 + 5 }},
		{"mov", "", "mov.u32 d0, a0;", func(x uint64) uint64 { return x }},
		{"shl", "", "shl.b32 d0, a0, 4;", func(x uint64) uint64 { return x << 4 }},
		{"lop3", "", "lop3.b32 d0, a0, a0, a0, 0x01;", func(x uint64) uint64 { return ^x }},
		{"cvt", "", "cvt.u32.u8 d0, a0;", func(x uint64) uint64 { return x & 0xff }},
		{"selp", "", "selp.u32 d0, 4, 5, q;", func(uint64) uint64 { return 5 }},
		{"set", "", "set.eq.u32.u32 d0, a0, a0;", func(uint64) uint64 { return 0xffffffff }},
		{"div", "", "div.u32 d0, a0, 10;", func(x uint64) uint64 { return x / 10 }},
		{"mul.f32", "", "mul.rn.f32 d0, 0f40000000, 0f3FC00000;", func(uint64) uint64 { return 0x40400000 }},
		{"ld", "", "ld.global.u32 d0, [ain];", func(x uint64) uint64 { return x }},
		{"ld.param", "", "ld.param.u32 d0, [p_blob];", func(uint64) uint64 { return littleEndian(blob, 0, 4) }},
		{"st", sharedDecl, "st.shared.u32 [r0], a0;\nld.shared.u32 d0, [r0];", func(x uint64) uint64 { return x }},
		{"atom", sharedDecl, "atom.shared.add.u32 d0, [r0], a0;\nld.shared.u32 d0, [r0];", func(x uint64) uint64 { return x + 1234 }},
		{"red", sharedDecl, "red.shared.or.b32 [r0], a0;\nld.shared.u32 d0, [r0];", func(x uint64) uint64 { return x | 1234 }},
	}
	var rows []*row
	for _, k := range kinds {
		for _, not := range []bool{false, true} {
			guard := "@a1 "
			if not {
				guard = "@!a1 "
			}
			setup := "mov.u32 d0, 1234;\nsetp.ne.u32 q, a0, a0;\n"
			lines := strings.Split(k.code, "\n")
			lines[0] = guard + lines[0] // a load that follows shows what memory holds
			if k.decl != "" {
				setup += sharedAddr + "st.shared.u32 [r0], 1234;\n"
			}
			if k.name == "atom" {
				lines[0] = strings.Replace(lines[0], "d0", "w5", 1)
			}
			rows = append(rows, &row{
				name: fmt.Sprintf("%s%s/u32", guard[:len(guard)-3], k.name),
				decl: k.decl,
				code: setup + strings.Join(lines, "\n"),
				in:   []*kind{u32, pred},
				out:  []*kind{u32},
				ref: one(func(a []uint64) uint64 {
					if a[1] != 0 != not {
						return mask(k.f(a[0]), 32)
					}
					return 1234
				}),
			})
		}
	}
	// A guarded access to an address that does not exist must not happen.
	rows = append(rows, &row{
		name: "@ld.invalid/u32",
		code: "mov.u32 d0, 9;\nselp.u64 r0, ain, 8, a1;\n@a1 ld.global.u32 d0, [r0];\n@a1 st.global.u32 [r0], d0;",
		in:   []*kind{u32, pred},
		out:  []*kind{u32},
		ref: one(func(a []uint64) uint64 {
			if a[1] != 0 {
				return a[0]
			}
			return 9
		}),
	})
	// A guarded setp leaves both predicates alone.
	return append(rows, &row{
		name: "@setp/u32",
		code: "setp.eq.u32 d0|d1, a0, a0;\n@a1 setp.ne.u32 d0|d1, a0, a0;\n@!a1 setp.lt.u32 d2, a0, 100;\n@a1 setp.ge.u32 d2, a0, 100;",
		in:   []*kind{u32, pred},
		out:  repeat(pred, 3),
		ref: each(func(a, d []uint64) {
			d[0], d[1] = 1-a[1], a[1]
			d[2] = truth(a[0] < 100 == (a[1] == 0))
		}),
	})
}

// branchRows diverge and come together again.
func branchRows() []*row {
	small := func(_ int, a []uint64) {
		for i := range a {
			a[i] %= 1000
		}
	}
	return []*row{
		{
			name: "bra/if-else",
			code: `setp.gt.u32 p, a0, a1;
@p bra MORE;
sub.u32 d0, a1, a0;
bra JOIN;
MORE:
sub.u32 d0, a0, a1;
JOIN:
add.u32 d0, d0, 1;`,
			in: repeat(u32, 2), out: []*kind{u32},
			ref: one(func(a []uint64) uint64 { return mask(max(a[0], a[1])-min(a[0], a[1])+1, 32) }),
		},
		{
			name: "bra/loop", // each lane its own number of turns
			code: `mov.u32 d0, 0;
mov.u32 w0, a0;
bra TEST;
TURN:
mad.lo.u32 d0, d0, 31, w0;
sub.u32 w0, w0, 1;
TEST:
setp.ne.u32 p, w0, 0;
@p bra TURN;`,
			in: repeat(u32, 1), out: []*kind{u32}, threads: ctaThreads,
			inputs: func(_ int, a []uint64) { a[0] %= 67 },
			ref: one(func(a []uint64) uint64 {
				var d uint64
				for n := a[0]; n != 0; n-- {
					d = mask(d*31+n, 32)
				}
				return d
			}),
		},
		{
			name: "bra/nested", // the greatest common divisor, then steps of 3n+1
			code: `add.u32 w0, a0, 1;
add.u32 w1, a1, 1;
GCD:
rem.u32 w2, w0, w1;
mov.u32 w0, w1;
mov.u32 w1, w2;
setp.ne.u32 p, w1, 0;
@p bra GCD;
mov.u32 d0, w0;
add.u32 w3, w0, a0;
add.u32 w3, w3, 1;
mov.u32 d1, 0;
STEP:
setp.le.u32 p, w3, 1;
@p bra DONE;
and.b32 w4, w3, 1;
setp.eq.u32 q, w4, 0;
@q bra HALVE;
mad.lo.u32 w3, w3, 3, 1;
bra NEXT;
HALVE:
shr.u32 w3, w3, 1;
NEXT:
add.u32 d1, d1, 1;
bra.uni STEP;
DONE:`,
			in: repeat(u32, 2), out: repeat(u32, 2), inputs: small, threads: ctaThreads,
			ref: each(func(a, d []uint64) {
				x, y := a[0]+1, a[1]+1
				for y != 0 {
					x, y = y, x%y
				}
				d[0] = x
				for n := x + a[0] + 1; n > 1; d[1]++ {
					if n%2 == 0 {
						n /= 2
					} else {
						n = 3*n + 1
					}
				}
			}),
		},
		{
			name: "bra/uniform",
			code: "mov.u32 d0, 1;\nbra.uni OVER;\nmov.u32 d0, 2;\nOVER: add.u32 d0, d0, a0;",
			in:   repeat(u32, 1), out: []*kind{u32},
			ref: one(func(a []uint64) uint64 { return mask(a[0]+1, 32) }),
		},
		// A lane waits for what another lane of its warp writes later on another
		// path: threads make progress independently.
		{
			name: "bra/independent-progress",
			code: `mad.wide.u32 r0, t, 4, mem;
xor.b32 w0, t, 1;
mad.wide.u32 r1, w0, 4, mem;
and.b32 w1, t, 1;
setp.eq.u32 p, w1, 0;
@p bra WAIT;
add.u32 w2, a0, 1;
st.relaxed.gpu.global.u32 [r0], w2;
bra WAIT;
WAIT:
setp.ne.u32 q, w1, 0;
@q bra DONE;
POLL:
ld.relaxed.gpu.global.u32 w3, [r1];
setp.eq.u32 q, w3, 0;
@q bra POLL;
add.u32 w3, w3, 1;
st.relaxed.gpu.global.u32 [r0], w3;
bra JOIN;
DONE:
ld.relaxed.gpu.global.u32 w3, [r1];
setp.eq.u32 q, w3, 0;
@q bra DONE;
JOIN:
mov.u32 d0, w3;`,
			in: repeat(u32, 1), out: []*kind{u32}, threads: ctaThreads, group: ctaThreads,
			inputs: small,
			ref: func(g []thread) {
				for i, th := range g {
					th.d[0] = g[i|1].a[0] + 2
				}
			},
		},
	}
}

// leaveRows end some threads early; their records stay as they were.
func leaveRows() []*row {
	var rows []*row
	for _, op := range []string{"ret", "ret.uni", "exit"} {
		rows = append(rows, &row{
			name: op + "/guarded",
			code: "setp.lt.u32 p, a0, a1;\n@p " + op + ";\nsub.u32 d0, a0, a1;",
			in:   repeat(u32, 2), out: []*kind{u32},
			ref: func(g []thread) {
				for _, th := range g {
					th.d[0] = mask(th.a[0]-th.a[1], 32)
					if th.a[0] < th.a[1] {
						th.leave(u32)
					}
				}
			},
		}, &row{
			name: op + "/loop",
			code: "mov.u32 d0, 0;\nTURN:\nadd.u32 d0, d0, 1;\nsetp.eq.u32 p, d0, a0;\n@p " + op +
				";\nsetp.lt.u32 q, d0, 20;\n@q bra TURN;",
			in: repeat(u32, 1), out: []*kind{u32}, threads: ctaThreads,
			inputs: func(_ int, a []uint64) { a[0] %= 40 },
			ref: func(g []thread) {
				for _, th := range g {
					th.d[0] = 20
					if th.a[0] >= 1 && th.a[0] <= 20 {
						th.leave(u32)
					}
				}
			},
		})
	}
	return rows
}

// indexRows read the special registers that say where a thread is.
func indexRows() []*row {
	read := func(reg string, want func(i, n int) uint64) *row {
		return &row{
			name: "mov/" + reg,
			code: fmt.Sprintf("mov.u32 d0, %s;", reg),
			out:  []*kind{u32}, threads: gridThreads, group: wholeGrid,
			ref: func(g []thread) {
				for i, th := range g {
					th.d[0] = want(i, len(g))
				}
			},
		}
	}
	constant := func(x uint64) func(i, n int) uint64 { return func(int, int) uint64 { return x } }
	lane := func(f func(lane, j int) bool) func(i, n int) uint64 {
		return func(i, _ int) uint64 {
			return bitwise(warpLanes, func(j int) uint64 { return truth(f(i%warpLanes, j)) })
		}
	}
	rows := []*row{
		read("%tid.x", func(i, _ int) uint64 { return uint64(i % ctaThreads) }),
		read("%tid.y", constant(0)),
		read("%tid.z", constant(0)),
		read("%ntid.x", constant(ctaThreads)),
		read("%ntid.y", constant(1)),
		read("%ntid.z", constant(1)),
		read("%ctaid.x", func(i, _ int) uint64 { return uint64(i / ctaThreads) }),
		read("%ctaid.y", constant(0)),
		read("%ctaid.z", constant(0)),
		read("%nctaid.x", func(_, n int) uint64 { return uint64(n / ctaThreads) }),
		read("%nctaid.y", constant(1)),
		read("%nctaid.z", constant(1)),
		read("%laneid", func(i, _ int) uint64 { return uint64(i % warpLanes) }),
		read("WARP_SZ", constant(warpLanes)),
		read("%lanemask_eq", lane(func(l, j int) bool { return j == l })),
		read("%lanemask_le", lane(func(l, j int) bool { return j <= l })),
		read("%lanemask_lt", lane(func(l, j int) bool { return j < l })),
		read("%lanemask_ge", lane(func(l, j int) bool { return j >= l })),
		read("%lanemask_gt", lane(func(l, j int) bool { return j > l })),
		read("%dynamic_smem_size", constant(0)),
	}
	// %warpid, %nwarpid, %smid and %nsmid may be anything in range, the same for
	// a warp; static shared memory counts in %total_smem_size.
	return append(rows, &row{
		name: "mov/%warpid+%smid",
		decl: sharedDecl,
		code: `mov.u32 d0, %warpid;
mov.u32 d1, %nwarpid;
mov.u32 d2, %smid;
mov.u32 d3, %nsmid;
mov.u32 d4, %total_smem_size;
setp.eq.u32 p, t, 0;
@p st.shared.u32 [sm], d0;
mov.u64 d5, %gridid;`,
		out: append(repeat(u32, 5), u64), group: wholeGrid,
		check: func(g []thread, _ []byte) error {
			for i, th := range g {
				first := g[i-i%warpLanes]
				switch {
				case th.d[0] >= th.d[1] || th.d[0] != first.d[0]:
					return fmt.Errorf("thread %d: warp %d of %d, lane 0 says %d", i, th.d[0], th.d[1], first.d[0])
				case th.d[2] >= th.d[3] || th.d[2] != first.d[2]:
					return fmt.Errorf("thread %d: SM %d of %d, lane 0 says %d", i, th.d[2], th.d[3], first.d[2])
				case th.d[4] < 4096:
					return fmt.Errorf("thread %d: %d bytes of shared memory, want 4096 at least", i, th.d[4])
				case th.d[5] != g[0].d[5]:
					return fmt.Errorf("thread %d: grid %d, thread 0 says %d", i, th.d[5], g[0].d[5])
				}
			}
			return nil
		},
	})
}

// clockRows read time: it never goes back within a thread.
func clockRows() []*row {
	rising := func(reg, typ string, k *kind, wait string) *row {
		return &row{
			name: "mov/" + reg,
			code: fmt.Sprintf("mov.%[1]s d0, %[2]s;\n%[3]s\nmov.%[1]s d1, %[2]s;", typ, reg, wait),
			out:  []*kind{k, k}, group: wholeGrid,
			check: func(g []thread, _ []byte) error {
				for i, th := range g {
					// Registers of 32 bits wrap.
					if d := mask(th.d[1]-th.d[0], k.bits); d>>(k.bits-1) == 1 {
						return fmt.Errorf("thread %d: %s goes from %d to %d", i, reg, th.d[0], th.d[1])
					}
				}
				return nil
			},
		}
	}
	return []*row{
		rising("%clock", "u32", u32, ""),
		rising("%clock_hi", "u32", u32, ""),
		rising("%clock64", "u64", u64, ""),
		rising("%globaltimer", "u64", u64, ""),
		rising("%globaltimer_lo", "u32", u32, ""),
		rising("%globaltimer_hi", "u32", u32, ""),
		{
			name: "nanosleep/u32",
			code: `nanosleep.u32 100;
and.b32 w0, a0, 1023;
nanosleep.u32 w0;
and.b32 w1, t, 1;
setp.eq.u32 p, w1, 0;
@p nanosleep.u32 50;
mov.u32 d0, a0;`,
			in: repeat(u32, 1), out: []*kind{u32},
			ref: one(func(a []uint64) uint64 { return a[0] }),
		},
	}
}
