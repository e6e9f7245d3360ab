package ptx

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableCoversOps checks that each opcode has a form and is reached from its
// own spelling.
func TestTableCoversOps(t *testing.T) {
	byOp := table()
	for op := OpNone + 1; op < numOps; op++ {
		require.NotEmpty(t, byOp[op], "%s has no form", op)
		found, words := splitOpcode(op.String())
		require.Equal(t, op, found)
		require.Empty(t, words)
	}
}

// TestTableForms checks each row by itself.
func TestTableForms(t *testing.T) {
	for _, f := range Forms() {
		name := f.Op.String() + f.Syntax
		require.False(t, f.PTX.Less(Version{1, 0}), name)
		require.Equal(t, strings.Contains(f.Syntax, "<type>"), len(f.Types) > 0, name)
		require.Equal(t, strings.Contains(f.Syntax, "<src>"), len(f.SrcTypes) > 0, name)
		require.LessOrEqual(t, len(f.slots), 64, name)
		optional, dst := 0, true
		for _, s := range f.operands {
			if s.optional {
				optional++
			}
			require.True(t, dst || !s.isDst(), "%s: a destination after a source", name)
			dst = s.isDst()
		}
		require.LessOrEqual(t, optional, 1, name)
	}
}

// TestTableHasNoTwins checks that no opcode with modifiers and operands of one
// shape belongs to two forms, so that their order means nothing.
func TestTableHasNoTwins(t *testing.T) {
	owners := map[string]*Form{}
	for _, f := range Forms() {
		for name := range f.Spellings() {
			for n, specs := 0, f.operands; n <= len(specs); n++ {
				if n < len(specs) && !slices.ContainsFunc(specs, func(s operandSpec) bool { return s.optional }) {
					continue
				}
				key := fmt.Sprint(name, n, shapes(specs, n))
				require.Nil(t, owners[key], "%s belongs to %v and %v", key, owners[key], f)
				owners[key] = f
			}
		}
	}
}

// shapes says which kinds of operand the first n of specs take.
func shapes(specs []operandSpec, n int) string {
	var b strings.Builder
	for _, s := range specs[:n] {
		switch s.role {
		case roleDst, roleSrc, roleMov, roleVar:
			b.WriteString("r")
		default:
			fmt.Fprint(&b, s.role)
		}
	}
	return b.String()
}

// operandText returns an operand that a form takes in an instruction, the k-th.
func operandText(s *operandSpec, in *Instr, k int) string {
	typ := s.typeIn(in)
	reg := func(t Type, k int) string {
		prefix := map[int]string{0: "%p", 1: "%h", 2: "%h", 4: "%r", 8: "%rd", 16: "%q"}[t.Size()]
		return fmt.Sprint(prefix, 1+k%3)
	}
	list := func(n int, t Type) string {
		regs := make([]string, n)
		for i := range regs {
			regs[i] = reg(t, i)
		}
		return "{" + strings.Join(regs, ", ") + "}"
	}
	switch {
	case s.role == roleAddr:
		return fmt.Sprintf("[%%rd%d+16]", 1+k)
	case s.role == roleConst:
		return "5"
	case s.role == roleLabel:
		return "target"
	case s.role == roleDstParts || s.role == roleSrcParts:
		part := map[int]Type{2: B8, 4: B16, 8: B32, 16: B64}[typ.Size()]
		if part == B8 {
			return "{%b1, %b2}"
		}
		return list(2, part)
	case s.vector && in.Vec > 1:
		return list(int(in.Vec), typ)
	case s.needPair:
		return reg(typ, k) + "|%p3"
	}
	return reg(typ, k)
}

// TestTableParses builds an instruction for every opcode with every combination
// of modifiers that the table has, and checks that it parses as the form it was
// built from and prints as itself.
func TestTableParses(t *testing.T) {
	var body strings.Builder
	var want []*Form
	body.WriteString("\t.reg .b8 %b<4>;\ntarget:\n")
	n := 0
	for _, f := range Forms() {
		for name := range f.Spellings() {
			n++
			if testing.Short() && n%10 != 0 && f.Op != OpFence {
				continue
			}
			_, words := splitOpcode(name)
			var sp spelling
			ok, _ := f.match(words, &sp)
			require.True(t, ok, name)
			operands := make([]string, len(f.operands))
			for k := range f.operands {
				operands[k] = operandText(&f.operands[k], &sp.instr, k)
			}
			fmt.Fprintf(&body, "\t%s\n", strings.TrimSpace(name+" "+strings.Join(operands, ", "))+";")
			want = append(want, f)
		}
	}
	m, err := Parse("all.ptx", []byte(wrap(body.String())))
	require.NoError(t, err)
	e := m.Entries[0]
	require.Len(t, e.Code, len(want)+1)
	for i, f := range want {
		require.Same(t, f, e.Code[i].Form(), e.Code[i].Text)
	}
	format := formatter{entry: e, labels: e.labelsAt()}
	for i := range want {
		format.instr(&e.Code[i])
		if got := format.String(); got != e.Code[i].Text {
			require.Equal(t, e.Code[i].Text, got)
		}
		format.Reset()
	}
}

// TestMinTarget checks minima that the "PTX ISA Notes" and "Target ISA Notes"
// of the ISA name.
func TestMinTarget(t *testing.T) {
	for _, row := range []struct {
		text    string
		version string
		sm      int
	}{
		{"add.s32 %r1, %r2, %r3", "1.0", 0},
		{"add.s16x2 %r1, %r2, %r3", "8.0", 90},
		{"add.rn.f16 %h1, %h2, %h3", "4.2", 53},
		{"add.rn.bf16 %h1, %h2, %h3", "7.8", 90},
		{"fma.rn.bf16x2 %r1, %r2, %r3, %r4", "7.0", 80},
		{"fma.rn.relu.f16 %h1, %h2, %h3, %h4", "7.0", 80},
		{"min.f16x2 %r1, %r2, %r3", "7.0", 80},
		{"max.NaN.f32 %f1, %f2, %f3", "7.0", 80},
		{"max.xorsign.abs.f32 %f1, %f2, %f3", "7.2", 86},
		{"abs.f16 %h1, %h2", "6.5", 53},
		{"neg.bf16 %h1, %h2", "7.0", 80},
		{"tanh.approx.f32 %f1, %f2", "7.0", 75},
		{"setp.eq.bf16 %p1, %h1, %h2", "7.8", 90},
		{"lop3.b32 %r1, %r2, %r3, %r4, 5", "4.3", 50},
		{"lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 5, %p2", "8.2", 70},
		{"shf.l.wrap.b32 %r1, %r2, %r3, %r4", "3.1", 32},
		{"bmsk.clamp.b32 %r1, %r2, %r3", "7.6", 70},
		{"cvt.rn.bf16.f32 %h1, %f1", "7.0", 80},
		{"cvt.f32.bf16 %f1, %h1", "7.1", 80},
		{"cvt.rn.f16x2.f32 %r1, %f1, %f2", "7.0", 80},
		{"cvt.rn.f16x2.e5m2x2 %r1, %h1", "8.1", 89},
		{"cvta.param.u64 %rd1, a", "7.7", 70},
		{"ld.global.u32 %r1, [g]", "1.0", 0},
		{"ld.volatile.global.u32 %r1, [g]", "1.1", 0},
		{"ld.relaxed.sys.global.u32 %r1, [g]", "6.0", 70},
		{"ld.acquire.cluster.global.u32 %r1, [g]", "7.8", 90},
		{"ld.shared::cta.u32 %r1, [sm]", "7.8", 30},
		{"ld.global.L1::evict_last.u32 %r1, [g]", "7.4", 70},
		{"ld.global.L2::128B.u32 %r1, [g]", "7.4", 75},
		{"ld.global.L2::256B.u32 %r1, [g]", "7.4", 80},
		{"ld.global.nc.u32 %r1, [g]", "3.1", 32},
		{"ld.global.b128 %q1, [g]", "8.3", 70},
		{"ld.relaxed.gpu.global.b128 %q1, [g]", "8.3", 70},
		{"ld.relaxed.sys.global.b128 %q1, [g]", "8.4", 70},
		{"mov.b128 %q1, {%rd1, %rd2}", "8.3", 70},
		{"ld.mmio.relaxed.sys.global.u32 %r1, [g]", "8.2", 70},
		{"atom.global.add.u32 %r1, [g], 1", "1.2", 12},
		{"atom.relaxed.sys.global.add.u32 %r1, [g], 1", "6.0", 70},
		{"atom.sys.global.add.u32 %r1, [g], 1", "5.0", 60},
		{"atom.global.add.f64 %d1, [g], %d2", "5.0", 60},
		{"atom.global.add.noftz.bf16x2 %r1, [g], %r2", "7.8", 90},
		{"atom.global.cas.b16 %h1, [g], %h2, %h3", "6.3", 70},
		{"red.global.add.v2.f32 [g], {%f1, %f2}", "8.1", 90},
		{"fence.acq_rel.gpu", "6.0", 70},
		{"fence.acquire.gpu", "8.6", 90},
		{"fence.proxy.alias", "7.5", 70},
		{"fence.proxy.async", "8.0", 90},
		{"membar.sys", "2.0", 20},
		{"barrier.sync 0", "6.0", 30},
		{"bar.cta.sync 0", "7.8", 20},
		{"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1", "6.0", 30},
		{"match.any.sync.b32 %r1, %r2, -1", "6.0", 70},
		{"redux.sync.add.u32 %r1, %r2, -1", "7.0", 80},
		{"activemask.b32 %r1", "6.2", 30},
		{"elect.sync %r1|%p1, -1", "8.0", 90},
		{"nanosleep.u32 1", "6.3", 70},
		{"multimem.ld_reduce.add.f32 %f1, [%rd1]", "8.1", 90},
		{"multimem.ld_reduce.add.acc::f32.v4.bf16x2 {%r1, %r2, %r3, %r4}, [%rd1]", "8.2", 90},
		{"mbarrier.init.shared.b64 [sm], 1", "7.0", 80},
	} {
		_, in := one(t, row.text+";")
		version, sm := MinTarget(in)
		require.Equal(t, row.version, version.String(), row.text)
		require.Equal(t, row.sm, sm, row.text)
	}
	version, sm := MinTarget(&Instr{})
	require.Zero(t, version)
	require.Zero(t, sm)
	require.Nil(t, (&Instr{}).Form())
}
