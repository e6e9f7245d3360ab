package devicetest

import (
	"fmt"
	"strings"
)

func bitRows() []*row {
	var rows []*row
	rows = append(rows, logicRows()...)
	rows = append(rows, shiftRows()...)
	rows = append(rows, countRows()...)
	rows = append(rows, fieldRows()...)
	rows = append(rows, lop3Rows()...)
	rows = append(rows, permuteRows()...)
	return append(rows, moveRows()...)
}

func logicRows() []*row {
	var rows []*row
	for _, k := range []*kind{pred, b16, b32, b64} {
		n := k.bits
		logic := func(op string, sources int, f func(a []uint64, i int) uint64) {
			rows = append(rows, &row{
				name: op + "/" + k.name,
				code: fmt.Sprintf("%s.%s %s;", op, k.name, destAndSources(sources)),
				in:   repeat(k, sources),
				out:  []*kind{k},
				ref: one(func(a []uint64) uint64 {
					return bitwise(n, func(i int) uint64 { return f(a, i) })
				}),
			})
		}
		logic("and", 2, func(a []uint64, i int) uint64 { return bit(a[0], i) * bit(a[1], i) })
		logic("or", 2, func(a []uint64, i int) uint64 { return max(bit(a[0], i), bit(a[1], i)) })
		logic("xor", 2, func(a []uint64, i int) uint64 { return bit(a[0], i) + bit(a[1], i) })
		logic("not", 1, func(a []uint64, i int) uint64 { return 1 - bit(a[0], i) })
		if k != pred {
			logic("cnot", 1, func(a []uint64, i int) uint64 {
				if i == 0 && mask(a[0], n) == 0 {
					return 1
				}
				return 0
			})
		}
	}
	return rows
}

func shiftRows() []*row {
	var rows []*row
	shift := func(op string, k *kind, f func(x uint64, by, i int) uint64) {
		rows = append(rows, &row{
			name: op + "/" + k.name,
			code: fmt.Sprintf("%s.%s d0, a0, a1;", op, k.name),
			in:   []*kind{k, amount},
			out:  []*kind{k},
			ref: one(func(a []uint64) uint64 {
				by := int(min(a[1], uint64(k.bits)))
				return bitwise(k.bits, func(i int) uint64 { return f(mask(a[0], k.bits), by, i) })
			}),
		})
	}
	for _, k := range []*kind{b16, b32, b64} {
		shift("shl", k, func(x uint64, by, i int) uint64 { return bit(x, i-by) })
		shift("shr", k, func(x uint64, by, i int) uint64 { return bit(x, i+by) })
	}
	for _, k := range integerKinds {
		shift("shr", k, func(x uint64, by, i int) uint64 {
			if k.signed {
				return bit(x, min(i+by, k.bits-1))
			}
			return bit(x, i+by)
		})
	}
	for _, mode := range []string{"wrap", "clamp"} {
		for _, side := range []string{"l", "r"} {
			rows = append(rows, &row{
				name: "shf." + side + "." + mode + "/b32",
				code: fmt.Sprintf("shf.%s.%s.b32 d0, a0, a1, a2;", side, mode),
				in:   []*kind{b32, b32, amount},
				out:  []*kind{b32},
				ref: one(func(a []uint64) uint64 {
					by := int(a[2] % 32)
					if mode == "clamp" {
						by = int(min(a[2], 32))
					}
					pair := a[0] | a[1]<<32
					if side == "l" { // the high word of the pair shifted left
						return bitwise(32, func(i int) uint64 { return bit(pair, 32+i-by) })
					}
					return bitwise(32, func(i int) uint64 { return bit(pair, i+by) })
				}),
			})
		}
	}
	return rows
}

func countRows() []*row {
	var rows []*row
	count := func(op string, k, out *kind, f func(x uint64) uint64) {
		rows = append(rows, &row{
			name: op + "/" + k.name,
			code: fmt.Sprintf("%s.%s d0, a0;", op, k.name),
			in:   []*kind{k},
			out:  []*kind{out},
			ref:  one(func(a []uint64) uint64 { return f(a[0]) }),
		})
	}
	for _, k := range []*kind{b32, b64} {
		n := k.bits
		count("popc", k, u32, func(x uint64) uint64 {
			var c uint64
			for i := range n {
				c += bit(x, i)
			}
			return c
		})
		count("clz", k, u32, func(x uint64) uint64 {
			for i := n - 1; i >= 0; i-- {
				if bit(x, i) == 1 {
					return uint64(n - 1 - i)
				}
			}
			return uint64(n)
		})
		count("brev", k, k, func(x uint64) uint64 {
			return bitwise(n, func(i int) uint64 { return bit(x, n-1-i) })
		})
	}
	for _, k := range []*kind{u32, s32, u64, s64} {
		count("bfind", k, u32, func(x uint64) uint64 { return highestDiffering(x, k.bits, k.signed) })
		count("bfind.shiftamt", k, u32, func(x uint64) uint64 {
			if p := highestDiffering(x, k.bits, k.signed); p != 0xffffffff {
				return uint64(k.bits-1) - p
			}
			return 0xffffffff
		})
	}
	return append(rows, &row{
		name:   "fns/b32",
		code:   "fns.b32 d0, a0, a1, a2;",
		in:     []*kind{b32, u32, s32},
		out:    []*kind{b32},
		inputs: func(_ int, a []uint64) { a[1] %= 32; a[2] = mask(a[2]%35-17, 32) },
		ref:    one(func(a []uint64) uint64 { return nthSet(a[0], int(a[1]), int32(a[2])) }),
	})
}

// fieldRows are bfe, bfi, bmsk and szext. The ISA restricts position and length
// of bfe and bfi to 0..255.
func fieldRows() []*row {
	var rows []*row
	for _, k := range []*kind{u32, s32, u64, s64} {
		rows = append(rows, &row{
			name: "bfe/" + k.name,
			code: fmt.Sprintf("bfe.%s d0, a0, a1, a2;", k.name),
			in:   []*kind{k, amount, amount},
			out:  []*kind{k},
			open: func(a []uint64) bool { return a[1] > 255 || a[2] > 255 },
			ref: one(func(a []uint64) uint64 {
				return bitField(a[0], int(a[1]&0xff), int(a[2]&0xff), k.bits, k.signed)
			}),
		})
	}
	for _, k := range []*kind{b32, b64} {
		rows = append(rows, &row{
			name: "bfi/" + k.name,
			code: fmt.Sprintf("bfi.%s d0, a0, a1, a2, a3;", k.name),
			in:   []*kind{k, k, amount, amount},
			out:  []*kind{k},
			open: func(a []uint64) bool { return a[2] > 255 || a[3] > 255 },
			ref: one(func(a []uint64) uint64 {
				return insertField(a[0], a[1], int(a[2]&0xff), int(a[3]&0xff), k.bits)
			}),
		})
	}
	for _, mode := range []string{"clamp", "wrap"} {
		// limit returns position and width as the mode reads them.
		limit := func(x uint64) int {
			if mode == "wrap" {
				return int(x % 32)
			}
			return int(min(x, 32))
		}
		rows = append(rows, &row{
			name: "bmsk." + mode + "/b32",
			code: fmt.Sprintf("bmsk.%s.b32 d0, a0, a1;", mode),
			isa:  hopper,
			in:   []*kind{amount, amount},
			out:  []*kind{b32},
			ref: one(func(a []uint64) uint64 {
				pos, width := limit(a[0]), limit(a[1])
				return bitwise(32, func(i int) uint64 {
					if i >= pos && i < pos+width {
						return 1
					}
					return 0
				})
			}),
		})
		for _, k := range []*kind{u32, s32} {
			rows = append(rows, &row{
				name: "szext." + mode + "/" + k.name,
				code: fmt.Sprintf("szext.%s.%s d0, a0, a1;", mode, k.name),
				isa:  hopper,
				in:   []*kind{k, amount},
				out:  []*kind{k},
				ref:  one(func(a []uint64) uint64 { return bitField(a[0], 0, limit(a[1]), 32, k.signed) }),
			})
		}
	}
	return rows
}

// lop3Rows cover every table, eight to a kernel.
func lop3Rows() []*row {
	var rows []*row
	for first := 0; first < 256; first += maxOperands {
		var code strings.Builder
		for i := range maxOperands {
			fmt.Fprintf(&code, "lop3.b32 d%d, a0, a1, a2, %d;\n", i, first+i)
		}
		rows = append(rows, &row{
			name:    fmt.Sprintf("lop3.%#02x/b32", first),
			code:    code.String(),
			in:      repeat(b32, 3),
			out:     repeat(b32, maxOperands),
			threads: ctaThreads,
			ref: each(func(a, d []uint64) {
				for i := range d {
					d[i] = lut3(a[0], a[1], a[2], first+i)
				}
			}),
		})
	}
	for _, op := range []string{"and", "or"} {
		rows = append(rows, &row{
			name: "lop3." + op + "/b32",
			code: fmt.Sprintf("lop3.%s.b32 d0|d1, a0, a1, a2, 0x80, a3;\nlop3.%s.b32 _|d2, a0, a1, a2, 0x96, a3;", op, op),
			isa:  volta82,
			in:   []*kind{b32, b32, b32, pred},
			out:  []*kind{b32, pred, pred},
			ref: each(func(a, d []uint64) {
				join := func(x, y bool) uint64 {
					if op == "and" && x && y || op == "or" && (x || y) {
						return 1
					}
					return 0
				}
				d[0] = lut3(a[0], a[1], a[2], 0x80)
				d[1] = join(d[0] != 0, a[3] != 0)
				d[2] = join(lut3(a[0], a[1], a[2], 0x96) != 0, a[3] != 0)
			}),
		})
	}
	return rows
}

func permuteRows() []*row {
	var rows []*row
	for _, mode := range []string{"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"} {
		suffix := mode
		if mode != "" {
			suffix = "." + mode
		}
		rows = append(rows, &row{
			name: "prmt" + suffix + "/b32",
			code: fmt.Sprintf("prmt.b32%s d0, a0, a1, a2;", suffix),
			in:   repeat(b32, 3),
			out:  []*kind{b32},
			ref:  one(func(a []uint64) uint64 { return permute(a[0], a[1], a[2], mode) }),
		})
	}
	return append(rows, &row{
		name: "prmt.imm/b32",
		code: "prmt.b32 d0, a0, a1, 0x7BA0;",
		in:   repeat(b32, 2),
		out:  []*kind{b32},
		ref:  one(func(a []uint64) uint64 { return permute(a[0], a[1], 0x7ba0, "") }),
	})
}

// moveRows copy, pack and unpack.
func moveRows() []*row {
	var rows []*row
	kinds := []*kind{pred, b16, b32, b64, u16, u32, u64, s16, s32, s64, single, double}
	for _, k := range kinds {
		rows = append(rows, &row{
			name: "mov/" + k.name,
			code: fmt.Sprintf("mov.%s d0, a0;", k.name),
			in:   []*kind{k},
			out:  []*kind{bitsOf(k)},
			ref:  one(func(a []uint64) uint64 { return a[0] }),
		})
	}
	for _, v := range []struct {
		whole, part *kind
		n           int
	}{{b32, b16, 2}, {b64, b16, 4}, {b64, b32, 2}} {
		var list []string
		for i := range v.n {
			list = append(list, fmt.Sprintf("%%s%d", i))
		}
		vector := func(letter string) string {
			return "{" + strings.ReplaceAll(strings.Join(list, ", "), "%s", letter) + "}"
		}
		rows = append(rows, &row{
			name: fmt.Sprintf("mov.pack/%s.v%d", v.whole.name, v.n),
			code: fmt.Sprintf("mov.%s d0, %s;", v.whole.name, vector("a")),
			in:   repeat(v.part, v.n),
			out:  []*kind{v.whole},
			ref: one(func(a []uint64) uint64 {
				return bitwise(v.whole.bits, func(i int) uint64 { return bit(a[i/v.part.bits], i%v.part.bits) })
			}),
		}, &row{
			name: fmt.Sprintf("mov.unpack/%s.v%d", v.whole.name, v.n),
			code: fmt.Sprintf("mov.%s %s, a0;", v.whole.name, vector("d")),
			in:   []*kind{v.whole},
			out:  repeat(v.part, v.n),
			ref: each(func(a, d []uint64) {
				for j := range d {
					d[j] = bitwise(v.part.bits, func(i int) uint64 { return bit(a[0], j*v.part.bits+i) })
				}
			}),
		})
	}
	const bytes = ".reg .b8 x, y;"
	return append(rows,
		&row{
			name: "mov.pack/b16.v2",
			decl: bytes,
			code: "ld.global.b8 x, [ain];\nld.global.b8 y, [ain+8];\nmov.b16 d0, {x, y};",
			in:   repeat(b8, 2),
			out:  []*kind{b16},
			ref:  one(func(a []uint64) uint64 { return mask(a[0], 8) | mask(a[1], 8)<<8 }),
		},
		&row{
			name: "mov.unpack/b16.v2",
			decl: bytes,
			code: "mov.b16 {x, y}, a0;\nst.global.b8 [aout], y;\nst.global.b8 [aout+1], x;\nld.global.b16 d0, [aout];",
			in:   []*kind{b16},
			out:  []*kind{b16},
			ref:  one(func(a []uint64) uint64 { return a[0]>>8 | mask(a[0], 8)<<8 }),
		},
		&row{
			name: "mov/b128",
			isa:  volta83,
			decl: ".reg .b128 x, y;",
			code: "mov.b128 x, {a0, a1};\nmov.b128 y, x;\nmov.b128 {d1, d0}, y;",
			in:   repeat(b64, 2),
			out:  repeat(b64, 2),
			ref:  each(func(a, d []uint64) { d[0], d[1] = a[1], a[0] }),
		},
		&row{
			name: "mov.unpack.sink/b64.v2",
			code: "mov.b64 {_, d0}, a0;",
			in:   []*kind{b64},
			out:  []*kind{b32},
			ref:  one(func(a []uint64) uint64 { return a[0] >> 32 }),
		},
		constantRow("mov.float/f32", "mov.f32 d0, 0f3F800000;", b32, 0x3f800000),
		constantRow("mov.float/f64", "mov.f64 d0, 0d4009000000000000;", b64, 0x4009000000000000),
		constantRow("mov.decimal/f32", "mov.f32 d0, 1.5;", b32, 0x3fc00000),
		constantRow("mov.imm/u64", "mov.u64 d0, -1;", b64, 1<<64-1),
		constantRow("mov.imm/b32", "mov.b32 d0, 0x80000001;", b32, 0x80000001),
	)
}

// constantRow is a row that always makes the same value.
func constantRow(name, code string, k *kind, want uint64) *row {
	return &row{
		name: name, code: code, out: []*kind{k}, threads: ctaThreads,
		ref: one(func([]uint64) uint64 { return want }),
	}
}

// bitsOf returns the untyped kind of k's size, for results that must be the
// operand's very bits.
func bitsOf(k *kind) *kind {
	switch k.bits {
	case 1:
		return pred
	case 8:
		return b8
	case 16:
		return b16
	case 32:
		return b32
	}
	return b64
}
