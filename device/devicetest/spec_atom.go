package devicetest

import (
	"fmt"
	"math/big"
	"strings"
)

// atomOp is an operation of atom and red on one type.
type atomOp struct {
	op    string // "add", "add.noftz"
	k     *kind
	isa   isa
	noRed bool // cas and exch have no red form
	// f is the new value from the old one and the operands.
	f func(old uint64, b []uint64) uint64
}

func atomOps() []atomOp {
	var ops []atomOp
	for _, k := range []*kind{b32, b64} {
		ops = append(ops,
			atomOp{op: "and", k: k, f: func(old uint64, b []uint64) uint64 { return old & b[0] }},
			atomOp{op: "or", k: k, f: func(old uint64, b []uint64) uint64 { return old | b[0] }},
			atomOp{op: "xor", k: k, f: func(old uint64, b []uint64) uint64 { return old ^ b[0] }},
			atomOp{op: "exch", k: k, noRed: true, f: func(_ uint64, b []uint64) uint64 { return b[0] }},
			atomOp{op: "cas", k: k, noRed: true, f: swapIfEqual(k)},
		)
	}
	ops = append(ops, atomOp{op: "cas", k: b16, noRed: true, f: swapIfEqual(b16)})
	integer := func(op string, f func(x []*big.Int) *big.Int, kinds ...*kind) {
		for _, k := range kinds {
			ops = append(ops, atomOp{op: op, k: k, f: func(old uint64, b []uint64) uint64 {
				return wrapBig(f([]*big.Int{bigOf(old, k.bits, k.signed), bigOf(b[0], k.bits, k.signed)}), k.bits)
			}})
		}
	}
	integer("add", bigAdd, u32, s32, u64)
	integer("min", bigMin, u32, s32, u64, s64)
	integer("max", bigMax, u32, s32, u64, s64)
	ops = append(ops,
		atomOp{op: "inc", k: u32, f: func(old uint64, b []uint64) uint64 {
			if old >= b[0] {
				return 0
			}
			return old + 1
		}},
		atomOp{op: "dec", k: u32, f: func(old uint64, b []uint64) uint64 {
			if old == 0 || old > b[0] {
				return b[0]
			}
			return old - 1
		}})
	float := func(op string, is isa, kinds ...*kind) {
		for _, k := range kinds {
			ops = append(ops, atomOp{op: op, k: k, isa: is, f: func(old uint64, b []uint64) uint64 {
				return k.perPart([]uint64{old, b[0]}, func(a []uint64) uint64 {
					f := k.format
					return f.pack(addNumber(f.unpack(a[0]), f.unpack(a[1]), nearestEven), nearestEven)
				})
			}})
		}
	}
	float("add", baseline, single, double)
	float("add.noftz", baseline, half, half2)
	float("add.noftz", hopper, bfloat, bfloat2)
	return ops
}

func swapIfEqual(k *kind) func(old uint64, b []uint64) uint64 {
	return func(old uint64, b []uint64) uint64 {
		if mask(old, k.bits) == mask(b[0], k.bits) {
			return b[1]
		}
		return old
	}
}

func (o atomOp) sources() int {
	if o.op == "cas" {
		return 2
	}
	return 1
}

func atomRows() []*row {
	var rows []*row
	for _, o := range atomOps() {
		for _, p := range places {
			if strings.Contains(p.name, "local") {
				continue
			}
			rows = append(rows, o.aloneRow(p))
			if !o.noRed {
				rows = append(rows, o.redRow(p))
			}
		}
	}
	rows = append(rows, atomOrderRows()...)
	rows = append(rows, wideAtomRows()...)
	rows = append(rows, vectorAtomRows()...)
	return append(rows, contendedRows()...)
}

// flushes reports whether the operation treats subnormal numbers as zero, as
// f32 addition in global memory does (PTX ISA, atom).
func (o atomOp) flushes(p place) bool {
	return o.k == single && strings.Contains(p.name, "global")
}

// result applies the operation to a cell in place p.
func (o atomOp) result(p place, old uint64, b []uint64) uint64 {
	if !o.flushes(p) {
		return o.f(old, b)
	}
	return f32.flush(o.f(f32.flush(old), []uint64{f32.flush(b[0])}))
}

// cell is the code that puts a0 into the thread's memory at r0.
func (o atomOp) cell(p place) string {
	return p.setup + fmt.Sprintf("st%s.b%d [r0], a0;\n", p.space, o.k.bits)
}

// sourceList writes ", a1" or ", a1, a2".
func (o atomOp) sourceList() string {
	if o.sources() == 2 {
		return "a1, a2"
	}
	return "a1"
}

// aloneRow applies atom to a cell that no other thread uses.
func (o atomOp) aloneRow(p place) *row {
	r := &row{
		name: "atom." + o.op + "." + p.name + "/" + o.k.name,
		isa:  o.isa,
		decl: p.decl,
		code: o.cell(p) + fmt.Sprintf("atom%s.%s.%s d0, [r0], %s;\nld%s.b%d d1, [r0];",
			p.space, o.op, o.k.name, o.sourceList(), p.space, o.k.bits),
		in:  repeat(o.k, 1+o.sources()),
		out: []*kind{o.k, o.k},
		ref: each(func(a, d []uint64) { d[0], d[1] = a[0], o.result(p, a[0], a[1:]) }),
	}
	if o.op == "cas" {
		r.inputs = func(i int, a []uint64) {
			if i%2 == 0 {
				a[1] = a[0] // so that it often succeeds
			}
		}
	}
	if o.op == "inc" || o.op == "dec" {
		r.inputs = func(i int, a []uint64) {
			if i%3 == 0 {
				a[1] = mask(a[0]+uint64(i%5)-2, 32)
			}
		}
	}
	return r
}

func (o atomOp) redRow(p place) *row {
	r := o.aloneRow(p)
	r.name = "red." + o.op + "." + p.name + "/" + o.k.name
	r.code = o.cell(p) + fmt.Sprintf("red%s.%s.%s [r0], %s;\nld%s.b%d d0, [r0];",
		p.space, o.op, o.k.name, o.sourceList(), p.space, o.k.bits)
	r.out = r.out[1:]
	r.ref = one(func(a []uint64) uint64 { return o.result(p, a[0], a[1:]) })
	return r
}

// atomOrderRows run every ordering and scope with one operation.
func atomOrderRows() []*row {
	var rows []*row
	for _, p := range places {
		if strings.Contains(p.name, "local") {
			continue
		}
		for _, sem := range []string{"", ".relaxed", ".acquire", ".release", ".acq_rel"} {
			for _, scope := range append([]string{"", ".cluster"}, scopes...) {
				is := baseline
				if scope == ".cluster" {
					is = hopper
				}
				for _, op := range []string{"atom", "red"} {
					if op == "red" && (sem == ".acquire" || sem == ".acq_rel") {
						continue
					}
					dst := ""
					if op == "atom" {
						dst = "w0, "
					}
					rows = append(rows, &row{
						name: op + sem + scope + "." + p.name + "/u32",
						isa:  is,
						decl: p.decl,
						code: p.setup + fmt.Sprintf("st%[1]s.u32 [r0], a0;\n%[2]s%[3]s%[4]s%[1]s.add.u32 %[5]s[r0], a1;\nld%[1]s.u32 d0, [r0];",
							p.space, op, sem, scope, dst),
						in:      repeat(u32, 2),
						out:     []*kind{u32},
						ref:     one(func(a []uint64) uint64 { return mask(a[0]+a[1], 32) }),
						threads: ctaThreads,
					})
				}
			}
		}
	}
	return rows
}

// wideAtomRows are the forms of 16 bytes.
func wideAtomRows() []*row {
	const load = "mov.u64 r0, aout;\nst.global.v2.u64 [r0], {a0, a1};\nmov.b128 x, {a2, a3};\n"
	const store = "mov.b128 {r1, r2}, z;\nld.global.v2.u64 {d0, d1}, [r0];\nmov.b64 d2, r1;\nmov.b64 d3, r2;"
	return []*row{{
		name: "atom.exch.global/b128",
		isa:  hopper83,
		decl: ".reg .b128 x, y, z;",
		code: load + "atom.global.exch.b128 z, [r0], x;\n" + store,
		in:   repeat(b64, 4),
		out:  repeat(b64, 4),
		ref:  each(func(a, d []uint64) { d[0], d[1], d[2], d[3] = a[2], a[3], a[0], a[1] }),
	}, {
		name:   "atom.cas.global/b128",
		isa:    hopper83,
		decl:   ".reg .b128 x, y, z;",
		code:   load + "mov.b128 y, {a4, a5};\natom.global.cas.b128 z, [r0], x, y;\n" + store,
		in:     repeat(b64, 6),
		out:    repeat(b64, 4),
		inputs: func(i int, a []uint64) { copy(a[2:4], a[:1+i%2]) },
		ref: each(func(a, d []uint64) {
			copy(d, []uint64{a[0], a[1], a[0], a[1]})
			if a[0] == a[2] && a[1] == a[3] {
				d[0], d[1] = a[4], a[5]
			}
		}),
	}}
}
