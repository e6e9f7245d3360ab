package devicetest

import (
	"fmt"
	"math"
)

// approx is an instruction with a stated error instead of a rounding.
type approx struct {
	op       string
	k        *kind
	isa      isa
	ftz      bool
	sources  int
	f        func(x []float64) float64
	rel, abs float64 // allowed error; either suffices
	// domain, if not nil, says where the error is stated.
	domain func(x []float64) bool
}

// approxRows are the fast approximations. The errors are those of the PTX ISA,
// doubled where it states one for a full range only in words.
func approxRows() []*row {
	recip := func(x []float64) float64 { return 1 / x[0] }
	sqrt := func(x []float64) float64 { return math.Sqrt(x[0]) }
	rsqrt := func(x []float64) float64 { return 1 / math.Sqrt(x[0]) }
	quotient := func(x []float64) float64 { return x[0] / x[1] }
	exp2 := func(x []float64) float64 { return math.Exp2(x[0]) }
	tanh := func(x []float64) float64 { return math.Tanh(x[0]) }
	turn := func(x []float64) bool { return math.Abs(x[0]) <= math.Pi }
	ulps := func(n float64) float64 { return n * 0x1p-23 }

	var rows []*row
	for _, ftz := range []bool{false, true} {
		for _, a := range []approx{
			{op: "rcp.approx", k: single, sources: 1, f: recip, rel: ulps(1)},
			{op: "sqrt.approx", k: single, sources: 1, f: sqrt, rel: ulps(2)},
			{op: "rsqrt.approx", k: single, sources: 1, f: rsqrt, rel: 0x1p-22},
			{op: "ex2.approx", k: single, sources: 1, f: exp2, rel: 0x1p-22},
			{op: "lg2.approx", k: single, sources: 1, f: func(x []float64) float64 { return math.Log2(x[0]) },
				rel: 0x1p-22, abs: 0x1p-22},
			{op: "sin.approx", k: single, sources: 1, f: func(x []float64) float64 { return math.Sin(x[0]) },
				abs: 0x1p-20, domain: turn},
			{op: "cos.approx", k: single, sources: 1, f: func(x []float64) float64 { return math.Cos(x[0]) },
				abs: 0x1p-20, domain: turn},
			{op: "div.full", k: single, sources: 2, f: quotient, rel: ulps(2), domain: divisible(0x1p-120, 0x1p120)},
			{op: "div.approx", k: single, sources: 2, f: quotient, rel: ulps(2), domain: divisible(0x1p-126, 0x1p126)},
		} {
			a.ftz = ftz
			rows = append(rows, a.row())
		}
	}
	return append(rows,
		approx{op: "rsqrt.approx", k: double, sources: 1, f: rsqrt, rel: 0x1p-20}.row(),
		approx{op: "rcp.approx.ftz", k: double, sources: 1, f: recip, rel: 0x1p-19, domain: normalReciprocal}.row(),
		approx{op: "rsqrt.approx.ftz", k: double, sources: 1, f: rsqrt, rel: 0x1p-19, domain: normalReciprocal}.row(),
		approx{op: "tanh.approx", k: single, isa: ampere, sources: 1, f: tanh, rel: 0x1p-10}.row(),
		approx{op: "tanh.approx", k: half, isa: ampere, sources: 1, f: tanh, abs: 0x1p-10}.row(),
		approx{op: "tanh.approx", k: half2, isa: ampere, sources: 1, f: tanh, abs: 0x1p-10}.row(),
		approx{op: "tanh.approx", k: bfloat, isa: hopper, sources: 1, f: tanh, abs: 0x1p-8}.row(),
		approx{op: "tanh.approx", k: bfloat2, isa: hopper, sources: 1, f: tanh, abs: 0x1p-8}.row(),
		approx{op: "ex2.approx", k: half, isa: ampere, sources: 1, f: exp2, rel: 0x1p-9}.row(),
		approx{op: "ex2.approx", k: half2, isa: ampere, sources: 1, f: exp2, rel: 0x1p-9}.row(),
		approx{op: "ex2.approx.ftz", k: bfloat, isa: hopper, ftz: true, sources: 1, f: exp2, rel: 0x1p-7}.row(),
		approx{op: "ex2.approx.ftz", k: bfloat2, isa: hopper, ftz: true, sources: 1, f: exp2, rel: 0x1p-7}.row(),
	)
}

// divisible limits the divisor to magnitudes for which the ISA states an error,
// and the quotient to normal numbers.
func divisible(lo, hi float64) func(x []float64) bool {
	return func(x []float64) bool {
		b, q := math.Abs(x[1]), math.Abs(x[0]/x[1])
		return b >= lo && b <= hi && (q == 0 || q >= 0x1p-126) && math.Abs(x[0]) >= 0x1p-126
	}
}

// normalReciprocal excludes the ends of the range, where flushing decides.
func normalReciprocal(x []float64) bool {
	m := math.Abs(x[0])
	return m == 0 || m >= 0x1p-1000 && m <= 0x1p1000
}

// float converts bits of f to float64, which holds every narrower number.
func (f *format) float(bits uint64) float64 {
	return math.Float64frombits(f64.pack(f.unpack(bits), nearestEven))
}

// fromFloat rounds x to f.
func (f *format) fromFloat(x float64) uint64 {
	return f.pack(f64.unpack(math.Float64bits(x)), nearestEven)
}

func (ap approx) row() *row {
	name := ap.op
	// Half-precision forms spell .ftz in op: it is part of the only form there is.
	if ap.ftz && ap.k == single {
		name += ".ftz"
	}
	f := ap.k.format
	args := func(a []uint64) []float64 {
		x := make([]float64, len(a))
		for i, bits := range a {
			if ap.ftz {
				bits = f.flush(bits)
			}
			x[i] = f.float(bits)
		}
		return x
	}
	r := &row{
		name: name + "/" + ap.k.name,
		code: fmt.Sprintf("%s.%s %s;", name, ap.k.name, destAndSources(ap.sources)),
		isa:  ap.isa,
		in:   repeat(ap.k, ap.sources),
		out:  []*kind{ap.k},
		ref: one(func(a []uint64) uint64 {
			return ap.k.perPart(a, func(a []uint64) uint64 {
				d := f.fromFloat(ap.f(args(a)))
				if ap.ftz {
					d = f.flush(d)
				}
				return d
			})
		}),
		equal: func(_ int, got, want uint64) bool {
			w := ap.k.split(want)
			for i, g := range ap.k.split(got) {
				if !ap.close(g, w[i]) {
					return false
				}
			}
			return true
		},
	}
	if ap.domain != nil {
		r.open = func(a []uint64) bool { return !ap.domain(args(a)) }
	}
	return r
}

// close reports whether got is within the stated error of want.
func (ap approx) close(got, want uint64) bool {
	f := ap.k.format
	if f.isNaN(want) || f.isInf(want) || f.isNaN(got) {
		return got == want || f.isNaN(got) && f.isNaN(want) ||
			f.isInf(want) && got == want-1 // rounded to the largest number
	}
	if f.isInf(got) {
		return want&^f.sign() == f.max()
	}
	g, w := f.float(got), f.float(want)
	e := math.Abs(g - w)
	ulp := f.float(1) // of subnormal numbers
	if ap.ftz {
		ulp = f.float(f.minNormal())
	}
	return e <= ap.rel*math.Abs(w)+ulp || e <= ap.abs
}
