package devicetest

import (
	"fmt"
	"strings"
)

// vectorAtomRows are atom and red on several floating-point elements of global
// memory at once. Each element is atomic by itself.
func vectorAtomRows() []*row {
	var rows []*row
	for _, v := range []struct {
		k     *kind
		noftz string
		ops   []string
		sizes []int
	}{
		{single, "", []string{"add"}, []int{2, 4}},
		{half, ".noftz", []string{"add", "min", "max"}, []int{2, 4, 8}},
		{bfloat, ".noftz", []string{"add", "min", "max"}, []int{2, 4, 8}},
		{half2, ".noftz", []string{"add", "min", "max"}, []int{2, 4}},
		{bfloat2, ".noftz", []string{"add", "min", "max"}, []int{2, 4}},
	} {
		for _, op := range v.ops {
			for _, n := range v.sizes {
				rows = append(rows,
					vectorAtomRow("atom", op+v.noftz, v.k, n, elementOp(op, v.k.format)),
					vectorAtomRow("red", op+v.noftz, v.k, n, elementOp(op, v.k.format)))
			}
		}
	}
	return rows
}

// elementOp is what a vector operation does to one element.
func elementOp(op string, f *format) func(a, b uint64) uint64 {
	if op != "add" {
		return func(a, b uint64) uint64 { return minMax(f, op == "max", false, false, false, a, b) }
	}
	return func(a, b uint64) uint64 {
		if f == f32 {
			a, b = f.flush(a), f.flush(b)
		}
		sum := f.pack(addNumber(f.unpack(a), f.unpack(b), nearestEven), nearestEven)
		if f == f32 {
			sum = f.flush(sum)
		}
		return sum
	}
}

// vectorAtomRow makes a row in which a0 and a1 are 16 bytes of memory, a2 and a3
// the operands; d0 and d1 are what atom returned, d2 and d3 the memory after it.
// Of the 16 bytes the instruction takes the first n elements.
func vectorAtomRow(op, operation string, k *kind, n int, f func(a, b uint64) uint64) *row {
	word := &kind{name: "b64", bits: 64, format: k.format, parts: 64 / k.format.bits()}
	for i, c := range k.corners {
		next := k.corners[(i*5+1)%len(k.corners)]
		x := c | next<<k.bits
		if k.bits == 16 {
			x |= x << 32
		}
		word.corners = append(word.corners, x)
	}
	size := k.bits / 8
	var code strings.Builder
	code.WriteString("st.global.v2.b64 [aout], {a0, a1};\nst.global.v2.b64 [aout+16], {a0, a1};\n")
	for i := range n {
		fmt.Fprintf(&code, "ld.global.b%d e%d, [ain+%d];\n", k.bits, i, 16+i*size)
	}
	if op == "atom" {
		fmt.Fprintf(&code, "atom.global.%s.v%d.%s %s, [aout+16], %s;\n", operation, n, k.name, list("o", n), list("e", n))
		for i := range n {
			fmt.Fprintf(&code, "st.global.b%d [aout+%d], o%d;\n", k.bits, i*size, i)
		}
	} else {
		fmt.Fprintf(&code, "red.global.%s.v%d.%s [aout+16], %s;\n", operation, n, k.name, list("e", n))
	}
	code.WriteString("ld.global.v2.b64 {d0, d1}, [aout];\nld.global.v2.b64 {d2, d3}, [aout+16];")
	return &row{
		name: fmt.Sprintf("%s.%s.v%d.global/%s", op, operation, n, k.name),
		isa:  isa{"8.1", 90},
		decl: fmt.Sprintf(".reg .b%[1]d e<%[2]d>, o<%[2]d>;", k.bits, n),
		code: code.String(),
		in:   repeat(word, 4),
		out:  repeat(word, 4),
		ref: each(func(a, d []uint64) {
			copy(d, []uint64{a[0], a[1], a[0], a[1]})
			for i := range n * k.parts {
				w, part := i/word.parts, i%word.parts*k.format.bits()
				sum := f(mask(a[w]>>part, k.format.bits()), mask(a[2+w]>>part, k.format.bits()))
				d[2+w] = insertField(sum, d[2+w], part, k.format.bits(), 64)
			}
		}),
	}
}
