package devicetest

import "fmt"

// spaceNameRows use the longer names of spaces, and those whose addresses only
// kernels of newer targets may have.
func spaceNameRows() []*row {
	var rows []*row
	for _, space := range []string{"shared::cta", "shared::cluster"} {
		is := baseline
		if space == "shared::cluster" {
			is = hopper
		}
		rows = append(rows, &row{
			name: "cvta." + space + "/u64",
			isa:  is,
			decl: sharedDecl,
			code: sharedAddr + fmt.Sprintf(`cvta.%[1]s.u64 r1, r0;
cvta.to.%[1]s.u64 r2, r1;
isspacep.%[1]s d0, r1;
isspacep.%[1]s d1, aout;
st.%[1]s.u64 [r2], a0;
ld.%[1]s.u64 d2, [r0];
atom.%[1]s.add.u64 r3, [r0], 1;
red.%[1]s.add.u64 [r0], 1;
ld.u64 d3, [r1];`, space),
			in:  repeat(u64, 1),
			out: []*kind{pred, pred, u64, u64},
			ref: each(func(a, d []uint64) { d[0], d[1], d[2], d[3] = 1, 0, a[0], a[0]+2 }),
		})
	}
	for _, space := range []string{"param", "param::entry"} {
		is := isa{"7.7", 70}
		if space == "param::entry" {
			is = isa{"8.3", 70}
		}
		rows = append(rows, &row{
			name: "cvta." + space + "/u64",
			isa:  is,
			code: fmt.Sprintf(`mov.u64 r0, p_blob;
cvta.%[1]s.u64 r1, r0;
ld.u32 d0, [r1+4];
cvta.to.%[1]s.u64 r2, r1;
ld.%[1]s.u32 d1, [r2+8];
isspacep.%[1]s d2, r1;
isspacep.%[1]s d3, aout;`, space),
			out:     []*kind{u32, u32, pred, pred},
			threads: ctaThreads,
			ref: each(func(_, d []uint64) {
				d[0], d[1], d[2], d[3] = littleEndian(blob, 4, 4), littleEndian(blob, 8, 4), 1, 0
			}),
		})
	}
	rows = append(rows, &row{
		name: "prefetch/L1+L2",
		code: `prefetch.global.L1 [ain];
prefetch.global.L2 [ain];
prefetch.L1 [ain];
prefetch.L2 [ain];
mov.u64 r0, lm;
prefetch.local.L1 [r0];
prefetch.local.L2 [r0];
mov.u32 d0, a0;`,
		decl:    localDecl,
		in:      []*kind{u32},
		out:     []*kind{u32},
		threads: ctaThreads,
		ref:     one(func(a []uint64) uint64 { return a[0] }),
	})
	return rows
}

// addressRows convert addresses and ask which space they are in.
func addressRows() []*row {
	var rows []*row
	for _, s := range []struct{ name, decl, addr string }{
		{"global", "", "mov.u64 r0, aout;\n"},
		{"shared", sharedDecl, sharedAddr},
		{"local", localDecl, localAddr},
	} {
		rows = append(rows, &row{
			name: "cvta.to." + s.name + "/u64",
			decl: s.decl,
			code: s.addr + fmt.Sprintf(`cvta.%[1]s.u64 r1, r0;
cvta.to.%[1]s.u64 r2, r1;
st.%[1]s.u64 [r0], a0;
ld.u64 d0, [r1];
ld.%[1]s.u64 d1, [r2];
st.u64 [r1], a1;
ld.%[1]s.u64 d2, [r0];`, s.name),
			in:  repeat(u64, 2),
			out: repeat(u64, 3),
			ref: each(func(a, d []uint64) { d[0], d[1], d[2] = a[0], a[0], a[1] }),
		}, &row{
			name: "isspacep/" + s.name,
			decl: s.decl,
			code: s.addr + fmt.Sprintf(`cvta.%s.u64 r1, r0;
isspacep.global d0, r1;
isspacep.shared d1, r1;
isspacep.local d2, r1;
isspacep.const d3, r1;`, s.name),
			out: repeat(pred, 4),
			ref: each(func(_, d []uint64) {
				d[0], d[1], d[2], d[3] = truth(s.name == "global"), truth(s.name == "shared"), truth(s.name == "local"), 0
			}),
			threads: ctaThreads,
		})
	}
	rows = append(rows, spaceNameRows()...)
	// Negative offsets, and registers of 32 bits for shared memory.
	return append(rows, &row{
		name: "ld.offset/u32",
		code: "add.u64 r0, ain, 4;\nld.global.u32 d0, [r0+-4];\nld.global.u32 d1, [r0];\nsub.u64 r0, r0, 4;\nld.global.u32 d2, [r0+4];",
		in:   []*kind{b64},
		out:  repeat(u32, 3),
		ref: each(func(a, d []uint64) {
			d[0], d[1], d[2] = mask(a[0], 32), a[0]>>32, a[0]>>32
		}),
	}, &row{
		name: "ld.shared.address32/u32",
		decl: sharedDecl,
		code: "mov.u32 w0, sm;\nmad.lo.u32 w0, t, 32, w0;\nst.shared.u32 [w0+4], a0;\nld.shared.u32 d0, [w0+4];",
		in:   []*kind{u32},
		out:  []*kind{u32},
		ref:  one(func(a []uint64) uint64 { return a[0] }),
	})
}
