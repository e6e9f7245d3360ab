package ptx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecode checks the fields that modifiers set, and how the instruction
// prints.
func TestDecode(t *testing.T) {
	for _, row := range []struct {
		text string
		want Instr // the fields that are compared; the rest is set from the text
	}{
		{"add.rn.ftz.sat.f32 %f1, %f2, %f3", Instr{Op: OpAdd, Type: F32, Round: RN, FTZ: true, Sat: true}},
		{"sub.cc.u32 %r1, %r2, %r3", Instr{Op: OpSub, Type: U32, CC: true}},
		{"madc.hi.cc.s64 %rd1, %rd2, %rd3, %rd4", Instr{Op: OpMadc, Type: S64, Mode: Hi, CC: true}},
		{"mul.wide.s16 %r1, %h1, %h2", Instr{Op: OpMul, Type: S16, Mode: Wide}},
		{"mad.hi.sat.s32 %r1, %r2, %r3, %r4", Instr{Op: OpMad, Type: S32, Mode: Hi, Sat: true}},
		{"fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4", Instr{Op: OpFma, Type: BF16x2, Round: RN, Relu: true}},
		{"min.NaN.xorsign.abs.f16x2 %r1, %r2, %r3", Instr{Op: OpMin, Type: F16x2, NaN: true, XorSign: true}},
		{"div.full.f32 %f1, %f2, %f3", Instr{Op: OpDiv, Type: F32, Full: true}},
		{"rcp.approx.ftz.f64 %d1, %d2", Instr{Op: OpRcp, Type: F64, Approx: true, FTZ: true}},
		{"bfind.shiftamt.u64 %r1, %rd1", Instr{Op: OpBfind, Type: U64, ShiftAmt: true}},
		{"shf.r.clamp.b32 %r1, %r2, %r3, %r4", Instr{Op: OpShf, Type: B32, Dir: Right, Mode: Clamp}},
		{"prmt.b32.f4e %r1, %r2, %r3, %r4", Instr{Op: OpPrmt, Type: B32, Mode: F4E}},
		{"lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 63, %p2", Instr{Op: OpLop3, Type: B32, Bool: Or}},
		{"dp2a.lo.u32.s32 %r1, %r2, %r3, %r4", Instr{Op: OpDp2a, Type: U32, SrcType: S32, Mode: Lo}},
		{"testp.notanumber.f64 %p1, %d1", Instr{Op: OpTestp, Type: F64, Mode: NotANumber}},
		{"setp.gtu.and.ftz.f32 %p1|%p2, %f1, %f2, !%p3", Instr{Op: OpSetp, Type: F32, Cmp: GTU, Bool: And, FTZ: true}},
		{"set.eq.u32.f16 %r1, %h1, %h2", Instr{Op: OpSet, Type: U32, SrcType: F16, Cmp: EQ}},
		{"slct.ftz.u64.f32 %rd1, %rd2, %rd3, %f1", Instr{Op: OpSlct, Type: U64, SrcType: F32, FTZ: true}},
		{"cvt.rzi.ftz.sat.u8.f32 %h1, %f1", Instr{Op: OpCvt, Type: U8, SrcType: F32, Round: RZI, FTZ: true, Sat: true}},
		{"cvt.rn.satfinite.relu.e4m3x2.f32 %h1, %f1, %f2", Instr{Op: OpCvt, Type: E4M3x2, SrcType: F32, Round: RN, SatFinite: true, Relu: true}},
		{"cvt.rna.tf32.f32 %r1, %f1", Instr{Op: OpCvt, Type: TF32, SrcType: F32, Round: RNA}},
		{"cvta.to.shared::cta.u64 %rd1, %rd2", Instr{Op: OpCvta, Type: U64, Space: Shared, To: true}},
		{"isspacep.param::entry %p1, %rd1", Instr{Op: OpIsspacep, Space: Param}},
		{"ld.volatile.shared.v4.u8 {%h1, %h2, %h3, %h4}, [%rd1]", Instr{Op: OpLd, Type: U8, Vec: 4, Space: Shared, Sem: Volatile, Scope: System}},
		{"ld.relaxed.sys.global.v2.u64 {%rd1, %rd2}, [%rd3]", Instr{Op: OpLd, Type: U64, Vec: 2, Space: Global, Sem: Relaxed, Scope: System}},
		{"ld.acquire.cluster.b128 %q1, [%rd3]", Instr{Op: OpLd, Type: B128, Vec: 1, Sem: Acquire, Scope: Cluster}},
		{"ld.mmio.relaxed.sys.global.u32 %r1, [%rd3]", Instr{Op: OpLd, Type: U32, Vec: 1, Space: Global, Sem: MMIO, Scope: System}},
		{"ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]", Instr{Op: OpLd, Type: F32, Vec: 4, Space: Global, Sem: NonCoherent}},
		{"ld.const.cs.u32 %r1, [c]", Instr{Op: OpLd, Type: U32, Vec: 1, Space: Const}},
		{"st.release.gpu.shared.f64 [%rd1+8], %d1", Instr{Op: OpSt, Type: F64, Vec: 1, Space: Shared, Sem: Release, Scope: GPU}},
		{"atom.global.add.u32 %r1, [%rd1], 1", Instr{Op: OpAtom, Type: U32, Vec: 1, Space: Global, Sem: Relaxed, Scope: GPU, Atom: AtomAdd}},
		{"atom.cas.acq_rel.sys.global.b64 %rd1, [%rd2], %rd3, %rd4", Instr{Op: OpAtom, Type: B64, Vec: 1, Space: Global, Sem: AcqRel, Scope: System, Atom: AtomCAS}},
		{"atom.global.v8.f16.max.noftz {%h1, %h2, %h3, %h4, %h1, %h2, %h3, %h4}, [%rd1], {%h1, %h2, %h3, %h4, %h1, %h2, %h3, %h4}",
			Instr{Op: OpAtom, Type: F16, Vec: 8, Space: Global, Sem: Relaxed, Scope: GPU, Atom: AtomMax}},
		{"red.release.cta.shared.and.b32 [%rd1], %r1", Instr{Op: OpRed, Type: B32, Vec: 1, Space: Shared, Sem: Release, Scope: CTA, Atom: AtomAnd}},
		{"fence.sys", Instr{Op: OpFence, Sem: AcqRel, Scope: System}},
		{"fence.sc.cta", Instr{Op: OpFence, Sem: SeqCst, Scope: CTA}},
		{"fence.proxy.async.shared::cta", Instr{Op: OpFence, Mode: ProxyAsync, Space: Shared}},
		{"membar.gl", Instr{Op: OpMembar, Scope: GPU}},
		{"bar.cta.red.popc.u32 %r1, 1, 64, !%p1", Instr{Op: OpBar, Type: U32, Mode: RedPopc, Aligned: true}},
		{"bar.arrive %r1, %r2", Instr{Op: OpBar, Mode: Arrive, Aligned: true}},
		{"barrier.sync 0", Instr{Op: OpBarrier, Mode: Sync}},
		{"barrier.sync.aligned 0, 64", Instr{Op: OpBarrier, Mode: Sync, Aligned: true}},
		{"bar.warp.sync -1", Instr{Op: OpBarWarp}},
		{"shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1", Instr{Op: OpShfl, Type: B32, Mode: Bfly}},
		{"vote.sync.ballot.b32 %r1, !%p1, -1", Instr{Op: OpVote, Type: B32, Mode: Ballot}},
		{"match.all.sync.b64 %r1|%p1, %rd1, -1", Instr{Op: OpMatch, Type: B64, Mode: All}},
		{"elect.sync _|%p1, -1", Instr{Op: OpElect}},
		{"redux.sync.max.s32 %r1, %r2, -1", Instr{Op: OpRedux, Type: S32, Atom: AtomMax}},
		{"multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%r1, %r2, %r3, %r4}, [%rd1]",
			Instr{Op: OpMultimemLdReduce, Type: F16x2, Vec: 4, Space: Global, Sem: Relaxed, Scope: System, Atom: AtomAdd, AccF32: true}},
		{"multimem.st.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}", Instr{Op: OpMultimemSt, Type: F32, Vec: 4}},
		{"multimem.red.add.u64 [%rd1], %rd2", Instr{Op: OpMultimemRed, Type: U64, Vec: 1, Sem: Relaxed, Scope: System, Atom: AtomAdd}},
		{"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [sm], 16", Instr{Op: OpMbarrierArriveExpectTx, Type: B64, Space: Shared, Sem: Release, Scope: CTA}},
		{"mbarrier.try_wait.parity.shared.b64 %p1, [sm], %r1", Instr{Op: OpMbarrierTryWait, Type: B64, Mode: Parity, Space: Shared, Sem: Acquire, Scope: CTA}},
		{"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sm], 64", Instr{Op: OpCpAsyncBulk, Space: Global}},
		{"cp.async.bulk.wait_group.read 0", Instr{Op: OpCpAsyncBulkWait, Read: true}},
		{"nanosleep.u32 100", Instr{Op: OpNanosleep, Type: U32}},
	} {
		t.Run(row.text, func(t *testing.T) {
			e, in := one(t, row.text+";")
			require.Equal(t, row.text, in.Text)
			got := *in
			got.Line, got.Text, got.Name, got.Guard, got.Dst, got.Src, got.spelling = 0, "", "", 0, nil, nil, nil
			require.Equal(t, row.want, got)
			require.NotNil(t, in.Form())
			again, err := Parse("again.ptx", []byte(wrap(e.Format(in)+";")))
			require.NoError(t, err, e.Format(in))
			require.Equal(t, in.Dst, again.Entries[0].Code[0].Dst)
		})
	}
}

func TestOperands(t *testing.T) {
	reg := func(e *Entry, name string) int32 {
		for i, r := range e.Regs {
			if r.Name == name {
				return int32(i)
			}
		}
		t.Fatalf("no register %s", name)
		return -1
	}

	e, in := one(t, "@!%p3 mad.wide.u32 %rd1, %r7, 9, %rd2;")
	require.Equal(t, reg(e, "%p3"), in.Guard)
	require.True(t, in.GuardNot)
	require.Equal(t, []Operand{{Kind: KindReg, Type: U64, Reg: reg(e, "%rd1")}}, in.Dst)
	require.Equal(t, []Operand{
		{Kind: KindReg, Type: U32, Reg: reg(e, "%r7")},
		{Kind: KindImm, Type: U32, Imm: 9},
		{Kind: KindReg, Type: U64, Reg: reg(e, "%rd2")},
	}, in.Src)

	e, in = one(t, "bar.red.and.pred %p1, 2, !%p2;")
	require.Equal(t, []Operand{{Kind: KindImm, Type: U32, Imm: 2}, {Kind: KindReg, Type: Pred, Reg: reg(e, "%p2"), Not: true}}, in.Src)

	e, in = one(t, "setp.lt.s32 %p1|%p2, %r1, -5;")
	require.Equal(t, []Operand{{Kind: KindPair, Type: Pred, Vec: []Operand{
		{Kind: KindReg, Type: Pred, Reg: reg(e, "%p1")}, {Kind: KindReg, Type: Pred, Reg: reg(e, "%p2")}}}}, in.Dst)
	require.EqualValues(t, 0xfffffffb, in.Src[1].Imm)

	_, in = one(t, "mov.b64 {%r1, _}, %rd1;")
	require.Equal(t, KindVec, in.Dst[0].Kind)
	require.Equal(t, B32, in.Dst[0].Vec[0].Type)
	require.Equal(t, KindSink, in.Dst[0].Vec[1].Kind)
	_, in = one(t, "mov.b64 %d1, {%h1, %h2, 0x10, %h4};")
	require.Equal(t, Operand{Kind: KindImm, Type: B16, Imm: 16}, in.Src[0].Vec[2])

	_, in = one(t, "mov.u64 %rd1, sm+4;")
	require.Equal(t, KindVar, in.Src[0].Kind)
	require.Equal(t, "sm", in.Src[0].Var.Name)
	require.EqualValues(t, 4, in.Src[0].Off)
	_, in = one(t, "mov.u32 %r1, sm;") // nvcc holds shared addresses in 32 bits
	require.Equal(t, KindVar, in.Src[0].Kind)
	_, in = one(t, "cvta.global.u64 %rd1, g;")
	require.Equal(t, "g", in.Src[0].Var.Name)

	_, in = one(t, "mov.u32 %r1, %ctaid.y;")
	require.Equal(t, Operand{Kind: KindSreg, Type: U32, Sreg: CTAIDY}, in.Src[0])
	_, in = one(t, "mov.u64 %rd1, %globaltimer;")
	require.Equal(t, GlobalTimer, in.Src[0].Sreg)
	_, in = one(t, "add.u32 %r1, %r2, WARP_SZ;")
	require.Equal(t, Operand{Kind: KindImm, Type: U32, Imm: 32}, in.Src[1])

	_, in = one(t, "atom.global.exch.b32 _, [g+-4], 3;")
	require.Equal(t, KindSink, in.Dst[0].Kind)
	require.Equal(t, KindAddr, in.Src[0].Kind)
	require.EqualValues(t, -4, in.Src[0].Off)
	require.EqualValues(t, -1, in.Src[0].Reg)

	e, in = one(t, "st.global.u8 [%rd1+-12], %r1;")
	require.Empty(t, in.Dst)
	require.Equal(t, Operand{Kind: KindAddr, Type: U64, Reg: reg(e, "%rd1"), Off: -12}, in.Src[0])
	_, in = one(t, "ld.local.b32 %r1, [0x10];")
	require.Equal(t, Operand{Kind: KindAddr, Type: U64, Reg: -1, Off: 16}, in.Src[0])
	_, in = one(t, "ld.global.v2.b32 {%r1, _}, [g];")
	require.Equal(t, KindSink, in.Dst[0].Vec[1].Kind)
	_, in = one(t, "mov.pred %p1, -1;")
	require.EqualValues(t, 1, in.Src[0].Imm)
}

// TestConstants reads constants into the type that the instruction has.
func TestConstants(t *testing.T) {
	for _, row := range []struct {
		text string
		want uint64
	}{
		{"mov.u32 %r1, 42", 42},
		{"mov.u32 %r1, 42U", 42},
		{"mov.u32 %r1, 0x2A", 42},
		{"mov.u32 %r1, 052", 42},
		{"mov.u32 %r1, 0b101010", 42},
		{"mov.u32 %r1, 0", 0},
		{"mov.u32 %r1, 0X2aU", 42},
		{"mov.s32 %r1, -2147483648", 0x80000000},
		{"mov.u32 %r1, -1", math.MaxUint32},
		{"mov.b16 %h1, 65535", 65535},
		{"mov.b16 %h1, -1", 65535},
		{"mov.u64 %rd1, 18446744073709551615", math.MaxUint64},
		{"mov.s64 %rd1, -1", math.MaxUint64},
		{"mov.f32 %f1, 0f3F800000", 0x3f800000},
		{"mov.f32 %f1, -0F3f800000", 0xbf800000},
		{"mov.f32 %f1, 0d3FF0000000000000", 0x3f800000},
		{"mov.f32 %f1, 1.5", 0x3fc00000},
		{"mov.f32 %f1, -1.5e0", 0xbfc00000},
		{"mov.f64 %d1, 0d3FF0000000000000", 0x3ff0000000000000},
		{"mov.f64 %d1, -0d3FF0000000000000", 0xbff0000000000000},
		{"mov.f64 %d1, 0f3F800000", 0x3ff0000000000000},
		{"mov.f64 %d1, 2.5E-1", 0x3fd0000000000000},
		{"mov.b32 %r1, 0f3F800000", 0x3f800000},
		{"mov.b64 %rd1, 0d8000000000000000", 1 << 63},
		{"mov.pred %p1, 7", 1},
		{"mov.pred %p1, 0", 0},
	} {
		_, in := one(t, row.text+";")
		require.Equal(t, row.want, in.Src[0].Imm, row.text)
	}
}
