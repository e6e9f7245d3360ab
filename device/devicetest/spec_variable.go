package devicetest

import (
	"fmt"
	"slices"
	"strings"
)

// paramRows read the parameter block at every width and alignment.
func paramRows() []*row {
	var rows []*row
	for _, k := range accessKinds {
		for _, n := range []int{1, 2, 4} {
			size := n * k.bits / 8
			if size > 16 {
				continue
			}
			for _, at := range slices.Compact([]int{0, size, blobBytes - size}) {
				rows = append(rows, &row{
					name: fmt.Sprintf("ld.param%s.at%d/%s", vector(n), at, k.name),
					code: fmt.Sprintf("ld.param%s.%s %s, [p_blob+%d];", vector(n), k.name, list("d", n), at),
					out:  repeat(loaded(k), n),
					ref: each(func(_, d []uint64) {
						for i := range d {
							d[i] = extended(k, littleEndian(blob, at+i*k.bits/8, k.bits/8))
						}
					}),
					threads: ctaThreads,
				})
			}
		}
	}
	return append(rows, &row{
		name: "ld.param.indexed/u32",
		code: "mov.u64 r0, p_blob;\nand.b32 w0, t, 7;\nmad.wide.u32 r0, w0, 4, r0;\nld.param.u32 d0, [r0];",
		out:  []*kind{u32},
		ref: func(g []thread) {
			for i, th := range g {
				th.d[0] = littleEndian(blob, 4*(i%8), 4)
			}
		},
		group: ctaThreads,
	})
}

// littleEndian reads n bytes.
func littleEndian(b func(i int) byte, at, n int) uint64 {
	return bitwise(8*n, func(i int) uint64 { return uint64(b(at+i/8)) >> (i % 8) })
}

// variableRows use variables of module scope: initial values, their addresses,
// addresses as initial values.
func variableRows() []*row {
	const table = `%s .align 16 .b8 tab8[16] = {1, 2, 3, 0x84, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xF0};
%s .align 8 .u32 tab32[6] = {10, 0x80000000, 30};
%s .align 8 .f64 num = 0d4009000000000000;
%s .f32 nums[2] = {0f3F800000, 0fBF800000};`
	tab8 := func(i int) byte { return []byte{1, 2, 3, 0x84, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xf0}[i] }
	var rows []*row
	for _, space := range []string{".const", ".global"} {
		unit := strings.ReplaceAll(table, "%s", space)
		add := func(name, code string, out []*kind, want ...uint64) {
			rows = append(rows, &row{
				name: "ld" + space + "." + name,
				unit: unit, code: strings.ReplaceAll(code, "SPACE", space), out: out, threads: ctaThreads,
				ref: each(func(_, d []uint64) { copy(d, want) }),
			})
		}
		for _, k := range accessKinds {
			size := k.bits / 8
			for _, n := range []int{1, 2, 4} {
				if n*size > 16 {
					continue
				}
				var want []uint64
				at := 16 - n*size
				for i := range n {
					want = append(want, extended(k, littleEndian(tab8, at+i*size, size)))
				}
				add("variable"+vector(n)+"/"+k.name,
					fmt.Sprintf("ldSPACE%s.%s %s, [tab8+%d];", vector(n), k.name, list("d", n), at),
					repeat(loaded(k), n), want...)
			}
		}
		add("array/u32", "ldSPACE.u32 d0, [tab32+4];\nldSPACE.u32 d1, [tab32+8];\nldSPACE.u32 d2, [tab32+20];",
			repeat(u32, 3), 0x80000000, 30, 0)
		add("float/f64", "ldSPACE.f64 d0, [num];", []*kind{b64}, 0x4009000000000000)
		add("float/f32", "ldSPACE.v2.f32 {d0, d1}, [nums];", repeat(b32, 2), 0x3f800000, 0xbf800000)
		add("address/u32", "mov.u64 r0, tab32;\nldSPACE.u32 d0, [r0+4];\nmov.u64 r0, tab32+8;\nldSPACE.u32 d1, [r0];",
			repeat(u32, 2), 0x80000000, 30)
		add("generic/u32", "cvtaSPACE.u64 r0, tab32;\nld.u32 d0, [r0+8];\ncvta.toSPACE.u64 r1, r0;\nldSPACE.u32 d1, [r1];",
			repeat(u32, 2), 30, 10)
	}
	// Shared variables of module scope and of two kernels do not overlap.
	rows = append(rows, &row{
		name: "st.shared.variables/u32",
		unit: ".shared .align 16 .b8 outer[512];",
		decl: ".shared .align 4 .b8 inner[512];",
		code: `mov.u64 r0, outer;
mad.wide.u32 r0, t, 4, r0;
mov.u64 r1, inner;
mad.wide.u32 r1, t, 4, r1;
st.shared.u32 [r0], a0;
st.shared.u32 [r1], a1;
bar.sync 0;
xor.b32 w0, t, 127;
mov.u64 r0, outer;
mad.wide.u32 r0, w0, 4, r0;
ld.shared.u32 d0, [r0];
mov.u32 w1, inner;
mad.lo.u32 w1, w0, 4, w1;
ld.shared.u32 d1, [w1];`,
		in:    repeat(u32, 2),
		out:   repeat(u32, 2),
		group: ctaThreads,
		ref: func(g []thread) {
			for i, th := range g {
				copy(th.d, g[i^127].a)
			}
		},
	})
	return rows
}
