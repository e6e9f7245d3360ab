package devicetest

import (
	"fmt"
	"strings"
)

// floatOp is an arithmetic operation on exact numbers; r matters only for the
// sign of zero.
type floatOp func(x []number, r rounding) number

func fmaNumber(x []number, r rounding) number { return addNumber(mulNumber(x[0], x[1]), x[2], r) }

// floatForm is an instruction form: how its operands and result are treated.
type floatForm struct {
	round          string // ".rn", or "" where the form has none (then it is rn)
	ftz, sat, relu bool
}

// suffix spells the form's modifiers.
func (f floatForm) suffix() string {
	s := f.round
	if f.ftz {
		s += ".ftz"
	}
	if f.relu {
		s += ".relu"
	}
	if f.sat {
		s += ".sat"
	}
	return s
}

func (f floatForm) rounding() rounding {
	if f.round == "" {
		return nearestEven
	}
	return rounding(strings.TrimPrefix(f.round, "."))
}

// finish applies what the form does to a rounded result.
func (f floatForm) finish(k *kind, bits uint64) uint64 {
	if f.ftz {
		bits = k.format.flush(bits)
	}
	if f.relu {
		bits = k.format.relu(bits)
	}
	if f.sat {
		bits = k.format.saturate(bits)
	}
	return bits
}

// floatRow makes the row of one arithmetic form for kind k.
func floatRow(op string, f floatForm, k *kind, sources int, is isa, do floatOp) *row {
	exact := func(a []uint64) number {
		x := make([]number, len(a))
		for i, bits := range a {
			if f.ftz {
				bits = k.format.flush(bits)
			}
			x[i] = k.format.unpack(bits)
		}
		return do(x, f.rounding())
	}
	r := &row{
		name: op + f.suffix() + "/" + k.name,
		code: fmt.Sprintf("%s%s.%s %s;", op, f.suffix(), k.name, destAndSources(sources)),
		isa:  is,
		in:   repeat(k, sources),
		out:  []*kind{k},
		ref: one(func(a []uint64) uint64 {
			return k.perPart(a, func(a []uint64) uint64 {
				return f.finish(k, k.format.pack(exact(a), f.rounding()))
			})
		}),
	}
	if f.ftz {
		// Whether a result that is subnormal before rounding and normal after it is
		// flushed, the ISA does not say; GPUs differ from type to type.
		r.open = func(a []uint64) bool {
			var borderline uint64
			k.perPart(a, func(a []uint64) uint64 {
				n := exact(a)
				if k.format.pack(n, f.rounding())&^k.format.sign() == k.format.minNormal() &&
					k.format.pack(n, towardZero)&^k.format.sign() < k.format.minNormal() {
					borderline = 1
				}
				return 0
			})
			return borderline != 0
		}
	}
	return r
}

// forms returns every combination of rounding modes with the given switches.
func forms(rounds []string, ftz, sat bool) []floatForm {
	var all []floatForm
	for _, r := range rounds {
		for _, z := range []bool{false, true} {
			for _, s := range []bool{false, true} {
				if z && !ftz || s && !sat {
					continue
				}
				all = append(all, floatForm{round: r, ftz: z, sat: s})
			}
		}
	}
	return all
}

var (
	everyRound  = []string{".rn", ".rz", ".rm", ".rp"}
	roundOrNone = append([]string{""}, everyRound...)
)

func floatRows() []*row {
	rows := arithmeticRows()
	rows = append(rows, divideRows()...)
	rows = append(rows, signRows()...)
	rows = append(rows, minMaxRows()...)
	rows = append(rows, approxRows()...)
	return append(rows, testpRows()...)
}

// arithmeticRows are add, sub, mul, fma and mad.
func arithmeticRows() []*row {
	ops := []struct {
		name    string
		sources int
		do      floatOp
	}{
		{"add", 2, func(x []number, r rounding) number { return addNumber(x[0], x[1], r) }},
		{"sub", 2, func(x []number, r rounding) number { return addNumber(x[0], x[1].negate(), r) }},
		{"mul", 2, func(x []number, _ rounding) number { return mulNumber(x[0], x[1]) }},
		{"fma", 3, fmaNumber},
	}
	var rows []*row
	for _, op := range ops {
		add := func(k *kind, is isa, list []floatForm) {
			for _, f := range list {
				if op.name == "fma" && f.round == "" {
					continue // fma always names its rounding
				}
				rows = append(rows, floatRow(op.name, f, k, op.sources, is, op.do))
			}
		}
		add(single, baseline, forms(roundOrNone, true, true))
		add(double, baseline, forms(roundOrNone, false, false))
		for _, k := range []*kind{half, half2} {
			add(k, baseline, forms([]string{"", ".rn"}, true, true))
		}
		is := hopper
		if op.name == "fma" {
			is = ampere
		}
		for _, k := range []*kind{bfloat, bfloat2} {
			add(k, is, forms([]string{"", ".rn"}, false, false))
		}
	}
	for _, k := range []*kind{half, half2} {
		rows = append(rows,
			floatRow("fma", floatForm{round: ".rn", relu: true}, k, 3, ampere, fmaNumber),
			floatRow("fma", floatForm{round: ".rn", ftz: true, relu: true}, k, 3, ampere, fmaNumber))
	}
	for _, k := range []*kind{bfloat, bfloat2} {
		rows = append(rows, floatRow("fma", floatForm{round: ".rn", relu: true}, k, 3, ampere, fmaNumber))
	}
	for _, f := range forms(everyRound, true, true) {
		rows = append(rows, floatRow("mad", f, single, 3, baseline, fmaNumber))
	}
	for _, f := range forms(everyRound, false, false) {
		rows = append(rows, floatRow("mad", f, double, 3, baseline, fmaNumber))
	}
	return rows
}

// divideRows are the correctly rounded div, rcp and sqrt.
func divideRows() []*row {
	var rows []*row
	add := func(op string, sources int, do floatOp) {
		for _, f := range forms(everyRound, true, false) {
			rows = append(rows, floatRow(op, f, single, sources, baseline, do))
		}
		for _, f := range forms(everyRound, false, false) {
			rows = append(rows, floatRow(op, f, double, sources, baseline, do))
		}
	}
	add("div", 2, func(x []number, _ rounding) number { return divNumber(x[0], x[1]) })
	add("rcp", 1, func(x []number, _ rounding) number {
		return divNumber(number{mant: bigOf(1, 64, false)}, x[0])
	})
	add("sqrt", 1, func(x []number, _ rounding) number { return sqrtNumber(x[0]) })
	return rows
}

// floatTypes are the kinds that have neg, abs, min and max, with what those
// need.
var floatTypes = []struct {
	k               *kind
	ftz             bool
	sign, minMax    isa
	nan, xorsignAbs isa
}{
	{single, true, baseline, baseline, ampere, isa{"7.8", 86}},
	{double, false, baseline, baseline, isa{}, isa{}},
	{half, true, baseline, ampere, ampere, isa{"7.8", 86}},
	{half2, true, baseline, ampere, ampere, isa{"7.8", 86}},
	{bfloat, false, ampere, ampere, ampere, isa{"7.8", 86}},
	{bfloat2, false, ampere, ampere, ampere, isa{"7.8", 86}},
}

// signRows are neg, abs and copysign.
func signRows() []*row {
	var rows []*row
	for _, ft := range floatTypes {
		for _, f := range forms([]string{""}, ft.ftz, false) {
			rows = append(rows,
				floatRow("neg", f, ft.k, 1, ft.sign, func(x []number, _ rounding) number { return x[0].negate() }),
				floatRow("abs", f, ft.k, 1, ft.sign, func(x []number, _ rounding) number {
					x[0].neg = false
					return x[0]
				}))
		}
	}
	for _, k := range []*kind{single, double} {
		rows = append(rows, &row{
			name: "copysign/" + k.name,
			code: fmt.Sprintf("copysign.%s d0, a0, a1;", k.name),
			in:   repeat(k, 2),
			out:  []*kind{k},
			// The sign of the first on the magnitude of the second.
			ref: one(func(a []uint64) uint64 { return a[0]&k.format.sign() | a[1]&^k.format.sign() }),
		})
	}
	return rows
}

// minMaxRows are min and max with their modifiers.
func minMaxRows() []*row {
	var rows []*row
	for _, ft := range floatTypes {
		for _, op := range []string{"min", "max"} {
			for _, f := range forms([]string{""}, ft.ftz, false) {
				rows = append(rows, minMaxRow(op, f.ftz, false, false, ft.k, ft.minMax))
				if ft.nan == (isa{}) {
					continue
				}
				rows = append(rows,
					minMaxRow(op, f.ftz, true, false, ft.k, ft.nan),
					minMaxRow(op, f.ftz, false, true, ft.k, ft.xorsignAbs),
					minMaxRow(op, f.ftz, true, true, ft.k, ft.xorsignAbs))
			}
		}
	}
	return rows
}

func minMaxRow(op string, ftz, nan, xorsign bool, k *kind, is isa) *row {
	suffix := ""
	if ftz {
		suffix += ".ftz"
	}
	if nan {
		suffix += ".NaN"
	}
	if xorsign {
		suffix += ".xorsign.abs"
	}
	return &row{
		name: op + suffix + "/" + k.name,
		code: fmt.Sprintf("%s%s.%s d0, a0, a1;", op, suffix, k.name),
		isa:  is,
		in:   repeat(k, 2),
		out:  []*kind{k},
		ref: one(func(a []uint64) uint64 {
			return k.perPart(a, func(a []uint64) uint64 {
				return minMax(k.format, op == "max", ftz, nan, xorsign, a[0], a[1])
			})
		}),
	}
}

// minMax picks the smaller or larger operand. One NaN loses unless nan says
// that it wins; -0 is less than +0.
func minMax(f *format, larger, ftz, nan, xorsign bool, a, b uint64) uint64 {
	var sign uint64
	if xorsign {
		sign = (a ^ b) & f.sign()
		a &^= f.sign()
		b &^= f.sign()
	}
	if ftz {
		a, b = f.flush(a), f.flush(b)
	}
	switch {
	case f.isNaN(a) && f.isNaN(b), nan && (f.isNaN(a) || f.isNaN(b)):
		return f.nan()
	case f.isNaN(a):
		return b | sign
	case f.isNaN(b):
		return a | sign
	}
	x, y := f.unpack(a), f.unpack(b)
	order := cmpNumber(x, y)
	if order == 0 && x.neg != y.neg { // zeros
		order = 1
		if x.neg {
			order = -1
		}
	}
	if larger == (order > 0) {
		return a | sign
	}
	return b | sign
}

// testpRows classify numbers.
func testpRows() []*row {
	var rows []*row
	for _, k := range []*kind{single, double} {
		f := k.format
		tests := []struct {
			name string
			is   func(x uint64) bool
		}{
			{"finite", func(x uint64) bool { return !f.isNaN(x) && !f.isInf(x) }},
			{"infinite", f.isInf},
			{"number", func(x uint64) bool { return !f.isNaN(x) }},
			{"notanumber", f.isNaN},
			{"normal", func(x uint64) bool {
				m := x &^ f.sign()
				return m == 0 || m >= f.minNormal() && m < f.inf() // zero counts as normal
			}},
			{"subnormal", f.isSubnormal},
		}
		for _, test := range tests {
			rows = append(rows, &row{
				name: "testp." + test.name + "/" + k.name,
				code: fmt.Sprintf("testp.%s.%s d0, a0;", test.name, k.name),
				in:   []*kind{k},
				out:  []*kind{pred},
				ref: one(func(a []uint64) uint64 {
					if test.is(a[0]) {
						return 1
					}
					return 0
				}),
			})
		}
	}
	return rows
}
