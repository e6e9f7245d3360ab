package devicetest

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/device"
)

// row is one line of the spec table: an instruction in a small kernel, the
// operands it reads and writes, and what it must do.
//
// Every thread of the kernel loads its operands from its record of the input
// into a0, a1, ..., runs code, and stores d0, d1, ... to its record of the
// output. Besides those, code may use what [prologue] declares.
type row struct {
	name string // "add.rn.ftz/f32": instruction, slash, types
	code string
	decl string // declarations in the kernel's body
	unit string // declarations at module scope; such a row is a module of its own
	isa  isa
	in   []*kind
	out  []*kind

	// group is how many consecutive threads the reference sees at once: 1, 32 for
	// a warp, ctaThreads for a CTA, or all of them for wholeGrid.
	group int
	ref   func(g []thread)
	// open reports whether the ISA leaves the result of a thread open.
	open func(a []uint64) bool
	// check replaces ref where many outcomes are right: it sees the outputs of
	// the whole grid and the common memory.
	check func(g []thread, mem []byte) error
	// equal, if not nil, replaces the exact comparison of operand i.
	equal func(i int, got, want uint64) bool
	// inputs, if not nil, changes the generated operands of thread i.
	inputs func(i int, a []uint64)
	// fill is the value of every byte of the common memory at the start.
	fill byte
	// threads, if not 0, is how many threads run, a multiple of ctaThreads.
	threads int
}

// thread is one thread's operands and results.
type thread struct{ a, d []uint64 }

const (
	ctaThreads = 128
	warpLanes  = 32
	wholeGrid  = -1
	// memBytes is the size of the common memory, global memory that all threads of
	// a kernel use.
	memBytes = 4096
	// blobBytes is the size of the parameter p_blob, whose bytes blob gives.
	blobBytes = 32
	// untouched is every byte of the output before a kernel starts.
	untouched = 0xa5
)

// isa is the least PTX version and compute capability that a row needs. The
// zero value is the baseline.
type isa struct {
	ptx string
	sm  int
}

var (
	baseline = isa{"7.8", 70}
	ampere   = isa{"7.8", 80}
	ampere81 = isa{"8.1", 80}
	hopper   = isa{"7.8", 90}
	hopper80 = isa{"8.0", 90}
	volta82  = isa{"8.2", 70}
	volta83  = isa{"8.3", 70}
	volta84  = isa{"8.4", 70}
	hopper83 = isa{"8.3", 90}
	hopper86 = isa{"8.6", 90}
)

// each makes a reference for single threads.
func each(f func(a, d []uint64)) func(g []thread) {
	return func(g []thread) {
		for _, t := range g {
			f(t.a, t.d)
		}
	}
}

// one makes a reference for instructions with one result.
func one(f func(a []uint64) uint64) func(g []thread) {
	return each(func(a, d []uint64) { d[0] = f(a) })
}

// destAndSources returns "d0, a0, a1, ..." for n sources.
func destAndSources(n int) string {
	s := "d0"
	for i := range n {
		s += fmt.Sprintf(", a%d", i)
	}
	return s
}

// prologue declares what every kernel has: i, the thread's index in the grid; t
// and cta, its indices in CTA and grid; ain and aout, the addresses of its
// records; mem, the address of the common memory; scratch registers.
const prologue = `	.reg .pred p, q;
	.reg .b32 i, t, cta, w0, w1, w2, w3, w4, w5;
	.reg .b64 ain, aout, mem, r0, r1, r2, r3;
	ld.param.u64 ain, [p_in];
	ld.param.u64 aout, [p_out];
	ld.param.u64 mem, [p_mem];
	mov.u32 t, %tid.x;
	mov.u32 cta, %ctaid.x;
	mov.u32 i, %ntid.x;
	mad.lo.u32 i, cta, i, t;
`

// thinning ends some threads of every fourth warp before the instruction under
// test, so that it also runs with lanes missing. left says which.
const thinning = `	mul.lo.u32 w0, i, 0x9E3779B1;
	shr.u32 w0, w0, 31;
	shr.u32 w1, i, 5;
	and.b32 w1, w1, 3;
	setp.eq.u32 p, w1, 3;
	setp.ne.and.u32 p, w0, 0, p;
	@p exit;
`

// left reports whether thinning ends thread i.
func left(i int) bool { return i/warpLanes%4 == 3 && uint32(i)*0x9e3779b1>>31 != 0 }

// thinned reports whether the row runs with thinning: not where threads depend
// on one another.
func (r *row) thinned() bool { return r.group == 0 }

// leave is the result of a thread that ended before its results were stored.
func (th thread) leave(kinds ...*kind) {
	for i, k := range kinds {
		th.d[i] = mask(untouched*0x0101010101010101, k.width())
	}
}

// symbol is the kernel's name: the row's, as far as PTX allows, and its number.
func (r *row) symbol(index int) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(r.name))
	return fmt.Sprintf("k%d_%s", index, clean)
}

// entry writes the kernel of r.
func (r *row) entry(b *strings.Builder, symbol string) {
	fmt.Fprintf(b, ".visible .entry %s(.param .u64 p_in, .param .u64 p_out, .param .u64 p_mem,\n\t.param .align 16 .b8 p_blob[%d])\n{\n", symbol, blobBytes)
	b.WriteString(prologue)
	if r.thinned() {
		b.WriteString(thinning)
	}
	declare(b, "a", r.in)
	declare(b, "d", r.out)
	if r.decl != "" {
		fmt.Fprintf(b, "\t%s\n", r.decl)
	}
	fmt.Fprintf(b, "\tmad.wide.u32 ain, i, %d, ain;\n", slotBytes*len(r.in))
	fmt.Fprintf(b, "\tmad.wide.u32 aout, i, %d, aout;\n", slotBytes*len(r.out))
	for i, k := range r.in {
		if k == pred {
			fmt.Fprintf(b, "\tld.global.u32 w0, [ain+%d];\n\tsetp.ne.u32 a%d, w0, 0;\n", i*slotBytes, i)
			continue
		}
		fmt.Fprintf(b, "\tld.global.b%d a%d, [ain+%d];\n", k.width(), i, i*slotBytes)
	}
	fmt.Fprintf(b, "\t%s\n", strings.ReplaceAll(strings.TrimSpace(r.code), "\n", "\n\t"))
	for i, k := range r.out {
		if k == pred {
			fmt.Fprintf(b, "\tselp.u32 w0, 1, 0, d%d;\n\tst.global.u32 [aout+%d], w0;\n", i, i*slotBytes)
			continue
		}
		fmt.Fprintf(b, "\tst.global.b%d [aout+%d], d%d;\n", k.width(), i*slotBytes, i)
	}
	b.WriteString("\tret;\n}\n")
}

// declare declares registers name0, name1, ... for kinds.
func declare(b *strings.Builder, name string, kinds []*kind) {
	for i, k := range kinds {
		typ := fmt.Sprintf("b%d", k.width())
		if k == pred {
			typ = "pred"
		}
		fmt.Fprintf(b, "\t.reg .%s %s%d;\n", typ, name, i)
	}
}

// blob is byte i of the parameter p_blob.
func blob(i int) byte { return byte(i*37 + 0x8b) }

// arguments is the parameter block of every kernel.
func arguments(in, out, mem device.Ptr) []byte {
	var b []byte
	for _, p := range []device.Ptr{in, out, mem, 0} { // the blob is aligned to 16 bytes
		b = binary.LittleEndian.AppendUint64(b, uint64(p))
	}
	for i := range blobBytes {
		b = append(b, blob(i))
	}
	return b
}

// module writes the PTX of rows that share an isa; kernel j is row j's.
func module(rows []*row) (text string, symbols []string) {
	var b strings.Builder
	is := rows[0].needs()
	fmt.Fprintf(&b, ".version %s\n.target sm_%d\n.address_size 64\n", is.ptx, is.sm)
	for _, r := range rows {
		if r.unit != "" {
			fmt.Fprintf(&b, "%s\n", r.unit)
		}
	}
	for j, r := range rows {
		symbol := r.symbol(j)
		symbols = append(symbols, symbol)
		r.entry(&b, symbol)
	}
	return b.String(), symbols
}

// needs returns the row's isa.
func (r *row) needs() isa {
	if r.isa == (isa{}) {
		return baseline
	}
	return r.isa
}
