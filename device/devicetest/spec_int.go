package devicetest

import (
	"fmt"
	"math/big"
)

var integerKinds = []*kind{u16, u32, u64, s16, s32, s64}

// wideOf is the type of twice the size.
var wideOf = map[*kind]*kind{u16: u32, u32: u64, s16: s32, s32: s64}

// intRow makes a row whose operands and result are integers of kind k.
func intRow(op string, k *kind, n int, f func(x []*big.Int) *big.Int) *row {
	in := repeat(k, n)
	return &row{
		name: op + "/" + k.name,
		code: fmt.Sprintf("%s.%s %s;", op, k.name, destAndSources(n)),
		in:   in,
		out:  []*kind{k},
		ref:  bigRef(in, k, f),
	}
}

// bigRef makes a reference from a function of integers; the result wraps.
func bigRef(in []*kind, out *kind, f func(x []*big.Int) *big.Int) func(g []thread) {
	return one(func(a []uint64) uint64 {
		x := make([]*big.Int, len(a))
		for i := range a {
			x[i] = bigOf(a[i], in[i].bits, in[i].signed)
		}
		return wrapBig(f(x), out.bits)
	})
}

func repeat(k *kind, n int) []*kind {
	all := make([]*kind, n)
	for i := range all {
		all[i] = k
	}
	return all
}

func bigAdd(x []*big.Int) *big.Int { return new(big.Int).Add(x[0], x[1]) }
func bigSub(x []*big.Int) *big.Int { return new(big.Int).Sub(x[0], x[1]) }
func bigMul(x []*big.Int) *big.Int { return new(big.Int).Mul(x[0], x[1]) }

func bigMin(x []*big.Int) *big.Int {
	if x[0].Cmp(x[1]) < 0 {
		return x[0]
	}
	return x[1]
}

func bigMax(x []*big.Int) *big.Int {
	if x[0].Cmp(x[1]) > 0 {
		return x[0]
	}
	return x[1]
}

// plus adds the last operand to what f makes of the others.
func plus(f func(x []*big.Int) *big.Int) func(x []*big.Int) *big.Int {
	return func(x []*big.Int) *big.Int {
		return new(big.Int).Add(f(x), x[len(x)-1])
	}
}

func intRows() []*row {
	var rows []*row
	for _, k := range integerKinds {
		high := func(x []*big.Int) *big.Int { return new(big.Int).Rsh(bigMul(x), uint(k.bits)) }
		rows = append(rows,
			intRow("add", k, 2, bigAdd),
			intRow("sub", k, 2, bigSub),
			intRow("mul.lo", k, 2, bigMul),
			intRow("mul.hi", k, 2, high),
			intRow("mad.lo", k, 3, plus(bigMul)),
			intRow("mad.hi", k, 3, plus(high)),
			intRow("min", k, 2, bigMin),
			intRow("max", k, 2, bigMax),
			intRow("sad", k, 3, plus(func(x []*big.Int) *big.Int {
				d := bigSub(x)
				return d.Abs(d)
			})),
		)
		if w := wideOf[k]; w != nil {
			rows = append(rows, wideRow("mul.wide", k, w, false), wideRow("mad.wide", k, w, true))
		}
		for _, op := range []string{"div", "rem"} {
			r := intRow(op, k, 2, func(x []*big.Int) *big.Int {
				if x[1].Sign() == 0 {
					return new(big.Int) // open
				}
				if op == "div" {
					return new(big.Int).Quo(x[0], x[1])
				}
				return new(big.Int).Rem(x[0], x[1])
			})
			r.open = func(a []uint64) bool { return mask(a[1], k.bits) == 0 }
			rows = append(rows, r)
		}
		if k.signed {
			rows = append(rows,
				intRow("abs", k, 1, func(x []*big.Int) *big.Int { return new(big.Int).Abs(x[0]) }),
				intRow("neg", k, 1, func(x []*big.Int) *big.Int { return new(big.Int).Neg(x[0]) }),
			)
		}
	}
	rows = append(rows, saturatingRows()...)
	rows = append(rows, packedIntRows()...)
	rows = append(rows, carryRows()...)
	rows = append(rows, mul24Rows()...)
	rows = append(rows, dotRows()...)
	return append(rows, immediateRows()...)
}

// wideRow makes mul.wide or mad.wide: factors of kind k, the rest of kind w.
func wideRow(op string, k, w *kind, add bool) *row {
	in := []*kind{k, k}
	f := bigMul
	if add {
		in = append(in, w)
		f = plus(bigMul)
	}
	return &row{
		name: op + "/" + k.name,
		code: fmt.Sprintf("%s.%s %s;", op, k.name, destAndSources(len(in))),
		in:   in,
		out:  []*kind{w},
		ref:  bigRef(in, w, f),
	}
}

// saturatingRows are the forms with .sat, which exist for s32 alone, and .relu.
func saturatingRows() []*row {
	clamped := func(f func(x []*big.Int) *big.Int) func(x []*big.Int) *big.Int {
		return func(x []*big.Int) *big.Int { return clampBig(f(x), 32, true) }
	}
	relu := func(f func(x []*big.Int) *big.Int) func(x []*big.Int) *big.Int {
		return func(x []*big.Int) *big.Int { return bigMax([]*big.Int{f(x), new(big.Int)}) }
	}
	rows := []*row{
		intRow("add.sat", s32, 2, clamped(bigAdd)),
		intRow("sub.sat", s32, 2, clamped(bigSub)),
	}
	sat := intRow("mad.hi.sat", s32, 3, clamped(plus(func(x []*big.Int) *big.Int {
		return new(big.Int).Rsh(bigMul(x), 32)
	})))
	rows = append(rows, sat)
	for _, op := range []string{"min", "max"} {
		f := bigMin
		if op == "max" {
			f = bigMax
		}
		r := intRow(op+".relu", s32, 2, relu(f))
		r.isa = hopper80
		rows = append(rows, r)
	}
	return rows
}

// packedIntRows are the operations on two 16-bit halves.
func packedIntRows() []*row {
	var rows []*row
	packed := func(op string, k *kind, f func(x []*big.Int) *big.Int) {
		rows = append(rows, &row{
			name: op + "/" + k.name,
			code: fmt.Sprintf("%s.%s d0, a0, a1;", op, k.name),
			isa:  hopper80,
			in:   repeat(k, 2),
			out:  []*kind{k},
			ref: one(func(a []uint64) uint64 {
				return k.perPart(a, func(a []uint64) uint64 {
					return wrapBig(f([]*big.Int{bigOf(a[0], 16, k.signed), bigOf(a[1], 16, k.signed)}), 16)
				})
			}),
		})
	}
	for _, k := range []*kind{u16x2, s16x2} {
		packed("add", k, bigAdd)
		packed("min", k, bigMin)
		packed("max", k, bigMax)
	}
	packed("min.relu", s16x2, func(x []*big.Int) *big.Int { return bigMax([]*big.Int{bigMin(x), new(big.Int)}) })
	packed("max.relu", s16x2, func(x []*big.Int) *big.Int { return bigMax([]*big.Int{bigMax(x), new(big.Int)}) })
	return rows
}

// carryRows chain instructions through the condition code. Each computes a sum
// of twice the size, which one big number checks, and stores the carry it leaves.
func carryRows() []*row {
	var rows []*row
	for _, k := range []*kind{u32, s32, u64, s64} {
		n := k.bits
		unsigned := map[int]*kind{32: u32, 64: u64}[n]
		double := func(lo, hi uint64) *big.Int {
			x := bigOf(hi, n, false)
			return x.Lsh(x, uint(n)).Add(x, bigOf(lo, n, false))
		}
		// results splits x into words and puts the carry or borrow last.
		results := func(x *big.Int, d []uint64, carry uint64) {
			d[0] = wrapBig(x, n)
			d[1] = wrapBig(new(big.Int).Rsh(x, uint(n)), n)
			d[2] = carry
		}
		chain := func(name, text string, sources int, f func(a, d []uint64)) {
			rows = append(rows, &row{
				name: name + "/" + k.name,
				code: text,
				in:   repeat(unsigned, sources),
				out:  []*kind{unsigned, unsigned, unsigned},
				ref:  each(f),
			})
		}
		p := func(op string) string { return op + "." + k.name }
		chain("add.cc+addc.cc+addc",
			fmt.Sprintf("%s d0, a0, a2; %s d1, a1, a3; %s d2, 0, 0;", p("add.cc"), p("addc.cc"), p("addc")), 4,
			func(a, d []uint64) {
				x := new(big.Int).Add(double(a[0], a[1]), double(a[2], a[3]))
				results(x, d, uint64(x.Bit(2*n)))
			})
		chain("sub.cc+subc.cc+subc",
			fmt.Sprintf("%s d0, a0, a2; %s d1, a1, a3; %s d2, 0, 0;", p("sub.cc"), p("subc.cc"), p("subc")), 4,
			func(a, d []uint64) {
				x := new(big.Int).Sub(double(a[0], a[1]), double(a[2], a[3]))
				borrow := uint64(0)
				if x.Sign() < 0 {
					borrow = mask(^uint64(0), n)
				}
				results(x, d, borrow)
			})
		// (a0 * a1) in two words plus (a2, a3); signed and unsigned differ in the
		// high word.
		product := func(a []uint64) *big.Int {
			return new(big.Int).Mul(bigOf(a[0], n, k.signed), bigOf(a[1], n, k.signed))
		}
		chain("mad.lo.cc+madc.hi.cc+addc",
			fmt.Sprintf("%s d0, a0, a1, a2; %s d1, a0, a1, a3; %s d2, 0, 0;", p("mad.lo.cc"), p("madc.hi.cc"), p("addc")), 4,
			func(a, d []uint64) {
				x := bigOf(wrapBig(product(a), n), n, false)
				x.Add(x, bigOf(a[2], n, false))
				hi := bigOf(wrapBig(new(big.Int).Rsh(product(a), uint(n)), n), n, false)
				hi.Add(hi, bigOf(a[3], n, false)).Add(hi, big.NewInt(int64(x.Bit(n))))
				d[0], d[1], d[2] = wrapBig(x, n), wrapBig(hi, n), uint64(hi.Bit(n))
			})
		chain("mad.hi.cc+madc.lo.cc+madc.hi",
			fmt.Sprintf("%s d0, a0, a1, a2; %s d1, a0, a1, a3; %s d2, a0, a1, a2;", p("mad.hi.cc"), p("madc.lo.cc"), p("madc.hi")), 4,
			func(a, d []uint64) {
				hi := bigOf(wrapBig(new(big.Int).Rsh(product(a), uint(n)), n), n, false)
				lo := bigOf(wrapBig(product(a), n), n, false)
				x := new(big.Int).Add(hi, bigOf(a[2], n, false))
				y := new(big.Int).Add(lo, bigOf(a[3], n, false))
				y.Add(y, big.NewInt(int64(x.Bit(n))))
				z := new(big.Int).Add(hi, bigOf(a[2], n, false))
				z.Add(z, big.NewInt(int64(y.Bit(n))))
				d[0], d[1], d[2] = wrapBig(x, n), wrapBig(y, n), wrapBig(z, n)
			})
		chain("add.cc+madc.lo+addc",
			// The last addc still sees add.cc's carry: madc without .cc leaves it.
			fmt.Sprintf("%s d0, a0, a1; %s d1, a2, a3, a0; %s d2, 0, 0;", p("add.cc"), p("madc.lo"), p("addc")), 4,
			func(a, d []uint64) {
				x := new(big.Int).Add(bigOf(a[0], n, false), bigOf(a[1], n, false))
				carry := int64(x.Bit(n))
				y := new(big.Int).Mul(bigOf(a[2], n, false), bigOf(a[3], n, false))
				y.Add(y, bigOf(a[0], n, false)).Add(y, big.NewInt(carry))
				d[0], d[1], d[2] = wrapBig(x, n), wrapBig(y, n), uint64(carry)
			})
	}
	return rows
}

// mul24Rows multiply the low 24 bits: .lo keeps the low 32 of the 48-bit
// product, .hi the high 32.
func mul24Rows() []*row {
	var rows []*row
	for _, k := range []*kind{u32, s32} {
		for _, mode := range []string{"lo", "hi"} {
			product := func(x []*big.Int) *big.Int {
				y := make([]*big.Int, 2)
				for i := range y {
					y[i] = bigOf(wrapBig(x[i], 24), 24, k.signed)
				}
				p := bigMul(y)
				if mode == "hi" {
					p.Rsh(p, 16)
				}
				return p
			}
			rows = append(rows,
				intRow("mul24."+mode, k, 2, product),
				intRow("mad24."+mode, k, 3, plus(product)),
			)
		}
	}
	rows = append(rows, intRow("mad24.hi.sat", s32, 3, func(x []*big.Int) *big.Int {
		y := []*big.Int{bigOf(wrapBig(x[0], 24), 24, true), bigOf(wrapBig(x[1], 24), 24, true)}
		p := bigMul(y)
		p.Rsh(p, 16)
		return clampBig(p.Add(p, x[2]), 32, true)
	}))
	return rows
}

// dotRows are dp4a and dp2a.
func dotRows() []*row {
	var rows []*row
	for _, ta := range []*kind{u32, s32} {
		for _, tb := range []*kind{u32, s32} {
			acc := u32
			if ta.signed || tb.signed {
				acc = s32
			}
			dot := func(op string, size, first int) {
				rows = append(rows, &row{
					name: op + "/" + ta.name + "." + tb.name,
					code: fmt.Sprintf("%s.%s.%s d0, a0, a1, a2;", op, ta.name, tb.name),
					in:   []*kind{ta, tb, acc},
					out:  []*kind{acc},
					ref: one(func(a []uint64) uint64 {
						sum := bigOf(a[2], 32, acc.signed)
						for i := range 32 / size {
							x := bigOf(a[0]>>(size*i), size, ta.signed)
							y := bigOf(a[1]>>(8*(first+i)), 8, tb.signed)
							sum.Add(sum, x.Mul(x, y))
						}
						return wrapBig(sum, 32)
					}),
				})
			}
			dot("dp4a", 8, 0)
			dot("dp2a.lo", 16, 0)
			dot("dp2a.hi", 16, 2)
		}
	}
	return rows
}

// immediateRows have constants for operands, in every spelling PTX has.
func immediateRows() []*row {
	imm := func(name, code string, in, out *kind, f func(x *big.Int) *big.Int) *row {
		return &row{
			name: name, code: code, in: []*kind{in}, out: []*kind{out},
			ref: bigRef([]*kind{in}, out, func(x []*big.Int) *big.Int { return f(x[0]) }),
		}
	}
	add := func(c int64) func(x *big.Int) *big.Int {
		return func(x *big.Int) *big.Int { return new(big.Int).Add(x, big.NewInt(c)) }
	}
	return []*row{
		imm("add.imm/s32", "add.s32 d0, a0, -7;", s32, s32, add(-7)),
		imm("add.hex/u32", "add.u32 d0, a0, 0xFFFFFFFF;", u32, u32, add(0xffffffff)),
		imm("add.octal/u32", "add.u32 d0, a0, 0777;", u32, u32, add(0777)),
		imm("add.binary/u32", "add.u32 d0, a0, 0b1011;", u32, u32, add(11)),
		imm("add.unsigned/u64", "add.u64 d0, a0, 0x123456789U;", u64, u64, add(0x123456789)),
		imm("add.imm/s64", "add.s64 d0, a0, -1;", s64, s64, add(-1)),
		imm("add.imm/s16", "add.s16 d0, a0, -1;", s16, s16, add(-1)),
		imm("sub.imm.first/s32", "sub.s32 d0, 5, a0;", s32, s32,
			func(x *big.Int) *big.Int { return new(big.Int).Sub(big.NewInt(5), x) }),
		imm("mul.wide.imm/s32", "mul.wide.s32 d0, a0, -3;", s32, s64,
			func(x *big.Int) *big.Int { return new(big.Int).Mul(x, big.NewInt(-3)) }),
	}
}
