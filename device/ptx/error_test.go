package ptx

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInstrErrors checks what is said of an instruction: line, reason, text.
func TestInstrErrors(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		// Opcodes and modifiers.
		{"adx.u32 %r1, %r2, %r3", "unknown opcode adx; did you mean add"},
		{"wgmma.fence.sync.aligned", "unknown opcode wgmma"},
		{"call (x), f, (y)", "calls are not supported"},
		{"add.q32 %r1, %r2, %r3", "unknown modifier .q32 of add; did you mean .u32"},
		{"add.rn.f16.u32 %r1, %r2, %r3", "unknown modifier .u32 of add.rn.f16, which takes none"},
		{"add %r1, %r2, %r3", "add lacks a modifier: one of .u16 .u32"},
		{"ld.relaxed.global.u32 %r1, [g]", "unknown modifier .global of ld.relaxed, which takes .cta .cluster .gpu .sys"},
		{"ld.acquired.gpu.u32 %r1, [g]", "unknown modifier .acquired of ld; did you mean .acquire"},
		{"ld.global.v4.u64 %r1, [g]", "unknown modifier .u64 of ld.global.v4, which takes .b8 .b16 .b32 .u8"},
		{"cvt.f16.f32 %h1, %f1", "unknown modifier .f32 of cvt.f16"},
		{"vote.ballot.b32 %r1, %p1", "unknown modifier .ballot of vote, which takes .sync"},
		{"setp.lo.s32 %p1, %r1, %r2", "unknown modifier .s32 of setp.lo"},

		// Shapes.
		{"add.u32 %r1, %r2", "operands do not fit add, which takes d s s; found a name, a name"},
		{"add.u32 %r1, [g], %r2", "found a name, an address, a name"},
		{"add.u32 3, %r1, %r2", "found a constant"},
		{"ret %r1", "ret takes no operands, found a name"},
		{"shl.b32", "found none"},
		{"ld.global.v2.u32 %r1, [g]", "operands do not fit ld"},
		{"ld.global.v2.u32 {%r1, %r2, %r3}, [g]", "operand 1: a vector of 3 elements where the instruction moves 2"},
		{"st.global.u32 [g], {%r1, %r2}", "operands do not fit st"},
		{"mov.b32 %r1, {%h1, %h2, %h3}", "operand 2: 3 parts do not make a .b32"},
		{"setp.eq.f16x2 %p1, %r1, %r2", "operands do not fit setp, which takes d:pred|| s s"},
		{"setp.eq.f16 %p1|%p2, %h1, %h2", "operands do not fit setp"},

		// Registers.
		{"add.u32 %r1, %r2, %f1", "operand 3: register %f1 is .f32, the operand .u32"},
		{"add.u64 %rd1, %rd2, %r3", "operand 3: register %r3 is .b32, the operand .u64"},
		{"mul.wide.u32 %r1, %r2, %r3", "operand 1: register %r1 is .b32, the operand .u64"},
		{"ld.global.u64 %r1, [g]", "operand 1: register %r1 is .b32, the operand .u64"},
		{"ld.global.f32 %d1, [g]", "operand 1: register %d1 is .f64, the operand .f32"},
		{"mov.u32 %r1, %r99", "%r99 is not a declared register; did you mean %r"},
		{"ld.global.u32 %r1, [%f1]", "register %f1 is .f32, which cannot hold an address"},
		{"ld.global.u32 %r1, [nowhere]", "nowhere is not a declared register or variable"},
		{"add.u32 %r1, %r2, %tid.x", "special register %tid.x can only be read by mov"},
		{"mov.u32 %r1, %clock64", "special register %clock64 is .u64, the operand .u32"},
		{"add.u64 %rd1, %rd2, sm", "sm is a variable: its address must be moved to a register first"},
		{"mov.u32 %r1, g", "the address of g has 64 bits, the operand is .u32"},
		{"mov.u32 %r1, %r2+4", "%r2+4 is an address only in brackets"},
		{"ld.shared.u32 %r1, [g]", "variable g is in .global, the instruction addresses .shared"},
		{"ld.u32 %r1, [sm]", "variable sm is in .shared, the instruction addresses .generic"},
		{"selp.b32 %r1, %r2, %r3, !%p1", "operand 4: operand cannot be negated"},
		{"add.u32 %r1, _, %r2", "operand 2: _ stands for a destination, not a source"},
		{"@%r1 add.u32 %r1, %r2, %r3", "the guard %r1 is .b32, not a predicate"},
		{"@%p9 ret", "%p9 is not a declared predicate; did you mean %p"},
		{"bra nowhere", "label nowhere is not declared"},

		// Constants.
		{"mov.u32 %r1, 4294967296", "constant does not fit the 32 bits of .u32"},
		{"mov.s16 %h1, -32769", "constant does not fit the 16 bits of .s16"},
		{"mov.u32 %r1, 0f00000000", "a floating-point constant does not fit .u32"},
		{"mov.b32 %r1, 0d0000000000000000", "a floating-point constant does not fit .b32"},
		{"mov.f32 %f1, 1", "an integer constant does not fit .f32"},
		{"mov.f32 %f1, 0f3F8", "malformed constant 0f3F8: 0f takes 8 hexadecimal digits"},
		{"mov.f64 %d1, 0d3F8", "malformed constant 0d3F8: 0d takes 16 hexadecimal digits"},
		{"mov.u32 %r1, 09", "malformed constant 09"},
		{"mov.u32 %r1, 1x", "malformed constant 1x"},
		{"mov.f32 %f1, 1.2.3", "malformed constant 1.2.3"},
		{"mov.u64 %rd1, 18446744073709551616", "malformed constant"},
		{"add.f16 %h1, %h2, 0", ".f16 operands are registers, not constants"},
		{"mov.pred %p1, 0f00000000", "a predicate constant is an integer"},
		{"lop3.b32 %r1, %r2, %r3, %r4, 256", "operand 5: constant does not fit the 8 bits of .u8"},
		{"lop3.b32 %r1, %r2, %r3, %r4, %r5", "operands do not fit lop3"},

		// Punctuation.
		{"add.u32 %r1 %r2", "expected , or ;, found %r2"},
		{"add.u32 %r1, , %r2", "expected an operand, found ,"},
		{"ld.global.u32 %r1, [g", "expected ], found ;"},
		{"ld.global.u32 %r1, [g+%r1]", "expected a number, found %r1"},
		{"ld.global.u32 %r1, []", "expected a number, found ]"},
		{"mov.b64 {%r1, %r2, %rd1", "expected }, found ;"},
		{".param .b32 x", "calls are not supported"},
		{".quad 1", "unknown directive .quad"},
		{".extern .shared .b8 x[]", "an .extern variable is declared outside kernels"},
		{".reg .b24 %x", "registers have no type .b24"},
		{".reg .v2 .f32 %x", "registers have no type .v2"},
		{".reg .b32 %r1", "%r1 is declared twice in this block"},
		{".reg .b32 %r<2>", "%r is declared twice in this block"},
		{".reg .b32 %x1<2>", "a parameterised register name must not end in a digit"},
		{".reg .b32 %x<70000>", "a number of registers is at most 65536, not 70000"},
		{".reg .b32 %x.y", "expected a register's name, found %x.y"},
		{".local .b8 l[]", "expected a dimension, found ]"},
		{".local .u32 l = 1", "l is in .local and cannot have initial contents"},
		{".local .b8 loc[2]", "loc is declared twice in this block"},
		{".global .u32 x", "x: a kernel may declare .shared and .local variables only"},
		{"L: L: ret", "label L is declared twice in this block"},
	} {
		_, err := Parse("k.ptx", []byte(wrap("\tret;\n\t"+row.text+";")))
		var list ErrorList
		require.ErrorAs(t, err, &list, row.text)
		require.Len(t, list, 1, row.text)
		require.Contains(t, list[0].Msg, row.want, row.text)
		require.Equal(t, 18, list[0].Line, row.text)
		if !strings.Contains(row.text, ":") {
			require.Equal(t, row.text, list[0].Text)
		}
	}
}

// TestModuleErrors checks what is said of a declaration.
func TestModuleErrors(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"", "k.ptx:1: expected .version, found the end of the file"},
		{"hello", "k.ptx:1: expected .version, found hello: hello"},
		{".version seven", "k.ptx:1: expected a version such as 7.8, found seven"},
		{".version 99.0", "k.ptx:1: unknown PTX version 99.0; known are 4.0 to 4.3, 5.0, 6.0 to 6.5, 7.0 to 7.8, 8.0 to 8.8, 9.0 to 9.5: .version 99.0"},
		{".version 9.6", "unknown PTX version 9.6"},
		{".version 7.9", "unknown PTX version 7.9"},
		{".version 3.2", "unknown PTX version 3.2"},
		{".version 7", "expected a version such as 7.8, found 7"},
		{".version 7.8\n.address_size 64", "k.ptx:2: expected .target, found .address_size"},
		{".version 7.8\n.target sm_71", "k.ptx:2: unknown target sm_71; known are sm_50, sm_52, "},
		{".version 7.8\n.target sm_", "k.ptx:2: unknown target sm_; known are "},
		{".version 7.8\n.target sm_a", "k.ptx:2: unknown target sm_a; known are "},
		{".version 8.0\n.target sm_90a", "k.ptx:2: target sm_90a is for one kind of GPU; compile for sm_90, without the suffix: .version 8.0 .target sm_90a"},
		{".version 8.8\n.target compute_100f", "target compute_100f is for one kind of GPU; compile for compute_100, without the suffix"},
		{".version 7.8\n.target sm_70, texmode_independent", "unknown target option texmode_independent"},
		{".version 7.8\n.target sm_70\n", "expected .address_size 64"},
		{".version 7.8\n.target sm_70\n.address_size 32", "k.ptx:3: addresses have 64 bits, not 32"},
		{".version 7.0\n.target sm_90\n.address_size 64", "k.ptx:1: target sm_90 needs PTX 7.8, this is 7.0"},
		{header + ".func f() { ret; }", "k.ptx:4: calls are not supported: the text has device functions"},
		{header + ".visible .func (.param .b32 r) f(.param .b32 a)\n{\n{ ret; }\n}\n.entry k() { ret; }", "k.ptx:4: calls are not supported"},
		{header + ".tex .u32 t;", "k.ptx:4: unknown declaration .tex: .tex .u32 t"},
		{header + "5", "expected a declaration, found 5"},
		{header + ".extern .global .u32 x;", "x is defined in another module: linking is not supported"},
		{header + ".global .u32 x;\n.global .u32 x;", "k.ptx:5: x is declared twice"},
		{header + ".global x;", "expected a type, found x"},
		{header + ".global .u32 .u64 x;", ".u64 is not an attribute of a variable"},
		{header + ".global .pred x;", ".pred is not an attribute of a variable"},
		{header + ".global .align 3 .u32 x;", "an alignment is a power of two, not 3"},
		{header + ".global .u32 x[0];", "x has a dimension of 0"},
		{header + ".global .u32 x[];", "x has no size"},
		{header + ".global .u32 x[1000000][1000000];", "x has more than 1099511627776 bytes"},
		{header + ".global .u32 x[2] = {1, 2, 3};", "x has more initial values than elements"},
		{header + ".global .u32 x = y;", "x: an address needs 64 bits, the elements are .u32"},
		{header + ".global .u64 x = y;", "y is not a declared variable"},
		{header + ".global .u64 x = generic y;", "generic is not a declared variable"},
		{header + ".shared .u32 x = 1;", "x is in .shared and cannot have initial contents"},
		{header + ".entry k() { ret; }\n.entry k() { ret; }", "k.ptx:5: kernel k is declared twice"},
		{header + ".entry k(.param .u32 a, .param .u32 a) { ret; }", "a is declared twice"},
		{header + ".entry k(.reg .u32 a) { ret; }", "expected .param, found .reg"},
		{header + ".entry k(.param .b8 a[40000]) { ret; }", "kernel k has 40000 bytes of parameters with a; at PTX 9.0 and sm_120 it may have 32764"},
		{".version 7.8\n.target sm_70\n.address_size 64\n.entry k(.param .b8 a[4352], .param .u8 b) { ret; }",
			"kernel k has 4353 bytes of parameters with b; at PTX 7.8 and sm_70 it may have 4352"},
		{".version 8.1\n.target sm_61\n.address_size 64\n.entry k(.param .b8 a[4353]) { ret; }", "at PTX 8.1 and sm_61 it may have 4352"},
		{header + ".shared .b8 x[99999999999];\n.entry k() { ret; }", "k.ptx:4: x makes it 99999999999 bytes of .shared variables; the limit is 49152"},
		{header + ".shared .b8 x[49152];\n.entry k() {\n.shared .u8 y;\nret; }", "k.ptx:6: y makes it 49153 bytes of .shared variables; the limit is 49152"},
		{header + ".const .b8 x[65535];\n.const .u32 y;", "k.ptx:5: y makes it 65540 bytes of .const variables; the limit is 65536: .const .u32 y"},
		{header + ".entry k() {\n.local .b8 x[524288];\n.local .b8 y[1];\nret; }", "k.ptx:6: y makes it 524289 bytes of .local variables; the limit is 524288: .local .b8 y[1]"},
		{header + ".entry k() .maxntid 1, 2, 3, 4 { ret; }", "expected at most three dimensions"},
		{header + ".entry k() .reqnctapercluster 2 { ret; }", "unknown directive .reqnctapercluster of a kernel"},
		{header + ".entry k()\n{ ret;", "k.ptx:4: kernel k has no end"},
		{".version 7.8\n.target sm_70\n.address_size 64\n.entry k()\n{\n\tfence.proxy.async;\n}", "k.ptx:6: fence.proxy.async needs PTX 8.0, this is 7.8: fence.proxy.async"},
	} {
		_, err := Parse("k.ptx", []byte(row.text))
		require.ErrorContains(t, err, row.want, row.text)
	}
}

// TestLimits checks that variables may be as large as the limits.
func TestLimits(t *testing.T) {
	m := parse(t, ".version 8.1\n.target sm_70\n.address_size 64\n"+`.const .b8 c[65536];
.shared .b8 s[40000];
.entry k(.param .b8 a[32764]) { .shared .b8 t[9152]; .local .b8 l[524288]; ret; }
.entry other() { .shared .b8 t[9152]; .local .b8 l[524288]; ret; }
`)
	for _, e := range m.Entries {
		require.Equal(t, 48<<10, e.SharedSize)
		require.Equal(t, 512<<10, e.LocalSize)
	}
	require.Equal(t, 32764, m.Entries[0].ParamBytes)
	require.Len(t, parse(t, ".version 7.8\n.target sm_70\n.address_size 64\n.entry k(.param .b8 a[4352]) { ret; }").Entries, 1)
}

// TestManyErrors checks that reading goes on after an error, in order, and ends.
func TestManyErrors(t *testing.T) {
	_, err := Parse("k.ptx", []byte(wrap("\tfoo;\n\tbra nowhere;\n\tadd.u32 {%r1}, %r2, %r3;\n\tbar.sync 99999999999;")))
	var list ErrorList
	require.True(t, errors.As(err, &list))
	lines := make([]int, len(list))
	for i, e := range list {
		lines[i] = e.Line
	}
	require.Equal(t, []int{17, 18, 19, 20}, lines)
	require.Equal(t, 3, strings.Count(err.Error(), "\n"))
	var first *Error
	require.ErrorAs(t, err, &first)
	require.Equal(t, "k.ptx:17: unknown opcode foo: foo", first.Error())

	_, err = Parse("k.ptx", []byte(wrap(strings.Repeat("\tfoo;\n", 1000))))
	require.True(t, errors.As(err, &list))
	require.Len(t, list, maxErrors)
}

func TestNearest(t *testing.T) {
	names := []string{"add", "sub", "multimem.red", "lop3"}
	for given, want := range map[string]string{
		"ad": "add", "addd": "add", "axd": "add", "multimem_red": "multimem.red", "lop": "lop3", "xyz": "", "": "",
	} {
		require.Equal(t, want, nearest(given, names), given)
	}
}
