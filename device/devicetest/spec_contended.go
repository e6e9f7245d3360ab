package devicetest

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
)

// contention is an operation that all threads do to one cell, and what must
// come of it whatever their order.
type contention struct {
	op      string
	k       *kind
	isa     isa
	fill    byte                  // of the cell at the start
	operand func(i uint64) uint64 // of thread i
	// outcome returns the final cell and, sorted, what n threads saw, from their
	// operands; seen may be nil where that depends on the order.
	outcome func(operands []uint64) (final uint64, seen []uint64)
}

// bitOwner gives each bit of a word to every 32nd thread.
func bitOwner(i uint64) uint64 { return 1 << (i % 32) }

// unit is the float 1 in every part of k.
func unit(k *kind) uint64 {
	return k.perPart([]uint64{0}, func([]uint64) uint64 { return k.format.one() })
}

// counted is the outcome of n additions of 1: everyone sees another count.
func counted(operands []uint64) (final uint64, seen []uint64) {
	for i := range operands {
		seen = append(seen, uint64(i))
	}
	return uint64(len(operands)), seen
}

// turned is the outcome of inc or dec with bound 99: the cell goes round through
// 100 values, by step.
func turned(step uint64) func(operands []uint64) (uint64, []uint64) {
	return func(operands []uint64) (uint64, []uint64) {
		var seen []uint64
		cell := uint64(0)
		for range operands {
			seen = append(seen, cell)
			cell = (cell + step) % 100
		}
		slices.Sort(seen)
		return cell, seen
	}
}

// summed is the outcome of adding units of a float kind: their number, exactly.
func summed(k *kind) func(operands []uint64) (uint64, []uint64) {
	return func(operands []uint64) (uint64, []uint64) {
		n := int64(0)
		for _, x := range operands {
			n += int64(truth(x != 0))
		}
		sum := k.format.pack(intNumber(big.NewInt(n)), nearestEven)
		return k.perPart([]uint64{0}, func([]uint64) uint64 { return sum }), nil
	}
}

// extreme is the outcome of min or max over the operands and the cell's start.
func extreme(k *kind, pick func(x []*big.Int) *big.Int, start uint64) func(operands []uint64) (uint64, []uint64) {
	return func(operands []uint64) (uint64, []uint64) {
		best := bigOf(start, k.bits, k.signed)
		for _, x := range operands {
			best = pick([]*big.Int{best, bigOf(x, k.bits, k.signed)})
		}
		return wrapBig(best, k.bits), nil
	}
}

func contentions() []contention {
	var all []contention
	for _, k := range []*kind{u32, s32, u64} {
		all = append(all, contention{op: "add", k: k, operand: func(uint64) uint64 { return 1 }, outcome: counted})
	}
	bound := func(uint64) uint64 { return 99 }
	all = append(all,
		contention{op: "inc", k: u32, operand: bound, outcome: turned(1)},
		contention{op: "dec", k: u32, operand: bound, outcome: turned(99)})
	for _, v := range []struct {
		op    string
		k     *kind
		isa   isa
		every uint64 // so many threads add one unit: the sum stays exact
	}{
		{"add", single, baseline, 1},
		{"add", double, baseline, 1},
		{"add.noftz", half, baseline, 1},
		{"add.noftz", half2, baseline, 1},
		{"add.noftz", bfloat, hopper, 8},
		{"add.noftz", bfloat2, hopper, 8},
	} {
		all = append(all, contention{op: v.op, k: v.k, isa: v.isa, outcome: summed(v.k),
			operand: func(i uint64) uint64 { return truth(i%v.every == 0) * unit(v.k) }})
	}
	for _, k := range []*kind{b32, b64} {
		constant := func(x uint64) func([]uint64) (uint64, []uint64) {
			return func([]uint64) (uint64, []uint64) { return mask(x, k.bits), nil }
		}
		all = append(all,
			contention{op: "or", k: k, operand: bitOwner, outcome: constant(1<<32 - 1)},
			contention{op: "and", k: k, fill: 0xff, outcome: constant(^uint64(1<<32 - 1)),
				operand: func(i uint64) uint64 { return mask(^bitOwner(i), k.bits) }},
			contention{op: "xor", k: k, operand: bitOwner, outcome: constant(0)}) // an even number each
	}
	for _, k := range []*kind{u32, s32, u64, s64} {
		// A permutation of small numbers, shifted so that signed ones are negative.
		spread := func(i uint64) uint64 { return mask((i*37)%gridThreads-500, k.bits) }
		all = append(all,
			contention{op: "max", k: k, operand: spread, outcome: extreme(k, bigMax, 0)},
			contention{op: "min", k: k, fill: 0x7f, operand: spread, outcome: extreme(k, bigMin, 0x7f7f7f7f7f7f7f7f)})
	}
	return all
}

// contendedRows let all threads of a grid, or of a CTA for shared memory, meet
// in one cell.
func contendedRows() []*row {
	var rows []*row
	for _, c := range contentions() {
		for _, op := range []string{"atom", "red"} {
			rows = append(rows, c.globalRow(op), c.sharedRow(op))
		}
	}
	for _, k := range []*kind{b32, b64} {
		rows = append(rows, exchangeRow(k), casLoopRow(k))
	}
	return rows
}

func (c contention) row(op, space string) *row {
	return &row{
		name:   op + ".contended." + space + "." + c.op + "/" + c.k.name,
		isa:    c.isa,
		fill:   c.fill,
		in:     []*kind{c.k},
		inputs: func(i int, a []uint64) { a[0] = c.operand(uint64(i)) },
		group:  wholeGrid,
	}
}

// globalRow meets in the first word of the common memory.
func (c contention) globalRow(op string) *row {
	r := c.row(op, "global")
	r.code = fmt.Sprintf("red.global.%s.%s [mem], a0;", c.op, c.k.name)
	if op == "atom" {
		r.code = fmt.Sprintf("atom.global.%s.%s d0, [mem], a0;", c.op, c.k.name)
		r.out = []*kind{c.k}
	}
	r.check = func(g []thread, mem []byte) error {
		return c.verify(g, mask(binary.LittleEndian.Uint64(mem), c.k.bits), op == "atom")
	}
	return r
}

// sharedRow meets in shared memory; the last result is the final cell.
func (c contention) sharedRow(op string) *row {
	r := c.row(op, "shared")
	r.decl = ".shared .align 8 .b64 cell;"
	body := fmt.Sprintf("red.shared.%s.%s [cell], a0;", c.op, c.k.name)
	if op == "atom" {
		body = fmt.Sprintf("atom.shared.%s.%s d1, [cell], a0;", c.op, c.k.name)
		r.out = []*kind{c.k}
	}
	r.out = append(r.out, c.k)
	start := uint64(c.fill) * 0x0101010101010101
	r.code = fmt.Sprintf("mov.u64 r0, %#x;\nsetp.eq.u32 p, t, 0;\n@p st.shared.u64 [cell], r0;\nbar.sync 0;\n%s\nbar.sync 0;\nld.shared.b%d d0, [cell];",
		start, body, c.k.bits)
	r.check = func(g []thread, _ []byte) error {
		for first := 0; first < len(g); first += ctaThreads {
			cta := g[first : first+ctaThreads]
			final := cta[0].d[0]
			var last []thread
			for _, th := range cta {
				if th.d[0] != final {
					return fmt.Errorf("threads of one CTA see %s and %s after the barrier", c.k.text(final), c.k.text(th.d[0]))
				}
				last = append(last, thread{a: th.a, d: th.d[1:]})
			}
			if err := c.verify(last, final, op == "atom"); err != nil {
				return err
			}
		}
		return nil
	}
	return r
}

// verify checks the final cell and what the threads saw.
func (c contention) verify(g []thread, final uint64, saw bool) error {
	var operands, seen []uint64
	for _, th := range g {
		operands = append(operands, th.a[0])
		if saw {
			seen = append(seen, th.d[0])
		}
	}
	want, wantSeen := c.outcome(operands)
	if final != want {
		return fmt.Errorf("the cell ends as %s, want %s", c.k.text(final), c.k.text(want))
	}
	slices.Sort(seen)
	if saw && wantSeen != nil && !slices.Equal(seen, wantSeen) {
		return fmt.Errorf("the threads saw %v, want %v", seen, wantSeen)
	}
	return nil
}

// exchangeRow passes values through one cell: each is seen once.
func exchangeRow(k *kind) *row {
	return &row{
		name:   "atom.contended.global.exch/" + k.name,
		code:   fmt.Sprintf("atom.global.exch.%s d0, [mem], a0;", k.name),
		in:     []*kind{k},
		out:    []*kind{k},
		inputs: func(i int, a []uint64) { a[0] = uint64(i) + 1 },
		group:  wholeGrid,
		check: func(g []thread, mem []byte) error {
			seen := map[uint64]bool{mask(binary.LittleEndian.Uint64(mem), k.bits): true}
			for _, th := range g {
				seen[th.d[0]] = true
			}
			for i := range len(g) + 1 {
				if !seen[uint64(i)] {
					return fmt.Errorf("value %d was lost", i)
				}
			}
			return nil
		},
	}
}

// casLoopRow counts with compare-and-swap until it succeeds.
func casLoopRow(k *kind) *row {
	reg := map[*kind][3]string{b32: {"w0", "w1", "w2"}, b64: {"r0", "r1", "r2"}}[k]
	return &row{
		name: "atom.contended.global.cas/" + k.name,
		code: fmt.Sprintf(`ld.relaxed.gpu.global.%[1]s %[2]s, [mem];
AGAIN:
add.u%[5]d %[3]s, %[2]s, 1;
atom.global.cas.%[1]s %[4]s, [mem], %[2]s, %[3]s;
setp.ne.%[1]s p, %[4]s, %[2]s;
mov.%[1]s %[2]s, %[4]s;
@p bra AGAIN;
mov.%[1]s d0, %[4]s;`, k.name, reg[0], reg[1], reg[2], k.bits),
		out:   []*kind{k},
		group: wholeGrid,
		check: func(g []thread, mem []byte) error {
			seen := make([]uint64, 0, len(g))
			for _, th := range g {
				seen = append(seen, th.d[0])
			}
			slices.Sort(seen)
			for i, v := range seen {
				if v != uint64(i) {
					return fmt.Errorf("increment %d was seen as %d", i, v)
				}
			}
			if final := mask(binary.LittleEndian.Uint64(mem), k.bits); final != uint64(len(g)) {
				return fmt.Errorf("the cell ends as %d, want %d", final, len(g))
			}
			return nil
		},
	}
}
