package devicetest

import (
	"fmt"
	"math/big"
	"strings"
)

// Integer rounding modes of cvt and what they are.
var integerRounds = map[string]rounding{
	".rni": nearestEven, ".rzi": towardZero, ".rmi": downward, ".rpi": upward,
}

var integerRoundNames = []string{".rni", ".rzi", ".rmi", ".rpi"}

// conversion is one form of cvt between two scalar types.
type conversion struct {
	to, from     *kind
	round        string // ".rn", ".rzi", or ""
	ftz, sat     bool
	relu, satfin bool
	isa          isa
}

func (c conversion) name() string {
	s := "cvt" + c.round
	if c.ftz {
		s += ".ftz"
	}
	relu := ""
	if c.relu {
		relu = ".relu"
	}
	switch {
	case c.satfin && c.to.bits == 8: // the ISA's order for 8-bit types
		s += ".satfinite" + relu
	case c.satfin:
		s += relu + ".satfinite"
	default:
		s += relu
	}
	if c.sat {
		s += ".sat"
	}
	return s
}

func (c conversion) row() *row {
	r := &row{
		name: fmt.Sprintf("%s/%s.%s", c.name(), c.to.name, c.from.name),
		code: fmt.Sprintf("%s.%s.%s d0, a0;", c.name(), c.to.name, c.from.name),
		isa:  c.isa,
		in:   []*kind{c.from},
		out:  []*kind{c.to},
		ref:  one(func(a []uint64) uint64 { return c.convert(mask(a[0], c.from.bits)) }),
	}
	switch {
	case c.round == ".rna":
		// A NaN whose payload is in the low bits alone stays NaN only in storage.
		r.open = func(a []uint64) bool { return f32.isNaN(a[0]) }
	case c.ftz && c.to == half && (c.round == ".rm" || c.round == ".rp"):
		// An H200 does not flush the source here, though the ISA says so.
		r.open = func(a []uint64) bool { return f32.isSubnormal(a[0]) }
	}
	return r
}

// convert is the reference: bits of c.from to bits of c.to.
func (c conversion) convert(x uint64) uint64 {
	from, to := c.from.format, c.to.format
	switch {
	case from == nil && to == nil:
		v := bigOf(x, c.from.bits, c.from.signed)
		if c.sat {
			v = clampBig(v, c.to.bits, c.to.signed)
		}
		return c.toInt(v)
	case from == nil:
		return c.finish(to.pack(intNumber(bigOf(x, c.from.bits, c.from.signed)), c.rounding()))
	}
	if c.ftz && from == f32 {
		x = from.flush(x)
	}
	n := from.unpack(x)
	switch {
	case to == nil:
		return c.floatToInt(n)
	case c.satfin && !n.nan:
		n = limitMagnitude(n, to.unpack(to.max()))
	}
	if r, ok := integerRounds[c.round]; ok && !n.nan && !n.inf {
		neg := n.neg
		n = intNumber(n.roundInt(r))
		n.neg = neg
	}
	return c.finish(to.pack(n, c.rounding()))
}

// limitMagnitude replaces numbers beyond limit, infinity included, by limit with
// their sign.
func limitMagnitude(n, limit number) number {
	magnitude := n
	magnitude.neg = false
	if cmpNumber(magnitude, limit) <= 0 {
		return n
	}
	limit.neg = n.neg
	return limit
}

// rounding is how a result is rounded to a float format.
func (c conversion) rounding() rounding {
	switch c.round {
	case ".rn", ".rz", ".rm", ".rp", ".rna":
		return rounding(strings.TrimPrefix(c.round, "."))
	}
	return nearestEven // exact anyway
}

// finish applies the modifiers to a float result.
func (c conversion) finish(bits uint64) uint64 {
	f := c.to.format
	if c.ftz && f == f32 {
		bits = f.flush(bits)
	}
	if c.relu {
		bits = f.relu(bits)
	}
	if c.sat {
		bits = f.saturate(bits)
	}
	return bits
}

// toInt is v in the destination's register: 8-bit results fill 16 bits,
// extended by their sign.
func (c conversion) toInt(v *big.Int) uint64 {
	v = bigOf(wrapBig(v, c.to.bits), c.to.bits, c.to.signed)
	return wrapBig(v, c.to.width())
}

// floatToInt clamps to the destination's range. NaN becomes 0 unless source or
// destination has 64 bits; then it becomes the integer with only the top bit
// set.
func (c conversion) floatToInt(n number) uint64 {
	lo, hi := limits(c.to.bits, c.to.signed)
	switch {
	case n.nan && c.from != double && c.to.bits != 64:
		return 0
	case n.nan:
		return c.toInt(new(big.Int).Lsh(big.NewInt(1), uint(c.to.bits-1)))
	case n.inf && n.neg:
		return c.toInt(lo)
	case n.inf:
		return c.toInt(hi)
	}
	return c.toInt(clampBig(n.roundInt(integerRounds[c.round]), c.to.bits, c.to.signed))
}

func cvtRows() []*row {
	var rows []*row
	for _, c := range conversions() {
		rows = append(rows, c.row())
	}
	return append(rows, packedCvtRows()...)
}

// covers reports whether every value of from is one of to: then PTX has no .sat.
func covers(to, from *kind) bool {
	toLo, toHi := limits(to.bits, to.signed)
	lo, hi := limits(from.bits, from.signed)
	return toLo.Cmp(lo) <= 0 && toHi.Cmp(hi) >= 0
}

var (
	cvtInts   = []*kind{u8, u16, u32, u64, s8, s16, s32, s64}
	cvtFloats = []*kind{half, single, double}
)

// conversions lists every legal form between scalar types.
func conversions() []conversion {
	var all []conversion
	for _, to := range cvtInts {
		for _, from := range cvtInts {
			all = append(all, conversion{to: to, from: from})
			if !covers(to, from) {
				all = append(all, conversion{to: to, from: from, sat: true})
			}
		}
	}
	for _, i := range cvtInts {
		for _, f := range cvtFloats {
			all = append(all, mixedConversions(i, f)...)
		}
	}
	for _, from := range cvtFloats {
		for _, to := range cvtFloats {
			all = append(all, floatConversions(to, from)...)
		}
	}
	all = append(all, bfloatConversions()...)
	return append(all, narrowConversions()...)
}

// mixedConversions are those between an integer and a float type, both ways.
func mixedConversions(i, f *kind) []conversion {
	var all []conversion
	add := func(c conversion) {
		all = append(all, c)
		c.sat = true
		all = append(all, c)
		c.sat, c.ftz = false, true
		if f == single {
			all = append(all, c)
		}
	}
	for _, r := range integerRoundNames {
		add(conversion{to: i, from: f, round: r})
	}
	for _, r := range everyRound {
		add(conversion{to: f, from: i, round: r})
	}
	return all
}

// floatConversions are those between float types: wider is exact, narrower
// rounds, the same size may round to an integer.
func floatConversions(to, from *kind) []conversion {
	rounds := []string{""}
	switch {
	case to.bits < from.bits:
		rounds = everyRound
	case to == from:
		rounds = append(rounds, integerRoundNames...)
	}
	var all []conversion
	for _, r := range rounds {
		for _, ftz := range []bool{false, true} {
			if ftz && from != single && to != single {
				continue
			}
			for _, sat := range []bool{false, true} {
				all = append(all, conversion{to: to, from: from, round: r, ftz: ftz, sat: sat})
			}
		}
	}
	return all
}

// bfloatConversions are those of bf16 with every type but f32's rounding ones.
// The assembler of CUDA 13 has none with 8-bit integers.
func bfloatConversions() []conversion {
	all := []conversion{
		{to: single, from: bfloat, isa: hopper},
		{to: single, from: bfloat, ftz: true, isa: hopper},
		{to: double, from: bfloat, isa: hopper},
		{to: bfloat, from: bfloat, isa: hopper},
	}
	for _, r := range integerRoundNames {
		all = append(all, conversion{to: bfloat, from: bfloat, round: r, isa: hopper})
		for _, i := range cvtInts {
			if i.bits > 8 {
				all = append(all, conversion{to: i, from: bfloat, round: r, isa: hopper})
			}
		}
	}
	for _, r := range everyRound {
		all = append(all,
			conversion{to: bfloat, from: double, round: r, isa: hopper},
			conversion{to: bfloat, from: half, round: r, isa: hopper},
			conversion{to: half, from: bfloat, round: r, isa: hopper})
		for _, i := range cvtInts {
			if i.bits > 8 {
				all = append(all, conversion{to: bfloat, from: i, round: r, isa: hopper})
			}
		}
	}
	return all
}

// narrowConversions round f32 to a narrower format, with the modifiers that
// only these forms have.
func narrowConversions() []conversion {
	var all []conversion
	for _, r := range []string{".rn", ".rz"} {
		for _, relu := range []bool{false, true} {
			all = append(all,
				conversion{to: bfloat, from: single, round: r, relu: relu, isa: ampere},
				conversion{to: tfloat32, from: single, round: r, relu: relu, isa: hopper},
				conversion{to: bfloat, from: single, round: r, relu: relu, satfin: true, isa: ampere81},
				conversion{to: half, from: single, round: r, relu: relu, satfin: true, isa: ampere81})
		}
		all = append(all, conversion{to: half, from: single, round: r, relu: true, isa: ampere})
	}
	return append(all,
		conversion{to: tfloat32, from: single, round: ".rna", isa: ampere},
		conversion{to: tfloat32, from: single, round: ".rna", satfin: true, isa: ampere81})
}

// packedCvtRows convert two values at once; the first source is the high half.
func packedCvtRows() []*row {
	var rows []*row
	fp8 := isa{"8.1", 89}
	for _, relu := range []bool{false, true} {
		for _, r := range []string{".rn", ".rz"} {
			rows = append(rows,
				pairRow(conversion{to: half, from: single, round: r, relu: relu}, half2, ampere),
				pairRow(conversion{to: bfloat, from: single, round: r, relu: relu}, bfloat2, ampere),
				pairRow(conversion{to: half, from: single, round: r, relu: relu, satfin: true}, half2, ampere81),
				pairRow(conversion{to: bfloat, from: single, round: r, relu: relu, satfin: true}, bfloat2, ampere81))
		}
		for _, k := range []struct {
			packed *kind
			f      *format
		}{{fp8e4m3, e4m3}, {fp8e5m2, e5m2}} {
			part := floatKind(k.f.name, k.f)
			rows = append(rows,
				pairRow(conversion{to: part, from: single, round: ".rn", satfin: true, relu: relu}, k.packed, fp8),
				halvesRow(conversion{to: part, from: half, round: ".rn", satfin: true, relu: relu}, k.packed, half2, fp8),
				halvesRow(conversion{to: half, from: part, round: ".rn", relu: relu}, half2, k.packed, fp8))
		}
	}
	return rows
}

// pairRow converts two scalar sources into a packed destination.
func pairRow(c conversion, packed *kind, is isa) *row {
	n := c.to.bits
	return &row{
		name: c.name() + "/" + packed.name + "." + c.from.name,
		code: fmt.Sprintf("%s.%s.%s d0, a0, a1;", c.name(), packed.name, c.from.name),
		isa:  is,
		in:   repeat(c.from, 2),
		out:  []*kind{packed},
		ref:  one(func(a []uint64) uint64 { return c.convert(a[0])<<n | c.convert(a[1]) }),
	}
}

// halvesRow converts a packed source into a packed destination.
func halvesRow(c conversion, to, from *kind, is isa) *row {
	return &row{
		name: c.name() + "/" + to.name + "." + from.name,
		code: fmt.Sprintf("%s.%s.%s d0, a0;", c.name(), to.name, from.name),
		isa:  is,
		in:   []*kind{from},
		out:  []*kind{to},
		ref: one(func(a []uint64) uint64 {
			x := from.split(a[0])
			return c.convert(x[1])<<c.to.bits | c.convert(x[0])
		}),
	}
}
