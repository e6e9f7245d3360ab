package ptx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, text string) *Module {
	t.Helper()
	m, err := Parse("k.ptx", []byte(text))
	require.NoError(t, err)
	return m
}

func TestHeader(t *testing.T) {
	m := parse(t, "// comment\n.version 7.8\n.target sm_90, debug\n.address_size 64\n")
	require.Equal(t, Version{7, 8}, m.Version)
	require.Equal(t, 90, m.SM)
	require.Equal(t, "sm_90", m.TargetText)
	require.Equal(t, 64, m.AddressSize)
	require.Equal(t, "k.ptx", m.File)
	m = parse(t, ".version 7.8 .target compute_70 .address_size 64")
	require.Equal(t, 70, m.SM)
	require.Equal(t, "compute_70", m.TargetText)
}

// TestParams checks the layout of the parameter block.
func TestParams(t *testing.T) {
	m := parse(t, header+`.visible .entry k(
	.param .u8 flag,
	.param .align 16 .b8 args[3104],
	.param .u32 n,
	.param .u64 .ptr .global .align 128 p,
	.param .v2 .f32 pair
)
.maxntid 512, 1, 1
.minnctapersm 2
.maxnreg 64
.noreturn
{ ret; }
.weak .entry none() .reqntid 32 { exit; }
.entry declared(.param .u32 n);
`)
	require.Len(t, m.Entries, 2)
	e := m.Entries[0]
	type layout struct {
		name                string
		typ                 Type
		align, size, offset int
	}
	var got []layout
	for _, v := range e.Params {
		require.Equal(t, Param, v.Space)
		got = append(got, layout{v.Name, v.Type, v.Align, v.Size, v.Offset})
	}
	require.Equal(t, []layout{
		{"flag", U8, 1, 1, 0},
		{"args", B8, 16, 3104, 16},
		{"n", U32, 4, 4, 3120},
		{"p", U64, 8, 8, 3128},
		{"pair", F32, 8, 8, 3136},
	}, got)
	require.Equal(t, 3144, e.ParamBytes)
	require.Equal(t, [3]int{512, 1, 1}, e.MaxNTID)
	require.Equal(t, 2, e.MinNCTA)
	require.Equal(t, 4, e.Line)
	require.Equal(t, [3]int{32, 1, 1}, m.Entries[1].ReqNTID)
	requireFixpoint(t, m)
}

// TestVariables checks sizes, places and contents.
func TestVariables(t *testing.T) {
	m := parse(t, header+`
.visible .global .align 8 .u64 x;
.global .u64 table[4] = {x, generic(x)+8, -1};
.const .f32 weights[] = {0f3F800000, 2.0, -0.5};
.const .b16 grid[2][3] = {{1, 2}, {3, 4, 5}};
.const .v2 .s32 pairs[2] = {{-1, 2}, {3}};
.weak .const .u8 one = 1;
.shared .align 4 .b8 s1[6];
.shared .u64 s2;
.extern .shared .align 16 .b8 dynamic[];
.entry k() {
	.shared .u32 own, more[3];
	.local .align 16 .b8 l1[3];
	.local .f64 l2;
	{ .local .u8 l1; }
	ret;
}
.entry small() { ret; }
`)
	byName := map[string]*Var{}
	for _, v := range m.Globals {
		byName[v.Name] = v
	}
	require.Equal(t, 8, byName["x"].Size)
	require.Nil(t, byName["x"].Init)
	table := byName["table"]
	require.Equal(t, 32, table.Size)
	require.Equal(t, []Addr{{At: 0, Var: byName["x"]}, {At: 8, Var: byName["x"], Off: 8, Generic: true}}, table.Addrs)
	require.Equal(t, append(make([]byte, 16), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), table.Init)
	require.Equal(t, 12, byName["weights"].Size)
	require.Equal(t, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0, 0xbf}, byName["weights"].Init)
	require.Equal(t, []byte{1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0}, byName["grid"].Init)
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 3, 0, 0, 0}, byName["pairs"].Init)
	require.Equal(t, 8, byName["pairs"].Align)
	require.Equal(t, []byte{1}, byName["one"].Init)

	k, small := m.Entries[0], m.Entries[1]
	require.Equal(t, 0, byName["s1"].Offset)
	require.Equal(t, 8, byName["s2"].Offset)
	require.Equal(t, 16, k.Vars[0].Offset)
	require.Equal(t, 20, k.Vars[1].Offset)
	// Memory whose size the launch says begins at one place in all kernels.
	require.Equal(t, 32, byName["dynamic"].Offset)
	require.Equal(t, 32, k.SharedSize)
	require.Equal(t, 32, small.SharedSize)
	require.Equal(t, []int{0, 8, 16}, []int{k.Vars[2].Offset, k.Vars[3].Offset, k.Vars[4].Offset})
	require.Equal(t, 17, k.LocalSize)
	require.Equal(t, "l1_2", k.Vars[4].Name)
	require.Zero(t, small.LocalSize)
	requireFixpoint(t, m)

	m = parse(t, header+".shared .u32 a; .entry k() { ret; } .entry l() { .shared .u64 b; ret; }")
	require.Equal(t, 4, m.Entries[0].SharedSize)
	require.Equal(t, 16, m.Entries[1].SharedSize)
}

// TestScopes checks that names of inner blocks hide outer ones and are told
// apart afterwards.
func TestScopes(t *testing.T) {
	e := kernel(t, `
	mov.b32 %r1, 1;
	{
		.reg .b32 %r<2>, t;
		.reg .pred p;
		setp.eq.s32 p, %r1, 0;
		@p bra done;
		mov.b32 t, %r2;
		{ .reg .f32 t; mov.f32 t, 0f00000000; bra done; }
	done:
	}
	{ .reg .b32 t; mov.b32 t, %r1; bra done; done: mov.b32 %r1, t; }
`)
	name := func(i int32) string { return e.Regs[i].Name }
	code := e.Code
	require.Equal(t, "%r1", name(code[0].Dst[0].Reg))
	require.Equal(t, "%r1_2", name(code[1].Src[0].Reg))
	require.Equal(t, "t", name(code[3].Dst[0].Reg))
	require.Equal(t, "%r2", name(code[3].Src[0].Reg)) // the inner range has %r0 and %r1 only
	require.Equal(t, "t_2", name(code[4].Dst[0].Reg))
	require.Equal(t, F32, e.Regs[code[4].Dst[0].Reg].Type)
	require.Equal(t, "t_3", name(code[6].Dst[0].Reg))
	require.Equal(t, "%r1", name(code[6].Src[0].Reg))
	require.Equal(t, map[string]int{"done": 6, "done_2": 8}, e.Labels)
	require.Equal(t, []int{6, 6, 8}, []int{code[2].Target, code[5].Target, code[7].Target})
}

func TestLabels(t *testing.T) {
	m := parse(t, wrap("\tbra.uni end;\n$L__BB0_1: @%p1 bra $L__BB0_1;\nback:\nalso:bra back;\nend:"))
	e := m.Entries[0]
	require.Equal(t, map[string]int{"$L__BB0_1": 1, "back": 2, "also": 2, "end": 3}, e.Labels)
	require.Equal(t, []int{3, 1, 2}, []int{e.Code[0].Target, e.Code[1].Target, e.Code[2].Target})
	require.True(t, e.Code[0].Uniform)
	require.Empty(t, e.Code[0].Src)
	requireFixpoint(t, m)

	// A label behind the last instruction.
	e = parse(t, header+".entry k() { bra L; L: }").Entries[0]
	require.Equal(t, 1, e.Code[0].Target)
}

// TestSkipped checks that comments and debugging data leave no trace but lines.
func TestSkipped(t *testing.T) {
	m := parse(t, `.version 7.8 // a
/* two
lines */ .target sm_70
.address_size 64
.file 1 "a b.cu", 1, 2
.pragma "nounroll";
.entry k() // c
{
	.reg .b32 %r<3>;
	.loc 1 6 5, function_name $L__info_string0, inlined_at 1 6 5
	.pragma "nounroll";
	add.u32 	%r1,%r2 /* x */ ,  // y
		5;
	;
	{ }
	ret.uni;
}
.section .debug_abbrev
{
.b8 1 { }
}
`)
	code := m.Entries[0].Code
	require.Len(t, code, 2)
	require.Equal(t, "add.u32 %r1,%r2 , 5", code[0].Text)
	require.Equal(t, "add.u32 %r1,%r2 , 5", code[0].String())
	require.Equal(t, 12, code[0].Line)
	require.Equal(t, 16, code[1].Line)
}

// TestModifiersApart checks that white space before a modifier does not matter.
func TestModifiersApart(t *testing.T) {
	_, in := one(t, "ld.global\n\t.v2 .u32 {%r1, %r2}, [ %rd1 + 8 ] ;")
	require.Equal(t, "ld.global.v2.u32", in.Name)
	require.EqualValues(t, 8, in.Src[0].Off)
}

// TestWideRegisters checks the operands that may be wider than the instruction.
func TestWideRegisters(t *testing.T) {
	for _, text := range []string{
		"ld.global.u8 %r1, [g]", "ld.global.s8 %rd1, [g]", "ld.global.b16 %r1, [g]",
		"st.global.u8 [g], %rd1", "st.global.v2.b8 [g], {%h1, %r1}",
		"cvt.u32.u8 %r1, %r2", "cvt.s8.s32 %h1, %r1", "cvt.rn.f32.s8 %f1, %r1",
	} {
		one(t, text+";")
	}
}

func TestCheck(t *testing.T) {
	m := parse(t, wrap("\tld.relaxed.sys.global.u32 %r1, [g];\n\tadd.rn.bf16 %h1, %h2, %h3;"))
	require.NoError(t, m.Check(m.Version, m.SM))
	err := m.Check(Version{7, 8}, 70)
	var list ErrorList
	require.ErrorAs(t, err, &list)
	require.Equal(t, []string{
		"k.ptx:7: .b128 register %q0 needs PTX 8.3 and sm_70, this is 7.8 and sm_70",
		"k.ptx:18: add.rn.bf16 needs sm_90, this is sm_70: add.rn.bf16 %h1, %h2, %h3",
	}, []string{list[len(list)-4].Error(), list[0].Error()})
	require.ErrorContains(t, m.Check(Version{5, 0}, 60), "k.ptx:17: ld.relaxed.sys.global.u32 needs PTX 6.0, this is 5.0")
	require.ErrorContains(t, m.Check(Version{7, 0}, 90), "target sm_90 needs PTX 7.8, this is 7.0")
	require.ErrorContains(t, m.Check(Version{7, 0}, 91), "unknown target sm_91")
}

func TestRounds(t *testing.T) {
	for text, want := range map[string]bool{
		"add.f32 %f1, %f2, %f3": true, "mul.rn.f16x2 %r1, %r2, %r3": true, "fma.rz.f64 %d1, %d2, %d3, %d4": true,
		"add.u32 %r1, %r2, %r3": false, "min.f32 %f1, %f2, %f3": false, "div.rn.f32 %f1, %f2, %f3": false,
	} {
		_, in := one(t, text+";")
		require.Equal(t, want, in.Rounds(), text)
	}
}

func TestTypes(t *testing.T) {
	sizes := map[int][]Type{
		0: {NoType, Pred}, 1: {B8, U8, S8}, 2: {B16, U16, S16, F16, BF16, E4M3x2, E5M2x2},
		4: {B32, U32, S32, F32, F16x2, BF16x2, U16x2, S16x2, TF32}, 8: {B64, U64, S64, F64}, 16: {B128},
	}
	n := 0
	for size, list := range sizes {
		for _, typ := range list {
			require.Equal(t, size, typ.Size(), typ)
		}
		n += len(list)
	}
	require.EqualValues(t, TF32+1, n, "a type is missing here")
	for typ := range TF32 + 1 {
		require.Equal(t, typ.String()[0] == 's', typ.IsSigned(), typ)
	}
	require.True(t, F16x2.IsFloat() && BF16.IsFloat() && F64.IsFloat() && E5M2x2.IsFloat())
	require.False(t, B32.IsFloat() || U16x2.IsFloat() || Pred.IsFloat())
}
