package gen

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/abi"
)

// handwritten is a kernel that passes, with places to break.
func handwritten() string {
	return fmt.Sprintf(`.version 7.8
.target sm_70
.address_size 64

.visible .entry AllReduce_Sum_f32_RING_LL(
	.param .align %d .b8 args[%d]
)
.maxntid %d, 1, 1
{
	.reg .f32 %%f<4>;
	.reg .b32 %%r<4>;
	.reg .b64 %%rd<4>;
	ld.param.u64 %%rd1, [args];
	cvta.to.global.u64 %%rd2, %%rd1;
	ld.global.f32 %%f1, [%%rd2];
	add.rn.f32 %%f2, %%f1, %%f1;
	st.global.f32 [%%rd2], %%f2;
	ret;
}
`, unsafe.Alignof(abi.KernelArgs{}), unsafe.Sizeof(abi.KernelArgs{}), abi.MaxThreadsLL)
}

func TestVerify(t *testing.T) {
	unit, ok := unitOf(mustVariant(t, "AllReduce_Sum_f32_RING_LL"))
	require.True(t, ok)
	size := unsafe.Sizeof(abi.KernelArgs{})
	for _, test := range []struct {
		name     string
		old, new string
		message  string // "" if it passes
	}{
		{"right", "", "", ""},
		{"PTX version", ".version 7.8", ".version 8.1", ".ptx: AllReduce_Sum_f32_RING_LL: is PTX 8.1; sm_70 is compiled to PTX 7.8"},
		{"target", ".target sm_70", ".target sm_72", "is for target sm_72, not sm_70"},
		{"symbol", ".entry AllReduce_Sum_f32_RING_LL", ".entry Other", ".ptx:5: AllReduce_Sum_f32_RING_LL: the entry is called Other"},
		{"no entry", "", "", "has 0 entries"},
		{"launch bound", fmt.Sprintf(".maxntid %d, 1, 1", abi.MaxThreadsLL), ".maxntid 33, 1, 1", ".maxntid is [33 1 1]; the protocol's launch bound is [512 1 1]"},
		{"no launch bound", fmt.Sprintf(".maxntid %d, 1, 1", abi.MaxThreadsLL), "", ".maxntid is [0 0 0]"},
		{"parameter size", fmt.Sprintf("args[%d]", size), fmt.Sprintf("args[%d]", size-16), fmt.Sprintf("parameters are 1, one of %d bytes", size-16)},
		{"parameters", "\n)", ",\n\t.param .u32 more\n)", "parameters are 2"},
		{"rounding of add", "add.rn.f32", "add.f32", ".ptx:16: AllReduce_Sum_f32_RING_LL: no rounding modifier: add.f32"},
		{"rounding of mul", "add.rn.f32", "mul.f32", "no rounding modifier: mul.f32"},
		{"rounding of sub", "add.rn.f32", "sub.f32", "no rounding modifier: sub.f32"},
		{"other rounding", "add.rn.f32", "add.rz.f32", "rounds otherwise than to nearest even: add.rz.f32"},
		{"fused", "add.rn.f32 %f2, %f1, %f1", "fma.rn.f32 %f2, %f1, %f1, %f1", "fuses a multiply and an add: fma.rn.f32"},
		{"fused as f16", "add.rn.f32 %f2, %f1, %f1", "fma.rn.f16x2 %r1, %r2, %r2, %r2", "fuses a multiply and an add: fma.rn.f16x2"},
		{"instruction of the other target", "add.rn.f32 %f2, %f1, %f1", "add.rn.bf16x2 %r1, %r2, %r2", "add.rn.bf16x2 needs sm_90, this is sm_70"},
		{"flush", "add.rn.f32", "add.rn.ftz.f32", "flushes subnormal numbers: add.rn.ftz.f32"},
		{"approximate", "add.rn.f32 %f2, %f1, %f1", "rcp.approx.f32 %f2, %f1", "approximate"},
		{"local memory", ".reg .f32", ".local .align 4 .b8 depot[16];\n\t.reg .f32", "uses 16 bytes of local memory"},
		{"state", ".visible", ".global .u32 counter;\n.visible", "variable counter: a kernel keeps no state"},
		{"unknown instruction", "add.rn.f32", "frob.rn.f32", "frob.rn.f32"},
		{"call", "ret;", "call other;\n\tret;", "call"},
		{"newer PTX", "cvta.to.global.u64 %rd2, %rd1;", "cvta.to.global.u64 %rd2, %rd1;\n\tst.global.b128 [%rd2], %rd1;", ".ptx:15: AllReduce_Sum_f32_RING_LL: "},
		{"newer GPU", "ret;", "redux.sync.add.u32 %r1, %r2, %r3;\n\tret;", "sm_80"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(handwritten(), test.old, test.new, 1)
			if test.name == "no entry" {
				text = text[:strings.Index(text, ".visible")]
			}
			facts, errs := verify(unit, []byte(text), true)
			if test.message == "" {
				require.Empty(t, errs)
				require.Equal(t, abi.MaxThreadsLL, facts.maxThreads)
				require.Equal(t, 78, facts.ptxVersion)
				return
			}
			require.ErrorContains(t, errs.err(), test.message)
		})
	}
}

// The arithmetic that only newer GPUs have is held to the same rules.
func TestVerifyHopper(t *testing.T) {
	unit := Unit{Variant: mustVariant(t, "AllReduce_Sum_f32_RING_LL"), Target: Targets[1]}
	for _, test := range []struct{ instruction, message string }{
		{"add.rn.bf16x2 %r1, %r2, %r3", ""},
		{"min.bf16x2 %r1, %r2, %r3", ""},
		{"cvt.rn.f16x2.e4m3x2 %r1, %h1", ""},
		{"cvt.rn.satfinite.e5m2x2.f16x2 %h1, %r1", ""},
		{"add.bf16x2 %r1, %r2, %r3", "no rounding modifier: add.bf16x2"},
		{"mul.bf16x2 %r1, %r2, %r3", "no rounding modifier: mul.bf16x2"},
		{"fma.rn.bf16x2 %r1, %r2, %r3, %r3", "fuses a multiply and an add: fma.rn.bf16x2"},
		{"cvt.rz.bf16x2.f32 %r1, %f1, %f2", "rounds otherwise than to nearest even: cvt.rz.bf16x2.f32"},
		{"min.ftz.f16x2 %r1, %r2, %r3", "flushes subnormal numbers: min.ftz.f16x2"},
	} {
		t.Run(test.instruction, func(t *testing.T) {
			text := handwritten()
			for _, edit := range [][2]string{
				{".version 7.8", ".version 8.1"}, {".target sm_70", ".target sm_90"}, {".reg .f32", ".reg .b16 %h<4>;\n\t.reg .f32"},
				{"add.rn.f32 %f2, %f1, %f1", test.instruction},
			} {
				text = strings.Replace(text, edit[0], edit[1], 1)
			}
			facts, errs := verify(unit, []byte(text), true)
			if test.message == "" {
				require.Empty(t, errs)
				require.Equal(t, 81, facts.ptxVersion)
				return
			}
			require.ErrorContains(t, errs.err(), test.message)
		})
	}
}

// Everything wrong is reported together.
func TestVerifyReportsAll(t *testing.T) {
	unit, _ := unitOf(mustVariant(t, "AllReduce_Sum_f32_RING_LL"))
	text := handwritten()
	for _, edit := range [][2]string{{"add.rn", "add"}, {".maxntid 512", ".maxntid 64"}, {"sm_70", "sm_75"}} {
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	_, errs := verify(unit, []byte(text), true)
	require.Len(t, errs, 3)
	lines := strings.Split(errs.err().Error(), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		require.True(t, strings.HasPrefix(line, unit.Name()+".ptx"), line)
	}
}

// A compiler that cannot choose its PTX version is not held to the target's.
func TestVerifyUnpinned(t *testing.T) {
	unit, _ := unitOf(mustVariant(t, "AllReduce_Sum_f32_RING_LL"))
	text := strings.Replace(handwritten(), ".version 7.8", ".version 8.1", 1)
	facts, errs := verify(unit, []byte(text), false)
	require.Empty(t, errs)
	require.Equal(t, 81, facts.ptxVersion)
}
