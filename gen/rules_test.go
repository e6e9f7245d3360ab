package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

func mustVariant(t *testing.T, s string) coll.Variant {
	t.Helper()
	v, err := coll.ParseVariant(s)
	require.NoError(t, err)
	return v
}

func TestExcluded(t *testing.T) {
	for _, test := range []struct {
		variant string
		rule    Rule
		text    string // "" if valid
	}{
		{"SendRecv", RuleNone, ""},
		{"AllReduce_Sum_f32_RING_LL", RuleNone, ""},
		{"AllReduce_Sum_f32_ONE_SHOT_LL", RuleNone, ""},
		{"Broadcast_TREE_LL", RuleAlgo, "Broadcast runs as Ring or OneShot only"},
		{"AllGather_TWO_SHOT_SIMPLE", RuleAlgo, "AllGather runs as Ring, CollNetDirect, NVLS, PAT or OneShot only"},
		{"AllGather_PAT_LL", RuleProto, "PAT has protocol Simple only: its steps aggregate several chunks, which only counted buffers hold"},
		{"AllReduce_SumPostDiv_f32_RING_LL", RulePostDiv,
			"SumPostDiv divides integers only: the average of floating-point types is PreMulSum"},
		{"AllReduce_PreMulSum_f32_NVLS_SIMPLE", RuleSwitchOp, "NVLS reduces in the switch, which computes Sum and MinMax only"},
		{"AllReduce_MinMax_f32_NVLS_TREE_SIMPLE", RuleSwitchType,
			"NVLSTree reduces in the switch, which computes MinMax of i32, u32, i64, u64, f16 or bf16 only"},
		{"ReduceScatter_Sum_u8_NVLS_SIMPLE", RuleSwitchType,
			"NVLS reduces in the switch, which computes Sum of i32, u32, i64, u64, f16, bf16, f32 or f64 only"},
		// Two rules apply: the first in their order speaks.
		{"AllReduce_SumPostDiv_f32_NVLS_LL", RuleProto, "NVLS has protocol Simple only: the switch handles whole words and cannot tell flags from data"},
	} {
		t.Run(test.variant, func(t *testing.T) {
			reason := Excluded(mustVariant(t, test.variant))
			if test.text == "" {
				require.Nil(t, reason)
				return
			}
			require.Equal(t, &Reason{test.rule, test.text}, reason)
		})
	}
}

func TestCanonical(t *testing.T) {
	for _, test := range []struct{ variant, canonical string }{
		{"AllReduce_Sum_i32_RING_LL", "AllReduce_Sum_u32_RING_LL"},
		{"AllReduce_MinMax_i8_TREE_SIMPLE", "AllReduce_MinMax_u8_TREE_SIMPLE"},
		{"AllReduce_Sum_i64_NVLS_SIMPLE", "AllReduce_Sum_u64_NVLS_SIMPLE"},
		{"AllReduce_MinMax_i64_NVLS_SIMPLE", "AllReduce_MinMax_i64_NVLS_SIMPLE"},
		{"AllReduce_Sum_bf16_RING_LL", "AllReduce_Sum_bf16_RING_LL"},
		{"Broadcast_RING_LL", "Broadcast_RING_LL"},
	} {
		require.Equal(t, test.canonical, Canonical(mustVariant(t, test.variant)).String())
	}
}

func TestBuilt(t *testing.T) {
	units := Units()
	// Kernels of a protocol: Sum, Prod, MinMax and PreMulSum of 6 types with one
	// source, of bf16 with two and of two 8-bit floats; SumPostDiv of 3 integers.
	require.Len(t, units, (4*(6+2+2)+3)*len(families[0].Protos))
	for i, u := range units {
		require.Nil(t, Excluded(u.Variant))
		require.Equal(t, u.Variant, Canonical(u.Variant))
		if i > 0 {
			before := units[i-1]
			require.True(t, before.Variant.ID() < u.Variant.ID() || before.Variant == u.Variant && before.Target.SM < u.Target.SM)
		}
	}
	_, built := unitOf(Canonical(mustVariant(t, "AllReduce_MinMax_i8_RING_LL")))
	require.True(t, built)
	_, built = unitOf(mustVariant(t, "AllReduce_Sum_f32_TREE_LL"))
	require.False(t, built)
}
