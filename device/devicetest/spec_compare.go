package devicetest

import "fmt"

var (
	signedCompares   = []string{"eq", "ne", "lt", "le", "gt", "ge"}
	unsignedCompares = []string{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}
	floatCompares    = []string{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}
)

// holds evaluates a comparison from an order (-1, 0, 1) and whether the
// operands are ordered at all.
func holds(cmp string, order int, ordered bool) bool {
	switch cmp {
	case "num":
		return ordered
	case "nan":
		return !ordered
	}
	if !ordered {
		return len(cmp) == 3 // equ neu ltu leu gtu geu
	}
	switch cmp[:2] {
	case "eq":
		return order == 0
	case "ne":
		return order != 0
	case "lt", "lo":
		return order < 0
	case "le", "ls":
		return order <= 0
	case "gt", "hi":
		return order > 0
	}
	return order >= 0 // ge hs
}

// compareParts compares each part of two values of kind k.
func compareParts(cmp string, k *kind, ftz bool, a, b uint64) []bool {
	x, y := k.split(a), k.split(b)
	out := make([]bool, len(x))
	for i := range x {
		if k.format == nil {
			out[i] = holds(cmp, bigOf(x[i], k.partBits(), k.signed).Cmp(bigOf(y[i], k.partBits(), k.signed)), true)
			continue
		}
		f := k.format
		if ftz {
			x[i], y[i] = f.flush(x[i]), f.flush(y[i])
		}
		ordered := !f.isNaN(x[i]) && !f.isNaN(y[i])
		order := 0
		if ordered {
			order = cmpNumber(f.unpack(x[i]), f.unpack(y[i]))
		}
		out[i] = holds(cmp, order, ordered)
	}
	return out
}

// combine applies the Boolean operator of set and setp; "" is none.
func combine(op string, x, c bool) bool {
	switch op {
	case "and":
		return x && c
	case "or":
		return x || c
	case "xor":
		return x != c
	}
	return x
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// comparable lists the types of set and setp.
var comparable = []struct {
	k    *kind
	cmps []string
	ftz  bool
	isa  isa
}{
	{b16, []string{"eq", "ne"}, false, baseline},
	{b32, []string{"eq", "ne"}, false, baseline},
	{b64, []string{"eq", "ne"}, false, baseline},
	{u16, unsignedCompares, false, baseline},
	{u32, unsignedCompares, false, baseline},
	{u64, unsignedCompares, false, baseline},
	{s16, signedCompares, false, baseline},
	{s32, signedCompares, false, baseline},
	{s64, signedCompares, false, baseline},
	{single, floatCompares, true, baseline},
	{double, floatCompares, false, baseline},
	{half, floatCompares, true, baseline},
	{half2, floatCompares, true, baseline},
	{bfloat, floatCompares, false, hopper},
	{bfloat2, floatCompares, false, hopper},
}

// compareThreads is how many operand sets each of the many rows here sees.
const compareThreads = 512

func compareRows() []*row {
	var rows []*row
	for _, c := range comparable {
		for i, cmp := range c.cmps {
			for _, ftz := range []bool{false, true} {
				if ftz && !c.ftz {
					continue
				}
				rows = append(rows, setpRow(c.k, cmp, "", ftz, c.isa))
				// The operators do not depend on the comparison: each meets some.
				op := []string{"and", "or", "xor"}[i%3]
				rows = append(rows, setpRow(c.k, cmp, op, ftz, c.isa), setpRow(c.k, cmp, op+"!", ftz, c.isa))
			}
		}
		for _, op := range []string{"or", "xor"} { // eq met "and" above
			rows = append(rows, setpRow(c.k, "eq", op, false, c.isa))
		}
	}
	rows = append(rows, setRows()...)
	for _, r := range rows {
		r.threads = compareThreads
	}
	return append(rows, selectRows()...)
}

// setpRow makes setp. There is a second destination where the operands are
// packed, and, with a Boolean operator, for its complement, which only 16-bit
// floating point lacks. op is "" or an operator, with ! for a negated predicate.
func setpRow(k *kind, cmp, op string, ftz bool, is isa) *row {
	text, not := op, false
	if op != "" && op[len(op)-1] == '!' {
		text, not = op[:len(op)-1], true
	}
	name := "setp." + cmp
	if text != "" {
		name += "." + text
	}
	if ftz {
		name += ".ftz"
	}
	r := &row{
		name: name + "/" + k.name,
		isa:  is,
		in:   repeat(k, 2),
		out:  []*kind{pred, pred},
	}
	source := ""
	if text != "" {
		r.in = append(r.in, pred)
		source = ", a2"
		if not {
			source = ", !a2"
			r.name += ".not"
		}
	}
	pair := k.parts == 2 || text != "" && k != half && k != bfloat
	if pair {
		r.code = fmt.Sprintf("%s.%s d0|d1, a0, a1%s;", name, k.name, source)
	} else {
		r.code = fmt.Sprintf("%s.%s d0, a0, a1%s;", name, k.name, source)
		r.out = r.out[:1]
	}
	r.ref = each(func(a, d []uint64) {
		c := text != "" && a[2] != 0 != not
		x := compareParts(cmp, k, ftz, a[0], a[1])
		d[0] = truth(combine(text, x[0], c))
		switch {
		case k.parts == 2:
			d[1] = truth(combine(text, x[1], c))
		case pair:
			d[1] = truth(combine(text, !x[0], c))
		}
	})
	return r
}

// setRows are set: a comparison whose result is all ones or 1.0.
func setRows() []*row {
	var rows []*row
	for _, c := range comparable {
		results := []*kind{u32, s32, single, half, bfloat}
		switch c.k {
		case half, bfloat:
			results = []*kind{half, bfloat, u32, s32, u16, s16}
		case half2, bfloat2:
			results = []*kind{c.k, u32, s32}
		}
		for _, d := range results {
			is := c.isa
			if d == bfloat {
				is = hopper
			}
			if d == half && c.k == bfloat {
				continue // no such form
			}
			for i, cmp := range c.cmps {
				// With and without ftz, each operator meets some of the comparisons.
				op := []string{"", "and", "or", "xor"}[i%4]
				rows = append(rows, setRow(d, c.k, cmp, op, false, is))
				if c.ftz && d != bfloat {
					rows = append(rows, setRow(d, c.k, cmp, op, true, is))
				}
			}
		}
	}
	return rows
}

func setRow(d, k *kind, cmp, op string, ftz bool, is isa) *row {
	name := "set." + cmp
	in := repeat(k, 2)
	source := ""
	if op != "" {
		name += "." + op
		in = append(in, pred)
		source = ", a2"
	}
	if ftz {
		name += ".ftz"
	}
	return &row{
		name: name + "/" + d.name + "." + k.name,
		code: fmt.Sprintf("%s.%s.%s d0, a0, a1%s;", name, d.name, k.name, source),
		isa:  is,
		in:   in,
		out:  []*kind{d},
		ref: one(func(a []uint64) uint64 {
			yes := mask(^uint64(0), d.bits/k.parts)
			if d.format != nil {
				yes = d.format.one()
			}
			var out uint64
			for i, x := range compareParts(cmp, k, ftz, a[0], a[1]) {
				if combine(op, x, op != "" && a[2] != 0) {
					out |= yes << (i * d.bits / k.parts)
				}
			}
			return out
		}),
	}
}

// selectRows are selp and slct.
func selectRows() []*row {
	var rows []*row
	kinds := []*kind{b16, b32, b64, u16, u32, u64, s16, s32, s64, single, double}
	for _, k := range kinds {
		rows = append(rows, &row{
			name: "selp/" + k.name,
			code: fmt.Sprintf("selp.%s d0, a0, a1, a2;", k.name),
			in:   []*kind{k, k, pred},
			out:  []*kind{bitsOf(k)},
			ref: one(func(a []uint64) uint64 {
				if a[2] != 0 {
					return a[0]
				}
				return a[1]
			}),
		})
		for _, c := range []struct {
			k   *kind
			ftz string
		}{{s32, ""}, {single, ""}, {single, ".ftz"}} {
			rows = append(rows, &row{
				name: "slct" + c.ftz + "/" + k.name + "." + c.k.name,
				code: fmt.Sprintf("slct%s.%s.%s d0, a0, a1, a2;", c.ftz, k.name, c.k.name),
				in:   []*kind{k, k, c.k},
				out:  []*kind{bitsOf(k)},
				ref: one(func(a []uint64) uint64 {
					if compareParts("ge", c.k, c.ftz != "", a[2], 0)[0] {
						return a[0]
					}
					return a[1]
				}),
			})
		}
	}
	return rows
}
